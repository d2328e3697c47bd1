import { MASK } from "../../model/secrets.ts";
import { fillIn } from "../../model/shape.ts";
import { SmsSettings } from "./schema.ts";
import type { PreparedDestination, DestinationKind } from "../destination-kind.ts";
import { neededBy, isTemplate } from "../templated.ts";
import type { Template } from "../../sandbox/templates/templates.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import type { SmsGateway } from "./gateways/gateway.ts";
import { GENERIC_HTTP } from "./gateways/generic-http.ts";
import { TWILIO } from "./gateways/twilio.ts";
import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";

/** The settings as the sender uses them. */
export interface SmsDestination {
  readonly settings: SmsSettings;
  readonly templates: SmsTemplates;
}

function prepareSms(settings: SmsSettings): PreparedDestination {
  const place = settings.fields_from === "payload" ? "sms: (from the payload)" : `sms:${settings.to}`;
  const templates = smsTemplates(settings);
  const destination: SmsDestination = { settings, templates };
  return { destination, place, needs: neededBy([...templates.message, ...templates.request]) };
}

/** Hides the headers completely. */
function presentSms(settings: SmsSettings): Record<string, unknown> {
  const { auth_token: token, headers } = settings;
  return {
    ...fillIn(SmsSettings.properties, settings),
    auth_token: token ? MASK : null,
    headers: headers ? MASK : null,
  };
}

/** The members of `message` in templates for the request to a gateway. */
const OWN = { message: ["to", "from", "text", "id"] };

/** A form is escaped like the query of a URL; this URL is put in front while it is rendered. */
const FORM_BASE = "https://form.invalid/?";

/** The templates of a message, and those of the request that contains it. */
export interface SmsTemplates {
  readonly message: readonly Template[];
  readonly request: readonly Template[];
}

type Filled = Readonly<Partial<Record<"to" | "text" | "url" | "body", string>>>;

function smsTemplates(settings: SmsSettings): SmsTemplates {
  const { to, text, url, body } = settings;
  const message = [toTemplate("to", "header", to), toTemplate("text", "text", text)];
  const request = settings.gateway === "twilio" ? [] : [toTemplate("url", "url", url), bodyTemplate(settings, body)];
  const withOwn = request.flatMap((one) => (one === undefined ? [] : [{ ...one, own: OWN }]));
  return { message: message.filter((one) => one !== undefined), request: withOwn };
}

/** Rendered texts by the settings that their templates are in. */
export function toFilled(templates: readonly Template[], rendered: readonly string[]): Filled {
  const entries = templates.map(({ name }, i) => [name, rendered[i]?.replace(FORM_BASE, "")]);
  return Object.fromEntries(entries) as Filled;
}

function toTemplate(name: string, place: Template["place"], text: string | null | undefined): Template | undefined {
  return text && isTemplate(text) ? { name, text, place } : undefined;
}

function bodyTemplate({ content_type: type }: SmsSettings, body: string | null | undefined): Template | undefined {
  switch (type) {
    case "application/x-www-form-urlencoded":
      return toTemplate("body", "url", body && FORM_BASE + body);
    case "text/xml":
      return toTemplate("body", "html", body);
    case "text/plain":
      return toTemplate("body", "text", body);
    default:
      return toTemplate("body", "json", body);
  }
}

const SENDER = /^(?:\+?[0-9]{3,15}|(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11})$/;

/** Rules that the schema cannot express. The sender checks whether phone numbers are valid. */
function checkSmsSettings(settings: SmsSettings): FieldProblem[] {
  const { from } = settings;
  const problems = [...checkFields(settings), ...GATEWAYS[settings.gateway].check(settings)];
  if (from && !SENDER.test(from)) {
    problems.push({ field: "from", message: "must be a number, or a name of up to 11 letters, digits and spaces" });
  }
  return problems;
}

const FROM_PAYLOAD = ["to", "text"] as const;

function checkFields(settings: SmsSettings): FieldProblem[] {
  const isGiven = (name: keyof SmsSettings) => (settings[name] ?? null) !== null;
  if (settings.fields_from === "payload") {
    const message = "is taken from the payload because of `fields_from`; leave one of the two out";
    return FROM_PAYLOAD.filter(isGiven).map((field) => ({ field, message }));
  }
  return FROM_PAYLOAD.filter((field) => !isGiven(field)).map((field) => ({ field, message: "is missing" }));
}

/** All gateways by the value of `gateway`. To add one, add a file, a line here and a word in the schema. */
export const GATEWAYS: Readonly<Record<SmsSettings["gateway"], SmsGateway>> = {
  twilio: TWILIO,
  "generic-http": GENERIC_HTTP,
};

/** SMS, through a gateway with an HTTP interface. */
export const SMS: DestinationKind<SmsSettings> = {
  name: "sms",
  settings: SmsSettings,
  operatorOnly: ["fields_from"],
  check: checkSmsSettings,
  templatesOf(settings) {
    const { message, request } = smsTemplates(settings);
    return [...message, ...request];
  },
  prepare: prepareSms,
  secrets: secretSettings<SmsSettings>(["auth_token", "headers"], ["gateway", "url", "account_sid"]),
  present: presentSms,
  presentRecord: presentOwnRecord,
};
