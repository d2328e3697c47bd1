import { scalarTextAt } from "../model/json.ts";
import { eventTypeOf, findTime, identityOf, requireJson, oneEvent, formFields, isForm } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { badSignature, checkTime, getHmacSecret, getUnixSeconds } from "./signatures.ts";
import type { ArrivedRequest, PushedSourceKind } from "./source-kind.ts";

/** Mailgun retries for eight hours. */
const TOLERANCE_S = 86_400;
const NOTHING = Buffer.alloc(0);

/**
 * documentation.mailgun.com: the signature stands in the body and covers only a time and a token, not the body. So the
 * token is what identifies an event: one that comes again with another body is a duplicate.
 */
export const mailgun: PushedSourceKind = {
  name: "mailgun",
  options: ToleranceAlone,
  needsSecret: true,
  pointers: [
    ["event-data", "event"],
    ["event-data", "timestamp"],
  ],
  verify(request, settings) {
    const { timestamp = "", token = "", signature = "" } = readSignature(request);
    // There is no separator: if the number of digits could vary, a digit of the token could move to the time.
    if (!/^\d{10}$/.test(timestamp) || token === "") throw badSignature("The body has no time and token of Mailgun.");
    getHmacSecret(signature, settings, timestamp + token, NOTHING, "hex");
    checkTime(getUnixSeconds(timestamp), request, settings, TOLERANCE_S);
  },
  events(request, _settings, form) {
    const identity = identityOf(readSignature(request).token);
    if (isForm(request)) return oneEvent("mailgun.inbound", identity);
    requireJson(form, "Mailgun");
    const [event, time] = form.texts;
    return oneEvent(eventTypeOf("mailgun", event), identity, findTime(time));
  },
};

/** Routes forward messages as forms. */
function readSignature(request: ArrivedRequest) {
  if (isForm(request)) {
    const fields = formFields(request);
    const field = (name: string) => fields.get(name) ?? undefined;
    return { timestamp: field("timestamp"), token: field("token"), signature: field("signature") };
  }
  const member = (name: string) => scalarTextAt(request.body, ["signature", name]);
  return { timestamp: member("timestamp"), token: member("token"), signature: member("signature") };
}
