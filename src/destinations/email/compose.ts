import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { hasLineFault, type MailAddress } from "../../model/mail.ts";
import type { Attempt } from "../sender.ts";

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

export interface Composer {
  /** Returns the bytes of the message, signed if DKIM is configured. */
  compose(fields: MailFields, facts: MessageFacts): Promise<Buffer>;
}

export interface MessageFacts {
  readonly messageId: string;
  readonly deliveryId: string;
  readonly eventType: string;
  /** Unix ms. */
  readonly sentAt: number;
}

export interface DkimKey {
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

export function createComposer(from: MailAddress, dkim: DkimKey | undefined): Composer {
  return {
    async compose(fields, { messageId, deliveryId, eventType, sentAt }) {
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
