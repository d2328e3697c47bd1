import { Type, type Static } from "typebox";
import { fillIn, orNull, withDefault } from "../../model/shape.ts";
import type { Template } from "../../sandbox/templates/templates.ts";
import type { PreparedDestination } from "../sender.ts";
import { neededBy } from "../templated.ts";
import { templatesAmong, type MailTexts } from "./mail-texts.ts";

/** The settings of a destination of the kind email. */

export const MAX_RECIPIENTS = 50;
const MAX_ADDRESS_TEMPLATE = 500;

const addressText = Type.String({ minLength: 1, maxLength: MAX_ADDRESS_TEMPLATE });
const addresses = (description: string) =>
  withDefault(
    orNull(Type.Union([addressText, Type.Array(addressText, { minItems: 1, maxItems: MAX_RECIPIENTS })]), {
      description,
    }),
    null,
  );
const text = (maxLength: number, description: string) =>
  withDefault(orNull(Type.String({ minLength: 1, maxLength }), { description }), null);

export const EmailSettings = Type.Object(
  {
    to: addresses(
      "Recipients: addresses such as `name@example.com` or `Name <name@example.com>`; each may be a template for one address",
    ),
    cc: addresses("Recipients of a copy (Cc)"),
    bcc: addresses("Recipients of a hidden copy (Bcc)"),
    reply_to: text(MAX_ADDRESS_TEMPLATE, "The address for replies (Reply-To)"),
    subject: text(1000, "One line; a template"),
    text: text(65_536, "The body as plain text; a template"),
    html: text(65_536, "The body as HTML; a template whose values are escaped"),
    fields_from: withDefault(
      orNull(Type.Literal("payload"), {
        description:
          "`payload`: `to`, `subject`, `text` and `html` are taken from the event. Only for keys that are bound to no tenant",
      }),
      null,
    ),
    list_unsubscribe: text(2048, "A URL (`https:` or `mailto:`) for unsubscribing; a template"),
  },
  { additionalProperties: false },
);
export type EmailSettings = Static<typeof EmailSettings>;

/** The settings as the sender uses them. */
export interface EmailDestination {
  readonly texts: MailTexts;
  /** The texts that are templates, in their order. */
  readonly templates: readonly Template[];
  readonly takesPayload: boolean;
}

export function prepareEmail(settings: EmailSettings): PreparedDestination {
  const templates = emailTemplates(settings);
  const destination: EmailDestination = {
    texts: textsIn(settings),
    templates,
    takesPayload: settings.fields_from === "payload",
  };
  const place = destination.takesPayload ? "mailto: (from the payload)" : `mailto:${destination.texts.to.join(",")}`;
  return { destination, place, needs: { request: false, details: false, ...neededBy(templates), earlier: true } };
}

export function emailTemplates(settings: EmailSettings): readonly Template[] {
  return templatesAmong(textsIn(settings));
}

function textsIn(settings: EmailSettings): MailTexts {
  return {
    to: listOf(settings.to),
    cc: listOf(settings.cc),
    bcc: listOf(settings.bcc),
    replyTo: settings.reply_to ?? undefined,
    subject: settings.subject ?? undefined,
    text: settings.text ?? undefined,
    html: settings.html ?? undefined,
    listUnsubscribe: settings.list_unsubscribe ?? undefined,
  };
}

export function presentEmail(settings: EmailSettings): Record<string, unknown> {
  return fillIn(EmailSettings.properties, settings);
}

export function listOf(given: string | readonly string[] | null | undefined): readonly string[] {
  if (given === undefined || given === null) return [];
  return typeof given === "string" ? [given] : given;
}
