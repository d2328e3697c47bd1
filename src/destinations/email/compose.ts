import { hasLineFault, parseMailAddress, type MailAddress } from "../../model/mail.ts";
import { readPayload, textIn } from "../templated.ts";
import type { Attempt } from "../sender.ts";
import { type MailTexts, MAX_RECIPIENTS, findUnsubscribeProblem } from "./settings.ts";
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

/** The content and recipients of one e-mail, checked and ready to be composed. */
export interface MailFields {
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: MailAddress | undefined;
  /** A single line. */
  readonly subject: string;
  readonly text: string | undefined;
  readonly html: string | undefined;
  readonly listUnsubscribe: string | undefined;
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

/**
 * The same for all attempts of a delivery, and another after a replay: a mail server that already has the message may
 * drop the repetition.
 */
export function messageIdOf({ event, deliveryId, generation }: Attempt, origin: string, from: MailAddress): string {
  const facts = [origin, event.originId ?? event.id, deliveryId, generation].join("\0");
  const digest = createHash("sha256").update(facts).digest("hex").slice(0, 40);
  return `<${digest}.${generation}@${from.address.slice(from.address.lastIndexOf("@") + 1)}>`;
}

export function createComposer(from: MailAddress, dkim: DkimKey | undefined) {
  return {
    /** Returns the bytes of the message, signed if DKIM is configured. */
    async compose(fields: MailFields, { messageId, deliveryId, eventType, sentAt }: MessageFacts): Promise<Buffer> {
      const { default: MailComposer } = await import("nodemailer/lib/mail-composer");
      const { replyTo, listUnsubscribe } = fields;
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
    },
  };
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
