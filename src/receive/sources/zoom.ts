import { Type } from "typebox";
import { createHmac } from "node:crypto";
import { scalarTextAt } from "../text/json-pointer.ts";
import { eventTypeOf, findTimeInMs, hashOf, requireJson } from "./event-naming.ts";
import { ToleranceOption, toleranceMsOf } from "./kind-options.ts";
import { jsonAnswer } from "./plain-answer.ts";
import { afterPrefix, badSignature, checkTime, getHeader, getHmacSecret, getUnixSeconds } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, PushedSourceKind } from "./source-kind.ts";

const TOLERANCE_S = 300;
const MAX_CHALLENGE_BYTES = 16 * 1024;

/** developers.zoom.us/docs/api/webhooks. There is no id; the body holds the time in milliseconds and is repeated as it is. */
export const zoom: PushedSourceKind = {
  name: "zoom",
  options: Type.Object({ tolerance_s: ToleranceOption }, { additionalProperties: false }),
  needsSecret: true,
  pointers: [["event"], ["event_ts"]],
  handshake(request, settings) {
    const { body } = request;
    if (body.length > MAX_CHALLENGE_BYTES || !body.includes('"endpoint.url_validation"')) return undefined;
    if (scalarTextAt(body, ["event"]) !== "endpoint.url_validation") return undefined;
    // The answer is an HMAC of what the sender chose: given to anybody, it would sign anything.
    const secret = verify(request, settings);
    const plainToken = scalarTextAt(body, ["payload", "plainToken"]);
    if (plainToken === undefined) throw badSignature("The validation has no plainToken.");
    const encryptedToken = createHmac("sha256", secret).update(plainToken).digest("hex");
    return jsonAnswer(JSON.stringify({ plainToken, encryptedToken }));
  },
  verify(request, settings) {
    verify(request, settings);
  },
  events(request, _settings, form) {
    requireJson(form, "Zoom");
    const [event, time] = form.texts;
    const identity = hashOf(request.body);
    return { events: [{ type: eventTypeOf("zoom", event), identity, occurredAt: findTimeInMs(time) }] };
  },
};

function verify(request: ArrivedRequest, settings: KindSettings): string {
  const time = getHeader(request, "x-zm-request-timestamp");
  const given = afterPrefix(getHeader(request, "x-zm-signature"), "v0=");
  const secret = getHmacSecret(given, settings, `v0:${time}:`, request.body, "hex");
  checkTime(getUnixSeconds(time), request, toleranceMsOf(settings, TOLERANCE_S));
  return secret;
}
