import { Type, type Static } from "typebox";
import { fillIn, orNull, withDefault } from "../../model/shape.ts";
import type { Template, TemplatePlace } from "../../sandbox/templates/templates.ts";
import type { PreparedDestination, DestinationKind } from "../destination-kind.ts";
import { neededBy, isTemplate } from "../templated.ts";
import { hasLineFault, parseMailAddress } from "../../model/mail.ts";
import { parseUrl } from "../../model/addresses.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
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

function prepareEmail(settings: EmailSettings): PreparedDestination {
  const templates = emailTemplates(settings);
  const destination: EmailDestination = {
    texts: textsIn(settings),
    templates,
    takesPayload: settings.fields_from === "payload",
  };
  const place = destination.takesPayload ? "mailto: (from the payload)" : `mailto:${destination.texts.to.join(",")}`;
  return { destination, place, needs: { request: false, details: false, ...neededBy(templates), earlier: true } };
}

function emailTemplates(settings: EmailSettings): readonly Template[] {
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

function presentEmail(settings: EmailSettings): Record<string, unknown> {
  return fillIn(EmailSettings.properties, settings);
}

function listOf(given: string | readonly string[] | null | undefined): readonly string[] {
  if (given === undefined || given === null) return [];
  return typeof given === "string" ? [given] : given;
}

/** The texts of an e-mail before they are checked. */
export interface MailTexts {
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly replyTo: string | undefined;
  readonly subject: string | undefined;
  readonly text: string | undefined;
  readonly html: string | undefined;
  readonly listUnsubscribe: string | undefined;
}

function templatesAmong(texts: MailTexts): readonly Template[] {
  const found: Template[] = [];
  mapTemplates(texts, (template) => {
    found.push(template);
    return "";
  });
  return found;
}

/** `rendered` has one text for each template of `templatesAmong`, in the same order. */
export function fillTexts(texts: MailTexts, rendered: readonly string[]): MailTexts {
  let next = 0;
  return mapTemplates(texts, () => rendered[next++] ?? "");
}

function mapTemplates(texts: MailTexts, map: (template: Template) => string): MailTexts {
  const mapOne = (name: string, place: TemplatePlace, text: string) =>
    isTemplate(text) ? map({ name, text, place }) : text;
  const line = (name: string) => (text: string) => mapOne(name, "header", text);
  const optional = (name: string, place: TemplatePlace, text: string | undefined) =>
    text === undefined ? undefined : mapOne(name, place, text);
  return {
    to: texts.to.map(line("to")),
    cc: texts.cc.map(line("cc")),
    bcc: texts.bcc.map(line("bcc")),
    replyTo: optional("reply_to", "header", texts.replyTo),
    subject: optional("subject", "header", texts.subject),
    text: optional("text", "text", texts.text),
    html: optional("html", "html", texts.html),
    listUnsubscribe: optional("list_unsubscribe", "url", texts.listUnsubscribe),
  };
}

/** Rules that the schema cannot express. The result of a template is checked by the same rules when it is rendered. */
function checkEmailSettings(settings: EmailSettings): FieldProblem[] {
  return [...checkFields(settings), ...checkAddresses(settings), ...checkLines(settings)];
}

const NO_ADDRESS =
  "is missing: give at least one address, or `fields_from: payload` where the event itself contains the mail, as `notification.email` does";

const FROM_PAYLOAD = ["to", "subject", "text", "html"] as const;

function checkFields(settings: EmailSettings): FieldProblem[] {
  const isGiven = (name: keyof EmailSettings) => (settings[name] ?? null) !== null;
  if (settings.fields_from === "payload") {
    const message = "is taken from the payload because of `fields_from`; leave one of the two out";
    return FROM_PAYLOAD.filter(isGiven).map((field) => ({ field, message }));
  }
  const problems: FieldProblem[] = [];
  if (!isGiven("to")) problems.push({ field: "to", message: NO_ADDRESS });
  if (!isGiven("subject")) problems.push({ field: "subject", message: "is missing" });
  if (!isGiven("text") && !isGiven("html")) problems.push({ field: "text", message: "give `text`, `html` or both" });
  return problems;
}

function checkAddresses(settings: EmailSettings): FieldProblem[] {
  const given = (["to", "cc", "bcc", "reply_to"] as const).flatMap((field) =>
    listOf(settings[field]).map((text) => ({ field, text })),
  );
  const problems = given.flatMap(({ field, text }) => {
    const parsed = isTemplate(text) ? undefined : parseMailAddress(text);
    return typeof parsed === "string" ? [{ field, message: parsed }] : [];
  });
  const count = given.filter(({ field }) => field !== "reply_to").length;
  if (count > MAX_RECIPIENTS) {
    problems.push({ field: "to", message: `has ${count} recipients in all; the maximum is ${MAX_RECIPIENTS}` });
  }
  return problems;
}

function checkLines({ subject, list_unsubscribe: unsubscribe }: EmailSettings): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (subject && hasLineFault(subject)) {
    problems.push({ field: "subject", message: "must be one line, without control characters" });
  }
  const problem = unsubscribe && !isTemplate(unsubscribe) ? findUnsubscribeProblem(unsubscribe) : undefined;
  if (problem !== undefined) problems.push({ field: "list_unsubscribe", message: problem });
  return problems;
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
  templatesOf: emailTemplates,
  prepare: prepareEmail,
  secrets: secretSettings<EmailSettings>([], []),
  present: presentEmail,
  presentRecord: presentOwnRecord,
};
