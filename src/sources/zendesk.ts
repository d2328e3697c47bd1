import { eventTypeOf, findTime, identityOf, oneEvent } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { badSignature, checkTime, findHeader, getHeader, getHmacSecret } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

const TOLERANCE_S = 300;

/**
 * developer.zendesk.com/documentation/webhooks/verifying: the timestamp (RFC 3339) and the body, nothing between them.
 * Events that were subscribed to say their type; what a trigger sends is written by its owner.
 */
export const zendesk: PushedSourceKind = {
  name: "zendesk",
  options: ToleranceAlone,
  needsSecret: true,
  pointers: [["type"], ["time"]],
  verify(request, settings) {
    const time = getHeader(request, "x-zendesk-webhook-signature-timestamp");
    getHmacSecret(getHeader(request, "x-zendesk-webhook-signature"), settings, time, request.body, "base64");
    const at = findTime(time);
    if (at === undefined) throw badSignature("The time of the signature is not a valid time.");
    checkTime(at, request, settings, TOLERANCE_S);
  },
  replayMark: (request) => getHeader(request, "x-zendesk-webhook-signature"),
  events(request, _settings, form) {
    const [type = "", time] = form.texts;
    const name = type.startsWith("zen:event-type:") ? type.slice("zen:event-type:".length) : "webhook";
    // An invocation may have several attempts.
    const identity = identityOf(findHeader(request, "x-zendesk-webhook-invocation-id"));
    return oneEvent(eventTypeOf("zendesk", name), identity, findTime(time));
  },
};
