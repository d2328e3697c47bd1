import { PosthornError } from "../../model/errors.ts";
import { elementSpans, memberSpans, skipSpace, type Span, readString, bomLength } from "../../model/json.ts";
import { checkJsonText } from "../../sandbox/text/json-text.ts";
import { type Priority, PRIORITIES } from "../../model/event.ts";
import {
  MAX_UNIX_SECONDS,
  PLAIN_TEXT_PATTERN,
  PUBLISH_DEFAULTS,
  TEXT_RULES,
  type PublishInput,
  type TextRule,
} from "./publish-schema.ts";
import { findRfc3339, findTime } from "../../model/rfc3339.ts";

export interface PublishLimits {
  maxItems: number;
  maxPayloadBytes: number;
  maxDepth: number;
  /** Whether fields that an event does not have are kept in its metadata, and not rejected. */
  keepsUnknown?: boolean | undefined;
}

export const DEFAULT_PUBLISH_LIMITS: PublishLimits = { maxItems: 1000, maxPayloadBytes: 1_048_576, maxDepth: 128 };

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const QUOTE = 0x22;

interface PublishBody {
  batch: boolean;
  /** In the order of the request. An invalid event becomes an error at its place and does not affect the others. */
  items: readonly (PublishItem | PosthornError)[];
}

export function parsePublishBody(body: Buffer, limits: PublishLimits = DEFAULT_PUBLISH_LIMITS): PublishBody {
  const whole = { start: skipSpace(body, bomLength(body)), end: body.length };
  const batch = body[whole.start] === OPEN_BRACKET;
  // Counted first, so that a batch with too many events is rejected before each is read.
  const spans = batch ? elementSpans(body, whole.start, whole.end, limits.maxItems + 1) : [whole];
  if (spans.length > limits.maxItems) {
    throw new PosthornError(
      "too_large",
      `The batch has more than ${limits.maxItems} events. Publish them in several requests.`,
      { details: { max_items: limits.maxItems } },
    );
  }
  checkJsonText(body, limits.maxDepth);
  return { batch, items: spans.map((span, index) => parseItem(body, span, limits, batch ? { index } : undefined)) };
}

function parseItem(
  body: Buffer,
  { start, end }: Span,
  limits: PublishLimits,
  details: { index: number } | undefined,
): PublishItem | PosthornError {
  const reject = (field: string | undefined, message: string, code: RuleFault["code"] = "invalid_field") =>
    new PosthornError(code, message, { field, details });

  if (body[start] !== OPEN_BRACE)
    return reject(undefined, "An event must be a JSON object with event_type and payload.");
  const draft = createDraft();
  const unknown = new Map<string, Span>();
  for (const [name, span] of memberSpans(body, start, end)) {
    const rule = RULE_OF_FIELD.get(name);
    if (rule === undefined && limits.keepsUnknown === true) {
      unknown.set(name, span);
      continue;
    }
    if (rule === undefined) {
      const field = name.slice(0, 60);
      return reject(field, `${JSON.stringify(field)} is not a field of an event. Use ${PUBLISH_FIELDS.join(", ")}.`);
    }
    const fault = rule(draft, body, span, limits);
    if (fault !== undefined) return reject(name, `${name} ${fault.message}`, fault.code);
  }
  const { eventType, payload } = draft;
  if (eventType === undefined)
    return reject("event_type", "event_type is missing. Name what happened, such as order.created.");
  if (payload === undefined) return reject("payload", "payload is missing. Send a JSON object.");
  return { ...draft, eventType, payload, metadata: addUnknown(draft.metadata, body, unknown) };
}

/** What the metadata says itself counts more than a field of the same name. */
function addUnknown(
  metadata: string | undefined,
  body: Buffer,
  unknown: ReadonlyMap<string, Span>,
): string | undefined {
  if (unknown.size === 0) return metadata;
  const known = Buffer.from(metadata ?? "{}");
  const names = memberSpans(known, 0, known.length);
  const added = [...unknown].filter(([name]) => !names.has(name));
  const members = added.map(([name, { start, end }]) => `${JSON.stringify(name)}:${body.toString("utf8", start, end)}`);
  if (members.length === 0) return metadata;
  const before = known.toString("utf8").trimEnd().slice(0, -1).trimEnd();
  return `${before}${names.size === 0 ? "" : ","}${members.join(",")}}`;
}

function createDraft() {
  return {
    eventType: undefined as string | undefined,
    /** The bytes of the payload exactly as in the request; they share its memory. */
    payload: undefined as Buffer | undefined,
    eventId: undefined as string | undefined,
    eventVersion: PUBLISH_DEFAULTS.event_version as string,
    source: PUBLISH_DEFAULTS.source as string,
    sourceId: undefined as string | undefined,
    tenantId: undefined as string | undefined,
    userId: undefined as string | undefined,
    sessionId: undefined as string | undefined,
    /** Unix milliseconds, like the two below. */
    timestamp: undefined as number | undefined,
    priority: PUBLISH_DEFAULTS.priority as Priority,
    orderingKey: undefined as string | undefined,
    deliverAt: undefined as number | undefined,
    expiresAt: undefined as number | undefined,
    /** JSON text of an object, exactly as in the request. */
    metadata: undefined as string | undefined,
  };
}

type PublishDraft = ReturnType<typeof createDraft>;

/** One event as its producer published it. */
export type PublishItem = Omit<PublishDraft, "eventType" | "payload"> & { eventType: string; payload: Buffer };

interface RuleFault {
  code: "invalid_field" | "too_large";
  /** The rest of the sentence after the field's name. */
  message: string;
}

/**
 * Checks one field, whose value is at a span of the body, and reads it into the draft. Written by hand, because fields
 * are read from the request's text without parsing all of it. A test keeps these rules and the schema in line.
 */
type Rule = (draft: PublishDraft, body: Buffer, span: Span, limits: PublishLimits) => RuleFault | undefined;

type TextKey = "eventType" | "eventVersion" | "source" | OptionalTextKey;
type OptionalTextKey = "eventId" | "sourceId" | "tenantId" | "userId" | "sessionId" | "orderingKey";

const RULES: Readonly<Record<keyof PublishInput, Rule>> = {
  event_type: text("eventType", TEXT_RULES.event_type),
  payload: (draft, body, span, limits) => {
    const fault = checkObject(body, span, limits.maxPayloadBytes);
    if (fault === undefined) draft.payload = body.subarray(span.start, span.end);
    return fault;
  },
  event_id: optional(text("eventId", TEXT_RULES.event_id)),
  event_version: optional(text("eventVersion", TEXT_RULES.event_version)),
  source: optional(text("source", TEXT_RULES.source)),
  source_id: optional(text("sourceId", TEXT_RULES.source_id)),
  tenant_id: optional(textOrInteger("tenantId", TEXT_RULES.tenant_id)),
  user_id: optional(textOrInteger("userId", TEXT_RULES.user_id)),
  session_id: optional(text("sessionId", TEXT_RULES.session_id)),
  timestamp: optional(timeOrSeconds("timestamp")),
  // The gateway records the time of publication itself; the producer's value is only checked.
  published_at: optional((_draft, body, span) => {
    return findTime(findString(body, span) ?? "") === undefined ? notTime(body, span, "") : undefined;
  }),
  priority: optional((draft, body, span) => {
    const text = findString(body, span);
    const priority = PRIORITIES.find((known) => known === text);
    if (priority === undefined) return invalid(`must be one of ${PRIORITIES.join(", ")}, not ${shown(body, span)}.`);
    draft.priority = priority;
    return undefined;
  }),
  ordering_key: optional(text("orderingKey", TEXT_RULES.ordering_key)),
  deliver_at: optional(time("deliverAt")),
  expires_at: optional(time("expiresAt")),
  metadata: optional((draft, body, span, limits) => {
    const fault = checkObject(body, span, limits.maxPayloadBytes);
    if (fault === undefined) draft.metadata = body.toString("utf8", span.start, span.end);
    return fault;
  }),
};

const RULE_OF_FIELD: ReadonlyMap<string, Rule> = new Map(Object.entries(RULES));

export const PUBLISH_FIELDS: readonly string[] = Object.keys(RULES);

/** Null means that a field is not given; `null` is the only JSON value that begins with an n. */
function optional(rule: Rule): Rule {
  return (draft, body, span, limits) => (body[span.start] === 0x6e ? undefined : rule(draft, body, span, limits));
}

function text(key: TextKey, rule: TextRule): Rule {
  const check = createTextCheck(rule);
  return (draft, body, span) => {
    const value = findString(body, span);
    if (value === undefined) return invalid(`must be a string, not ${shown(body, span)}.`);
    const fault = check(value);
    if (fault === undefined) draft[key] = value;
    return fault;
  };
}

function textOrInteger(key: OptionalTextKey, rule: TextRule): Rule {
  const readText = text(key, rule);
  return (draft, body, span, limits) => {
    if (body[span.start] === QUOTE) return readText(draft, body, span, limits);
    const digits = body.toString("latin1", span.start, span.end);
    if (!/^-?[0-9]+$/.test(digits)) return invalid(`must be a string or an integer, not ${shown(body, span)}.`);
    if (digits.length > rule.maxLength) return invalid(`must have at most ${rule.maxLength} digits.`);
    draft[key] = digits;
    return undefined;
  };
}

/** Times at which something is to happen need an offset: an error of an hour could not be corrected later. */
function time(key: "deliverAt" | "expiresAt"): Rule {
  return (draft, body, span) => {
    const at = findRfc3339(findString(body, span) ?? "");
    if (at === undefined) return notTime(body, span, " with its offset");
    draft[key] = at;
    return undefined;
  };
}

function timeOrSeconds(key: "timestamp"): Rule {
  return (draft, body, span) => {
    if (body[span.start] === QUOTE) {
      const at = findTime(readString(body, span.start, span.end));
      if (at === undefined) return notTime(body, span, "");
      draft[key] = at;
      return undefined;
    }
    const digits = body.toString("latin1", span.start, span.end);
    if (!/^[0-9]{1,12}$/.test(digits) || Number(digits) > MAX_UNIX_SECONDS) {
      return invalid(`must be an RFC 3339 time or whole Unix seconds, not ${shown(body, span)}.`);
    }
    draft[key] = Number(digits) * 1000;
    return undefined;
  };
}

function notTime(body: Buffer, span: Span, how: string): RuleFault {
  return invalid(`must be an RFC 3339 time${how}, such as 2026-01-31T12:00:00Z, not ${shown(body, span)}.`);
}

function createTextCheck({ minLength, maxLength, pattern }: TextRule): (value: string) => RuleFault | undefined {
  const shape = new RegExp(pattern, "u");
  return (value) => {
    if (value.length < minLength || (value.length > maxLength && hasMoreCharacters(value, maxLength))) {
      return invalid(`must have ${minLength} to ${maxLength} characters.`);
    }
    if (shape.test(value)) return undefined;
    return pattern === PLAIN_TEXT_PATTERN
      ? invalid(
          `must not contain control characters or half of a surrogate pair; it is ${JSON.stringify(value.slice(0, 60))}.`,
        )
      : invalid(`must match ${pattern}; it is ${JSON.stringify(value.slice(0, 60))}.`);
  };
}

/** Counts like JSON Schema: a pair of surrogates is one character. */
function hasMoreCharacters(value: string, max: number): boolean {
  if (value.length > 2 * max) return true;
  let count = 0;
  for (const _ of value) count++;
  return count > max;
}

function checkObject(body: Buffer, span: Span, maxBytes: number): RuleFault | undefined {
  if (body[span.start] !== OPEN_BRACE) return invalid(`must be a JSON object, not ${shown(body, span)}.`);
  const byteLength = span.end - span.start;
  if (byteLength <= maxBytes) return undefined;
  return {
    code: "too_large",
    message: `has ${byteLength} bytes; at most ${maxBytes} are accepted. Send a reference to the data instead.`,
  };
}

function findString(body: Buffer, { start, end }: Span): string | undefined {
  return body[start] === QUOTE ? readString(body, start, end) : undefined;
}

function invalid(message: string): RuleFault {
  return { code: "invalid_field", message };
}

function shown(body: Buffer, { start, end }: Span): string {
  return end - start > 60 ? `${body.toString("utf8", start, start + 60)}…` : body.toString("utf8", start, end);
}
