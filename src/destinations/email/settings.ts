import { Type, type Static } from "typebox";
import { fillIn, orNull, withDefault } from "../../model/shape.ts";
import type { Template, TemplatePlace } from "../../sandbox/templates/templates.ts";
import type { PreparedDestination, DestinationKind } from "../destination-kind.ts";
import { checkTaken, fieldsFromSetting, isGiven, isTemplate, neededBy, textSetting } from "../templated.ts";
import { hasLineFault, parseMailAddress } from "../../model/mail.ts";
import { parseUrl } from "../../model/addresses.ts";
import { problemsOf, type FieldCheck, type FieldProblem } from "../../model/subscription-rules.ts";
import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";

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

export const EmailSettings = Type.Object(
  {
    to: addresses(
      "Recipients: addresses such as `name@example.com` or `Name <name@example.com>`; each may be a template for one address",
    ),
    cc: addresses("Recipients of a copy (Cc)"),
    bcc: addresses("Recipients of a hidden copy (Bcc)"),
    reply_to: textSetting(MAX_ADDRESS_TEMPLATE, "The address for replies (Reply-To)"),
    subject: textSetting(1000, "One line; a template"),
    text: textSetting(65_536, "The body as plain text; a template"),
    html: textSetting(65_536, "The body as HTML; a template whose values are escaped"),
    fields_from: fieldsFromSetting("`to`, `subject`, `text` and `html`"),
    list_unsubscribe: textSetting(2048, "A URL (`https:` or `mailto:`) for unsubscribing; a template"),
  },
  { additionalProperties: false },
);
export type EmailSettings = Static<typeof EmailSettings>;

/** The settings that may be templates, and where their texts stand. */
const PLACES = {
  to: "header",
  cc: "header",
  bcc: "header",
  reply_to: "header",
  subject: "header",
  text: "text",
  html: "html",
  list_unsubscribe: "url",
} as const satisfies Partial<Record<keyof EmailSettings, TemplatePlace>>;

type TextField = keyof typeof PLACES;
const TEXT_FIELDS = Object.keys(PLACES) as TextField[];

/** The texts of an e-mail before they are checked; only of recipients can there be more than one. */
export type MailTexts = Readonly<Record<TextField, readonly string[]>>;

/** The settings as the sender uses them. */
export type EmailDestination = ReturnType<typeof toDestination>;

function toDestination(settings: EmailSettings) {
  const texts = mapFields((field) => listOf(settings[field]));
  return { texts, templates: templatesAmong(texts), takesPayload: settings.fields_from === "payload" };
}

function prepareEmail(settings: EmailSettings): PreparedDestination {
  const destination = toDestination(settings);
  const { texts, templates, takesPayload } = destination;
  const place = takesPayload ? "mailto: (from the payload)" : `mailto:${texts.to.join(",")}`;
  return { destination, place, needs: { request: false, details: false, ...neededBy(templates), earlier: true } };
}

function mapFields(map: (field: TextField) => readonly string[]): MailTexts {
  return Object.fromEntries(TEXT_FIELDS.map((field) => [field, map(field)])) as MailTexts;
}

export function listOf(given: string | readonly string[] | null | undefined): readonly string[] {
  if (given === undefined || given === null) return [];
  return typeof given === "string" ? [given] : given;
}

function templatesAmong(texts: MailTexts): readonly Template[] {
  return TEXT_FIELDS.flatMap((name) =>
    texts[name].filter(isTemplate).map((text) => ({ name, text, place: PLACES[name] })),
  );
}

/** `rendered` has one text for each template of `templatesAmong`, in the same order. */
export function fillTexts(texts: MailTexts, rendered: readonly string[]): MailTexts {
  let next = 0;
  return mapFields((field) => texts[field].map((text) => (isTemplate(text) ? (rendered[next++] ?? "") : text)));
}

/** Rules that the schema cannot express. The result of a template is checked by the same rules when it is rendered. */
function checkEmailSettings(settings: EmailSettings): FieldProblem[] {
  const { subject, list_unsubscribe: unsubscribe } = settings;
  return problemsOf([
    ...checkFields(settings),
    ...checkAddresses(settings),
    ["subject", subject && hasLineFault(subject) && "must be one line, without control characters"],
    ["list_unsubscribe", unsubscribe && !isTemplate(unsubscribe) && findUnsubscribeProblem(unsubscribe)],
  ]);
}

const NO_ADDRESS =
  "is missing: give at least one address, or `fields_from: payload` where the event itself contains the mail, as `notification.email` does";

function checkFields(settings: EmailSettings): FieldCheck[] {
  if (settings.fields_from === "payload") return checkTaken(settings, ["to", "subject", "text", "html"]);
  const hasBody = isGiven(settings, "text") || isGiven(settings, "html");
  return [
    ["to", !isGiven(settings, "to") && NO_ADDRESS],
    ["subject", !isGiven(settings, "subject") && "is missing"],
    ["text", !hasBody && "give `text`, `html` or both"],
  ];
}

function checkAddresses(settings: EmailSettings): FieldCheck[] {
  const addressesOf = (field: "to" | "cc" | "bcc" | "reply_to") =>
    listOf(settings[field]).map((text): FieldCheck => {
      const parsed = isTemplate(text) ? undefined : parseMailAddress(text);
      return [field, typeof parsed === "string" && parsed];
    });
  const recipients = (["to", "cc", "bcc"] as const).flatMap(addressesOf);
  const count = recipients.length;
  return [
    ...recipients,
    ...addressesOf("reply_to"),
    ["to", count > MAX_RECIPIENTS && `has ${count} recipients in all; the maximum is ${MAX_RECIPIENTS}`],
  ];
}

/** RFC 2369: a URL in angle brackets, so it must not contain a closing one. */
export function findUnsubscribeProblem(text: string): string | undefined {
  const url = /[<>\s,]/.test(text) || hasLineFault(text) ? undefined : parseUrl(text);
  const isUsable = url !== undefined && ["https:", "mailto:"].includes(url.protocol);
  return isUsable ? undefined : `${JSON.stringify(text.slice(0, 100))} is not a URL that begins with https: or mailto:`;
}

/** E-mail, through the SMTP server of the gateway. */
export const EMAIL: DestinationKind<EmailSettings> = {
  name: "email",
  settings: EmailSettings,
  operatorOnly: ["fields_from"],
  check: checkEmailSettings,
  templatesOf: (settings) => toDestination(settings).templates,
  prepare: prepareEmail,
  secrets: secretSettings<EmailSettings>([], []),
  present: (settings) => fillIn(EmailSettings.properties, settings),
  presentRecord: presentOwnRecord,
};
