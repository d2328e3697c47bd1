import { MASK } from "../../model/secrets.ts";
import { fillIn } from "../../model/shape.ts";
import { SmsSettings } from "./schema.ts";
import type { PreparedDestination, DestinationKind } from "../destination-kind.ts";
import { checkTaken, isGiven, isTemplate, neededBy } from "../templated.ts";
import type { Template } from "../../sandbox/templates/templates.ts";
import { problemsOf, type FieldCheck, type FieldProblem } from "../../model/subscription-rules.ts";
import type { SmsGateway } from "./gateways/gateway.ts";
import { GENERIC_HTTP } from "./gateways/generic-http.ts";
import { TWILIO } from "./gateways/twilio.ts";
import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";

/** The settings as the sender uses them. */
export interface SmsDestination {
  readonly settings: SmsSettings;
  readonly templates: ReturnType<typeof smsTemplates>;
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

type Filled = Readonly<Partial<Record<"to" | "text" | "url" | "body", string>>>;

/** The templates of a message, and those of the request that contains it. */
function smsTemplates({ gateway, to, text, url, body, content_type: type }: SmsSettings) {
  const isForm = type === "application/x-www-form-urlencoded";
  const ofRequest = [
    ...toTemplates("url", "url", url),
    ...toTemplates("body", BODY_PLACES[type ?? "application/json"], isForm && body ? FORM_BASE + body : body),
  ];
  return {
    message: [...toTemplates("to", "header", to), ...toTemplates("text", "text", text)],
    request: gateway === "twilio" ? [] : ofRequest.map((template) => ({ ...template, own: OWN })),
  };
}

/** Rendered texts by the settings that their templates are in. */
export function toFilled(templates: readonly Template[], rendered: readonly string[]): Filled {
  const entries = templates.map(({ name }, i) => [name, rendered[i]?.replace(FORM_BASE, "")]);
  return Object.fromEntries(entries) as Filled;
}

function toTemplates(name: string, place: Template["place"], text: string | null | undefined): Template[] {
  return text && isTemplate(text) ? [{ name, text, place }] : [];
}

/** How values are escaped. */
const BODY_PLACES = {
  "application/json": "json",
  "application/x-www-form-urlencoded": "url",
  "text/xml": "html",
  "text/plain": "text",
} as const;

const SENDER = /^(?:\+?[0-9]{3,15}|(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11})$/;

/** Rules that the schema cannot express. The sender checks whether phone numbers are valid. */
function checkSmsSettings(settings: SmsSettings): FieldProblem[] {
  const { from, gateway, fields_from: source } = settings;
  const { needs, excludes, check } = GATEWAYS[gateway];
  const checkMissing = (field: keyof SmsSettings, message: string): FieldCheck => [
    field,
    !isGiven(settings, field) && message,
  ];
  return problemsOf([
    ...(source === "payload"
      ? checkTaken(settings, FROM_PAYLOAD)
      : FROM_PAYLOAD.map((field) => checkMissing(field, "is missing"))),
    ...needs.map((field) => checkMissing(field, `is missing; the gateway ${gateway} needs it`)),
    ...excludes.map((field): FieldCheck => [
      field,
      isGiven(settings, field) && `does not belong to the gateway ${gateway}`,
    ]),
    ...check(settings),
    ["from", from && !SENDER.test(from) && "must be a number, or a name of up to 11 letters, digits and spaces"],
  ]);
}

const FROM_PAYLOAD = ["to", "text"] as const;

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
