import { hasLineFault, parseMailAddress, type MailAddress } from "../../model/mail.ts";
import { readPayload, textIn } from "../payload-fields.ts";
import type { Attempt } from "../sender.ts";
import type { MailFields } from "./compose.ts";
import type { MailTexts } from "./mail-texts.ts";
import { MAX_RECIPIENTS } from "./settings.ts";
import { findUnsubscribeProblem } from "./settings-rules.ts";

const MAX_SUBJECT_LENGTH = 500;
const MAX_BODY_BYTES = 524_288;

/** Reads `to`, `subject`, `text` and `html` from the event; returns a text when they cannot be read. */
export function takeFromPayload({ event }: Attempt, rest: MailTexts): MailTexts | string {
  const payload = readPayload(event);
  if (typeof payload === "string") return payload;
  const { to } = payload;
  const isList = Array.isArray(to) && to.every((one) => typeof one === "string");
  if (typeof to !== "string" && !isList) return "payload: `to` must be an address or a list of addresses";
  return {
    ...rest,
    to: typeof to === "string" ? [to] : to,
    subject: textIn(payload, "subject"),
    text: textIn(payload, "text"),
    html: textIn(payload, "html"),
  };
}

/** Returns the checked fields, or a text with the problem, using the names of the settings. */
export function checkFields(texts: MailTexts): MailFields | string {
  const { subject = "", text, html, listUnsubscribe } = texts;
  const to = parseAll("to", texts.to);
  const cc = parseAll("cc", texts.cc);
  const bcc = parseAll("bcc", texts.bcc);
  const replies = parseAll("reply_to", texts.replyTo === undefined ? [] : [texts.replyTo]);
  if (typeof to === "string") return to;
  if (typeof cc === "string") return cc;
  if (typeof bcc === "string") return bcc;
  if (typeof replies === "string") return replies;
  const count = to.length + cc.length + bcc.length;
  if (to.length === 0) return "to: there is no recipient";
  if (count > MAX_RECIPIENTS) return `to: has ${count} recipients; the maximum is ${MAX_RECIPIENTS}`;
  const problem = findTextProblem(subject, text, html);
  if (problem !== undefined) return problem;
  const unsubscribe = listUnsubscribe === undefined ? undefined : findUnsubscribeProblem(listUnsubscribe);
  if (unsubscribe !== undefined) return `list_unsubscribe: ${unsubscribe}`;
  return { to, cc, bcc, replyTo: replies[0], subject, text, html, listUnsubscribe };
}

/**
 * An empty result of a template is no recipient. Several addresses in one text are invalid: each must be an item of its
 * own.
 */
function parseAll(field: string, texts: readonly string[]): MailAddress[] | string {
  const addresses: MailAddress[] = [];
  for (const text of texts) {
    if (text.trim() === "") continue;
    const parsed = parseMailAddress(text);
    if (typeof parsed === "string") return `${field}: ${parsed}`;
    addresses.push(parsed);
  }
  return addresses;
}

function findTextProblem(subject: string, text: string | undefined, html: string | undefined): string | undefined {
  if (subject.trim() === "") return "subject: is empty";
  if (hasLineFault(subject)) return "subject: has a line break or another control character in it";
  if (subject.length > MAX_SUBJECT_LENGTH) return `subject: has more than ${MAX_SUBJECT_LENGTH} characters`;
  if (text === undefined && html === undefined) return "text: there is neither text nor html";
  const tooLong = Object.entries({ text, html }).find(([, value = ""]) => Buffer.byteLength(value) > MAX_BODY_BYTES);
  return tooLong && `${tooLong[0]}: has more than ${MAX_BODY_BYTES} bytes`;
}
