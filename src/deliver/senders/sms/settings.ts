import { Type, type Static } from "typebox";
import { MASK } from "../../../domain/mask.ts";
import { fillIn, oneOf, orNull, withDefault } from "../../../domain/shape.ts";
import type { PreparedDestination } from "../sender.ts";
import { neededBy } from "../templated.ts";
import { smsTemplates, type SmsTemplates } from "./sms-templates.ts";

/** What may be set of a destination of the kind sms. */

export const DEFAULT_MAX_SEGMENTS = 6;

const text = (maxLength: number, description: string) =>
  withDefault(orNull(Type.String({ minLength: 1, maxLength }), { description }), null);

const SuccessRule = Type.Object(
  {
    statuses: Type.Optional(
      Type.Array(Type.Integer({ minimum: 200, maximum: 299 }), {
        minItems: 1,
        maxItems: 20,
        description: "The only answers that count as taken; all 2xx when not given",
      }),
    ),
    pointer: Type.Optional(
      Type.String({ maxLength: 500, description: "A JSON Pointer into the answer: what stands there must fit" }),
    ),
    equals: Type.Optional(Type.Union([Type.String({ maxLength: 200 }), Type.Number(), Type.Boolean(), Type.Null()])),
    contains: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "A text in it; without `pointer`, anywhere in the answer",
      }),
    ),
  },
  { additionalProperties: false },
);
export type SuccessRule = Static<typeof SuccessRule>;

export const SmsSettings = Type.Object(
  {
    gateway: oneOf(["twilio", "generic-http"], { description: "Who sends the message: `twilio` or `generic-http`" }),
    to: text(500, "The number that gets it; a template that gives one, or a number"),
    text: text(10_000, "What it says; a template"),
    from: text(64, "Whom it is from: a number, or a name of up to 11 characters"),
    fields_from: withDefault(
      orNull(Type.Literal("payload"), {
        description: "`payload`: `to` and `text` are taken from the event. Only for keys that are bound to no tenant",
      }),
      null,
    ),
    default_country: withDefault(
      orNull(Type.String({ pattern: "^[A-Z]{2}$" }), {
        description: "Of numbers without `+` and a country code; two letters, as `DE`",
      }),
      null,
    ),
    max_segments: withDefault(
      Type.Integer({
        minimum: 1,
        maximum: 40,
        description: "A text that takes more messages than this is not sent",
      }),
      DEFAULT_MAX_SEGMENTS,
    ),
    account_sid: text(64, "Twilio: the account"),
    auth_token: text(256, "Twilio: its secret"),
    messaging_service_sid: text(64, "Twilio: a messaging service instead of `from`"),
    url: text(
      2048,
      "`generic-http`: where messages are sent; a template. `twilio`: another origin than `https://api.twilio.com`",
    ),
    method: withDefault(oneOf(["POST", "PUT", "GET"], { description: "`generic-http`" }), "POST"),
    headers: withDefault(
      orNull(Type.Record(Type.String(), Type.String({ maxLength: 4096 }), { maxProperties: 50 }), {
        description: "`generic-http`: sent with every message; shown to nobody: `***`",
      }),
      null,
    ),
    content_type: withDefault(
      oneOf(["application/json", "application/x-www-form-urlencoded", "text/xml", "text/plain"], {
        description: "`generic-http`: of `body`, and how values are escaped in it",
      }),
      "application/json",
    ),
    body: text(
      10_000,
      "`generic-http`: a template, in which `message.to`, `message.from`, `message.text` and `message.id` stand for the " +
        "message; without it, an object or a form of these",
    ),
    success: withDefault(
      orNull(SuccessRule, { description: "`generic-http`: what an answer must be like beyond its status" }),
      null,
    ),
  },
  { additionalProperties: false },
);
export type SmsSettings = Static<typeof SmsSettings>;

/** As the sender uses it. */
export interface SmsDestination {
  readonly settings: SmsSettings;
  readonly templates: SmsTemplates;
}

export function prepareSms(settings: SmsSettings): PreparedDestination {
  const place = settings.fields_from === "payload" ? "sms: (from the payload)" : `sms:${settings.to}`;
  const templates = smsTemplates(settings);
  const destination: SmsDestination = { settings, templates };
  return { destination, place, needs: neededBy([...templates.message, ...templates.request]) };
}

/** The headers are hidden as a whole. */
export function presentSms(settings: SmsSettings): Record<string, unknown> {
  const { auth_token: token, headers } = settings;
  return {
    ...fillIn(SmsSettings.properties, settings),
    auth_token: token ? MASK : null,
    headers: headers ? MASK : null,
  };
}
