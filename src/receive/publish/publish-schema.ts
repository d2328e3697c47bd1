import { Type, type Static, type TSchema } from "typebox";
import {
  DEFAULT_TENANT,
  EVENT_ID_PATTERN,
  EVENT_TYPE_MAX_LENGTH,
  EVENT_TYPE_PATTERN,
  PRIORITIES,
} from "../../domain/event.ts";
import { findTime } from "./rfc3339.ts";

/** No control characters (PostgreSQL refuses NUL, people misread the others) and no half of a surrogate pair. */
export const PLAIN_TEXT_PATTERN = "^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$";

/** The last second of the year 9999; a count of milliseconds lies beyond it. */
export const MAX_UNIX_SECONDS = 253_402_300_799;

export interface TextRule {
  minLength: number;
  /** In characters, not in bytes. */
  maxLength: number;
  pattern: string;
}

function plainText(maxLength: number): TextRule {
  return { minLength: 1, maxLength, pattern: PLAIN_TEXT_PATTERN };
}

/** What a field's text must be; the schema below and the reader of published bodies both take it from here. */
export const TEXT_RULES = {
  event_type: { minLength: 1, maxLength: EVENT_TYPE_MAX_LENGTH, pattern: EVENT_TYPE_PATTERN },
  event_id: { minLength: 1, maxLength: 128, pattern: EVENT_ID_PATTERN },
  event_version: { minLength: 1, maxLength: 32, pattern: "^[A-Za-z0-9._-]+$" },
  source: plainText(128),
  source_id: plainText(255),
  tenant_id: plainText(128),
  user_id: plainText(255),
  session_id: plainText(255),
  ordering_key: plainText(255),
} as const satisfies Record<string, TextRule>;

export const PUBLISH_DEFAULTS = { event_version: "1.0", source: "api", priority: "normal" } as const;

function time(description: string) {
  return Type.String({ format: "date-time", description, examples: ["2026-01-31T12:00:00Z"] });
}

/** What happened may be told by the clock of a program that writes no offset. */
function looseTime(description: string) {
  const plain = Type.String({
    pattern: "^\\d{4}-\\d{2}-\\d{2}[Tt ]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})?$",
    description: "As Python prints it: with a space, or without an offset, which means UTC",
    examples: ["2026-01-31 12:00:00.250000"],
  });
  return [time(description), Type.Refine(plain, (text) => findTime(text) !== undefined)] as const;
}

function id(rule: TextRule, description: string, examples: unknown[]) {
  return Type.Union([Type.String({ ...rule }), Type.Integer({ description: "Kept digit by digit, beyond 2^53 too" })], {
    description,
    examples,
  });
}

/** Producers that write out their whole model send null for what they do not know. */
function optional<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

/** What a producer may publish: one event. */
export const PublishInput = Type.Object(
  {
    event_type: Type.String({
      ...TEXT_RULES.event_type,
      description: "What happened: words parted by dots",
      examples: ["order.created"],
    }),
    payload: Type.Object({}, { description: "The event itself; delivered byte for byte as it is written here" }),
    event_id: optional(
      Type.String({
        ...TEXT_RULES.event_id,
        description: "Unique per tenant: publishing it again changes nothing. Made by the gateway when not given",
        examples: ["order-1001-created"],
      }),
    ),
    event_version: optional(
      Type.String({
        ...TEXT_RULES.event_version,
        default: PUBLISH_DEFAULTS.event_version,
        description: "Version of the payload's schema",
      }),
    ),
    source: optional(
      Type.String({
        ...TEXT_RULES.source,
        default: PUBLISH_DEFAULTS.source,
        description: "Which system says so",
        examples: ["shop"],
      }),
    ),
    source_id: optional(
      Type.String({ ...TEXT_RULES.source_id, description: "What it is called there", examples: ["order/1001"] }),
    ),
    tenant_id: optional(
      id(
        TEXT_RULES.tenant_id,
        `Whose event it is. Only a key without a tenant may say; else it is the key's, or \`${DEFAULT_TENANT}\``,
        ["acme", 42],
      ),
    ),
    user_id: optional(id(TEXT_RULES.user_id, "Who caused it", ["u-17", 17])),
    session_id: optional(Type.String({ ...TEXT_RULES.session_id, description: "During which session" })),
    timestamp: optional(
      Type.Union(
        [
          ...looseTime("RFC 3339"),
          Type.Integer({ minimum: 0, maximum: MAX_UNIX_SECONDS, description: "Unix seconds" }),
        ],
        { description: "When it happened; when it arrived, if not given" },
      ),
    ),
    published_at: optional(
      Type.Union([...looseTime("RFC 3339")], {
        description:
          "Taken, because producers write out their whole model; what counts is when the gateway has it on disk",
      }),
    ),
    priority: optional(
      Type.Enum([...PRIORITIES], {
        default: PUBLISH_DEFAULTS.priority,
        description: "Which waiting deliveries go first",
      }),
    ),
    ordering_key: optional(
      Type.String({
        ...TEXT_RULES.ordering_key,
        description: "Events with the same key reach an ordered subscription in the order in which they were accepted",
        examples: ["order-1001"],
      }),
    ),
    deliver_at: optional(time("Not delivered before this time (RFC 3339)")),
    expires_at: optional(time("What is undelivered at this time (RFC 3339) becomes a dead letter")),
    metadata: optional(Type.Object({}, { description: "More about the event, for filters and readers" })),
  },
  { additionalProperties: false },
);
export type PublishInput = Static<typeof PublishInput>;
