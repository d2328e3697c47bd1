import { Type, type Static } from "typebox";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN, type EventTypeStatus } from "./event.ts";
import { isGatewayEventType } from "./pattern.ts";
import { isDeeperThan } from "./json.ts";
import { EventTypeMask } from "./masking.ts";
import { oneOf, optionalText, withDefault } from "./shape.ts";
import { problemsOf, type FieldCheck, type FieldProblem } from "./subscription-rules.ts";
import type { ManagedBy } from "./subscription.ts";

/** An event type in the registry: what the event means, who publishes it, who consumes it, and its payload's schema. */

export const EVENT_VERSION_PATTERN = "^[A-Za-z0-9._-]{1,32}$";
/** Excludes NUL, at which some stores cut a text, and lone surrogates. */
const TEXT_PATTERN = "^[^\\u0000\\ud800-\\udfff]*$";

const Name = Type.String({
  minLength: 1,
  maxLength: EVENT_TYPE_MAX_LENGTH,
  pattern: EVENT_TYPE_PATTERN,
  description: "The event type, such as `order.created`; not a pattern",
  examples: ["order.created"],
});
const text = (maxLength: number, description: string, example: string) =>
  optionalText({ maxLength, pattern: TEXT_PATTERN, description, examples: [example] });

const VersionContent = {
  schema: Type.Object(
    {},
    { description: "JSON Schema, draft 2020-12, 2019-09, 07, 06 or 04; at most 64 KB, no remote `$ref`" },
  ),
  example: Type.Optional(Type.Unknown({ description: "A payload that matches the schema" })),
};
/** A version, as shown under its own path. */
export const EventTypeVersionContent = Type.Object(VersionContent, { additionalProperties: false });
export type EventTypeVersionContent = Static<typeof EventTypeVersionContent>;

const EventTypeVersionInput = Type.Object(
  { version: Type.String({ pattern: EVENT_VERSION_PATTERN }), ...VersionContent },
  { additionalProperties: false },
);

export const MAX_VERSIONS = 20;

const Facts = {
  description: text(4000, "What happened when this event is published", "A customer has placed an order"),
  producer: text(200, "Which system publishes it", "shop"),
  consumers: withDefault(
    Type.Array(Type.String({ minLength: 1, maxLength: 200, pattern: TEXT_PATTERN }), {
      maxItems: 100,
      description: "Which systems consume it",
    }),
    [],
  ),
  status: withDefault(
    oneOf(["active", "deprecated"], {
      description:
        "Events of a `deprecated` type are still accepted; the catalogue shows the deprecation to its consumers",
    }),
    "active",
  ),
  deprecated_at: optionalText({
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,16}(Z|[+-][0-9]{2}:[0-9]{2})$",
    description: "Since when (RFC 3339); by default the time of the change",
  }),
  replaced_by: optionalText({
    maxLength: EVENT_TYPE_MAX_LENGTH,
    pattern: EVENT_TYPE_PATTERN,
    description: "The event type to use instead of a deprecated one",
  }),
  enforce: withDefault(
    Type.Boolean({ description: "`false` accepts events that do not match their schema, and records the mismatch" }),
    true,
  ),
  mask: withDefault(EventTypeMask, []),
};

/** An event type as a user registers or declares it. */
export const EventTypeInput = Type.Object(
  {
    name: Name,
    ...Facts,
    versions: withDefault(
      Type.Array(EventTypeVersionInput, {
        maxItems: MAX_VERSIONS,
        description: "Schemas by version; an event's `event_version` picks one",
      }),
      [],
    ),
  },
  { additionalProperties: false },
);
export type EventTypeInput = Static<typeof EventTypeInput>;

/** The fields that a change may contain; versions have their own paths. */
export const EventTypeChange = Type.Object(Facts, { additionalProperties: false });
export type EventTypeChange = Static<typeof EventTypeChange>;

export interface EventTypeVersion {
  readonly version: string;
  readonly schema: object;
  readonly example: unknown;
  readonly createdAt: number;
}

export interface EventType {
  readonly name: string;
  readonly description: string | undefined;
  readonly producer: string | undefined;
  readonly consumers: readonly string[];
  readonly status: EventTypeStatus;
  readonly deprecatedAt: number | undefined;
  readonly replacedBy: string | undefined;
  readonly enforce: boolean;
  /** JSON Pointers; none by default. */
  readonly mask?: readonly string[] | undefined;
  /** The latest version is the last. */
  readonly versions: readonly EventTypeVersion[];
  readonly managedBy: ManagedBy;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const RESERVED_NAMES: ReadonlySet<string> = new Set(["export", "import"]);
/** Maximum nesting of a schema or an example, wherever it comes from. */
export const MAX_JSON_DEPTH = 64;

/** Rules that the input's schema cannot express. Whether the JSON Schemas compile is checked elsewhere. */
export function checkEventTypeInput(input: EventTypeInput): FieldProblem[] {
  const { name, deprecated_at: deprecatedAt, versions = [] } = input;
  const isGateways = isGatewayEventType(name);
  const isTime = deprecatedAt === undefined || !Number.isNaN(Date.parse(deprecatedAt));
  return problemsOf([
    ["name", isGateways && `${name} is a type of the gateway's own events; choose another name`],
    ["name", RESERVED_NAMES.has(name) && `${name} is the name of a route; choose another name`],
    ["deprecated_at", deprecatedAt && input.status !== "deprecated" && "needs `status: deprecated` too"],
    ["deprecated_at", !isTime && "is not an RFC 3339 time; write for example 2026-01-31T12:00:00Z"],
    ["replaced_by", input.replaced_by === name && "must be another event type"],
    ...versions.flatMap(({ version, schema, example }, index): FieldCheck[] => {
      const [field, message] = [`versions[${index}]`, `is nested more than ${MAX_JSON_DEPTH} levels deep`];
      const first = versions.findIndex((one) => one.version === version);
      return [
        [`${field}.schema`, isDeeperThan(schema, MAX_JSON_DEPTH) && message],
        [`${field}.example`, isDeeperThan(example, MAX_JSON_DEPTH) && message],
        [`${field}.version`, first < index && `is the same as the version of versions[${first}]`],
      ];
    }),
  ]);
}

const PARTS = /[0-9]+|[^0-9.]+/g;

/** `1.9` before `1.10`: digits are compared as numbers. */
export function compareVersions(a: string, b: string): number {
  const left = a.match(PARTS) ?? [];
  const right = b.match(PARTS) ?? [];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [one, other] = [left[at], right[at]];
    if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
    const difference = isNumber(one) && isNumber(other) ? Number(one) - Number(other) : compareTexts(one, other);
    if (difference !== 0) return difference;
  }
  return compareTexts(a, b);
}

function isNumber(part: string): boolean {
  return part >= "0" && part < ":";
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
