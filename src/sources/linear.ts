import { scalarTextAt } from "../model/json.ts";
import { eventTypeOf, findTime, findTimeInMs, identityOf, requireJson, oneEvent } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { badSignature, checkTime, findHeader, getHeader, getHmacSecret } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

const TOLERANCE_S = 60;

/** linear.app/developers/webhooks: the time is in the signed body, in milliseconds. */
export const linear: PushedSourceKind = {
  name: "linear",
  options: ToleranceAlone,
  needsSecret: true,
  pointers: [["type"], ["action"], ["createdAt"]],
  verify(request, settings) {
    getHmacSecret(getHeader(request, "linear-signature"), settings, "", request.body, "hex");
    const at = findTimeInMs(scalarTextAt(request.body, ["webhookTimestamp"]));
    if (at === undefined) throw badSignature("The body has no webhookTimestamp.");
    checkTime(at, request, settings, TOLERANCE_S);
  },
  replayMark: (request) => getHeader(request, "linear-signature").toLowerCase(),
  events(request, _settings, form) {
    requireJson(form, "Linear");
    const [type, action, time] = form.texts;
    const identity = identityOf(findHeader(request, "linear-delivery"));
    return oneEvent(eventTypeOf("linear", type, action), identity, findTime(time));
  },
};
