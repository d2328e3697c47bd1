import { Type, type Static } from "typebox";
import { oneOf, orNull, withDefault } from "../../model/shape.ts";
import { fieldsFromSetting, textSetting } from "../templated.ts";

/** The settings of a destination of the kind sms. */

export const DEFAULT_MAX_SEGMENTS = 6;

const SuccessRule = Type.Object(
  {
    statuses: Type.Optional(
      Type.Array(Type.Integer({ minimum: 200, maximum: 299 }), {
        minItems: 1,
        maxItems: 20,
        description: "The only statuses that count as accepted; all 2xx when not given",
      }),
    ),
    pointer: Type.Optional(
      Type.String({ maxLength: 500, description: "A JSON Pointer into the answer: the value there must match" }),
    ),
    equals: Type.Optional(Type.Union([Type.String({ maxLength: 200 }), Type.Number(), Type.Boolean(), Type.Null()])),
    contains: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "A text that the value contains; without `pointer`, anywhere in the answer",
      }),
    ),
  },
  { additionalProperties: false },
);
export type SuccessRule = Static<typeof SuccessRule>;

export const SmsSettings = Type.Object(
  {
    gateway: oneOf(["twilio", "generic-http"], {
      description: "The service that sends the message: `twilio` or `generic-http`",
    }),
    to: textSetting(500, "The recipient's number, or a template for it"),
    text: textSetting(10_000, "The text of the message; a template"),
    from: textSetting(64, "The sender: a number, or a name of up to 11 characters"),
    fields_from: fieldsFromSetting("`to` and `text`"),
    default_country: withDefault(
      orNull(Type.String({ pattern: "^[A-Z]{2}$" }), {
        description: "The country of numbers without `+` and country code; two letters such as `DE`",
      }),
      null,
    ),
    max_segments: withDefault(
      Type.Integer({
        minimum: 1,
        maximum: 40,
        description: "A text that needs more messages than this is not sent",
      }),
      DEFAULT_MAX_SEGMENTS,
    ),
    account_sid: textSetting(64, "Twilio: the account"),
    auth_token: textSetting(256, "Twilio: its secret"),
    messaging_service_sid: textSetting(64, "Twilio: a messaging service instead of `from`"),
    url: textSetting(
      2048,
      "`generic-http`: the URL that messages are sent to; a template. `twilio`: an origin other than `https://api.twilio.com`",
    ),
    method: withDefault(oneOf(["POST", "PUT", "GET"], { description: "`generic-http`" }), "POST"),
    headers: withDefault(
      orNull(Type.Record(Type.String(), Type.String({ maxLength: 4096 }), { maxProperties: 50 }), {
        description: "`generic-http`: sent with every message; values are never shown, only `***`",
      }),
      null,
    ),
    content_type: withDefault(
      oneOf(["application/json", "application/x-www-form-urlencoded", "text/xml", "text/plain"], {
        description: "`generic-http`: the content type of `body`, which also decides how values are escaped",
      }),
      "application/json",
    ),
    body: textSetting(
      10_000,
      "`generic-http`: a template, in which `message.to`, `message.from`, `message.text` and `message.id` stand for the " +
        "message; without it, a JSON object or a form with these values",
    ),
    success: withDefault(
      orNull(SuccessRule, { description: "`generic-http`: what an answer must contain to count as accepted" }),
      null,
    ),
  },
  { additionalProperties: false },
);
export type SmsSettings = Static<typeof SmsSettings>;
