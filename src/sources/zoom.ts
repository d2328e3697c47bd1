import { createHmac } from "node:crypto";
import { scalarTextAt } from "../model/json.ts";
import { eventTypeOf, findTimeInMs, hashOf, requireJson, oneEvent } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { jsonAnswer } from "./handshakes.ts";
import { badSignature, getV0Secret } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

const SIGNED = { time: "x-zm-request-timestamp", signature: "x-zm-signature", toleranceS: 300 };
const MAX_CHALLENGE_BYTES = 16 * 1024;

/** developers.zoom.us/docs/api/webhooks. There is no id; the body holds the time in milliseconds and is repeated as it is. */
export const zoom: PushedSourceKind = {
  name: "zoom",
  options: ToleranceAlone,
  needsSecret: true,
  pointers: [["event"], ["event_ts"]],
  handshake(request, settings) {
    const { body } = request;
    if (body.length > MAX_CHALLENGE_BYTES || !body.includes('"endpoint.url_validation"')) return undefined;
    if (scalarTextAt(body, ["event"]) !== "endpoint.url_validation") return undefined;
    // The answer is an HMAC of the sender's text: if anybody could get it, they could sign anything.
    const secret = getV0Secret(request, settings, SIGNED);
    const plainToken = scalarTextAt(body, ["payload", "plainToken"]);
    if (plainToken === undefined) throw badSignature("The validation has no plainToken.");
    const encryptedToken = createHmac("sha256", secret).update(plainToken).digest("hex");
    return jsonAnswer(JSON.stringify({ plainToken, encryptedToken }));
  },
  verify(request, settings) {
    getV0Secret(request, settings, SIGNED);
  },
  events(request, _settings, form) {
    requireJson(form, "Zoom");
    const [event, time] = form.texts;
    return oneEvent(eventTypeOf("zoom", event), hashOf(request.body), findTimeInMs(time));
  },
};
