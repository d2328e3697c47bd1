import { hasLineFault, parseMailAddress, type MailAddress } from "../../model/mail.ts";
import { readPayload, textIn } from "../templated.ts";
import type { Attempt } from "../sender.ts";
import { findUnsubscribeProblem, listOf, type MailTexts, MAX_RECIPIENTS } from "./settings.ts";
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";

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
    subject: listOf(textIn(payload, "subject")),
    text: listOf(textIn(payload, "text")),
    html: listOf(textIn(payload, "html")),
  };
}

/** The content and recipients of one e-mail, checked and ready to be composed. */
export type MailFields = Exclude<ReturnType<typeof checkFields>, string>;

/** Returns the checked fields, or a text with the problem, using the names of the settings. */
export function checkFields(texts: MailTexts) {
  const {
    subject: [subject = ""],
    text: [text],
    html: [html],
    list_unsubscribe: [listUnsubscribe],
  } = texts;
  const addresses: Record<"to" | "cc" | "bcc" | "reply_to", MailAddress[]> = { to: [], cc: [], bcc: [], reply_to: [] };
  for (const field of ["to", "cc", "bcc", "reply_to"] as const) {
    // An empty result of a template is no recipient. Several addresses in one text are invalid: each is an item.
    for (const given of texts[field].filter((one) => one.trim() !== "")) {
      const parsed = parseMailAddress(given);
      if (typeof parsed === "string") return `${field}: ${parsed}`;
      addresses[field].push(parsed);
    }
  }
  const {
    to,
    cc,
    bcc,
    reply_to: [replyTo],
  } = addresses;
  const count = to.length + cc.length + bcc.length;
  if (to.length === 0) return "to: there is no recipient";
  if (count > MAX_RECIPIENTS) return `to: has ${count} recipients; the maximum is ${MAX_RECIPIENTS}`;
  const problem = findTextProblem(subject, text, html);
  if (problem !== undefined) return problem;
  const unsubscribe = listUnsubscribe === undefined ? undefined : findUnsubscribeProblem(listUnsubscribe);
  if (unsubscribe !== undefined) return `list_unsubscribe: ${unsubscribe}`;
  return { to, cc, bcc, replyTo, subject, text, html, listUnsubscribe };
}

function findTextProblem(subject: string, text: string | undefined, html: string | undefined): string | undefined {
  if (subject.trim() === "") return "subject: is empty";
  if (hasLineFault(subject)) return "subject: has a line break or another control character in it";
  if (subject.length > MAX_SUBJECT_LENGTH) return `subject: has more than ${MAX_SUBJECT_LENGTH} characters`;
  if (text === undefined && html === undefined) return "text: there is neither text nor html";
  const tooLong = Object.entries({ text, html }).find(([, value = ""]) => Buffer.byteLength(value) > MAX_BODY_BYTES);
  return tooLong && `${tooLong[0]}: has more than ${MAX_BODY_BYTES} bytes`;
}

interface MessageFacts {
  readonly messageId: string;
  readonly deliveryId: string;
  readonly eventType: string;
  /** Unix ms. */
  readonly sentAt: number;
}

interface DkimKey {
  readonly domain: string;
  readonly selector: string;
  /** PEM. */
  readonly key: string;
}

/** The same for all attempts of a delivery, another after a replay: mail servers may drop repetitions. */
export function messageIdOf({ event, deliveryId, generation }: Attempt, origin: string, from: MailAddress): string {
  const facts = [origin, event.originId ?? event.id, deliveryId, generation].join("\0");
  const digest = createHash("sha256").update(facts).digest("hex").slice(0, 40);
  return `<${digest}.${generation}@${from.address.slice(from.address.lastIndexOf("@") + 1)}>`;
}

/** Returns the bytes of the message, signed if DKIM is configured. */
export async function compose(
  { from, dkim }: { from: MailAddress; dkim: DkimKey | undefined },
  { replyTo, listUnsubscribe, ...fields }: MailFields,
  { messageId, deliveryId, eventType, sentAt }: MessageFacts,
): Promise<Buffer> {
  const { default: MailComposer } = await import("nodemailer/lib/mail-composer");
  const message = new MailComposer({
    from: { ...from },
    to: fields.to.map(toParts),
    cc: fields.cc.map(toParts),
    ...(replyTo && { replyTo: toParts(replyTo) }),
    subject: fields.subject,
    ...(fields.text !== undefined && { text: fields.text }),
    ...(fields.html !== undefined && { html: fields.html }),
    messageId,
    date: new Date(sentAt),
    headers: {
      "X-Webhook-ID": deliveryId,
      ...(!hasLineFault(eventType) && { "X-Webhook-Event": eventType }),
      "Auto-Submitted": "auto-generated",
      ...(listUnsubscribe !== undefined && unsubscribeHeaders(listUnsubscribe)),
    },
    // A message must not make this process read a file or a URL.
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const raw = await message.build();
  return dkim === undefined ? raw : sign(raw, dkim);
}

const toParts = ({ name, address }: MailAddress) => ({ name, address });

/** RFC 8058: one-click unsubscribing, if the URL is a web page. */
function unsubscribeHeaders(url: string): Record<string, string> {
  const oneClick = url.startsWith("https:") ? { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" } : {};
  return { "List-Unsubscribe": `<${url}>`, ...oneClick };
}

async function sign(raw: Buffer, { domain, selector, key }: DkimKey): Promise<Buffer> {
  const { default: Dkim } = await import("nodemailer/lib/dkim");
  const signed = new Dkim({ domainName: domain, keySelector: selector, privateKey: key }).sign(raw) as Readable;
  const parts: Buffer[] = [];
  for await (const part of signed) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
