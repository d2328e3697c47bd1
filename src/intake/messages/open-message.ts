import { describeExchange } from "../../model/connection.ts";
import { PosthornError } from "../../model/errors.ts";
import { type EventOrigin, type Priority, readHops } from "../../model/event.ts";
import { isFieldName, isFieldValue } from "../../model/headers.ts";
import { readTrace } from "../../model/trace-context.ts";
import type { Source } from "../../model/source.ts";
import type { TakenMessage } from "../../queues/broker.ts";
import { type Claim, parseMessage } from "../../queues/message.ts";
import { createHeaderSeal } from "../../queues/sealed-headers.ts";
import type { PullSettings } from "../../sources/pull-options.ts";
import { DEFAULT_PUBLISH_LIMITS, parsePublishBody, type PublishItem } from "../publish/publish-body.ts";
import { describeItem, quote } from "../publish/publish.ts";
import { toMessageEventId } from "../to-events.ts";

/** Names in lower case. */
type Headers = Readonly<Record<string, string>>;

/** Facts about the event that a message contains in addition to the event's bytes. */
export interface AdoptedEvent {
  type: string;
  version: string;
  source: string;
  /** Undefined: the source's value. */
  tenantId: string | undefined;
  priority: Priority;
  orderingKey: string | undefined;
  origin: EventOrigin;
  /** Unix ms, like the two below. */
  occurredAt: number | undefined;
  deliverAt: number | undefined;
  expiresAt: number | undefined;
  contentType: string | undefined;
  /** Already checked where it came in first: neither its bytes nor its schema are checked again. */
  isChecked: boolean;
}

/** Facts about a message beyond the request that it becomes. */
export interface MessageFacts {
  /** The event's id, the same whenever the message comes; undefined if there is none, so that it may come twice. */
  eventId: string | undefined;
  /** The JSON that is kept with the event. */
  details: string | undefined;
  /** 1, and one more with each replay by its sender. */
  generation: number;
  /** Whether the message stays in its queue until the event's deliveries have ended. */
  isHeld: boolean;
  adopted: AdoptedEvent | undefined;
}

/** The content of a message, and where it comes from. */
export interface OpenedMessage {
  body: Buffer;
  headers: Headers;
  method: string;
  /** Undefined: the source's value. */
  path: string | undefined;
  query: string;
  remoteAddress: string;
  /** Where the body is stored, if it is not in the message. */
  claim: Claim | undefined;
  /** The message has credentials that this source has no key for: they are ignored. */
  hasSealed: boolean;
  /** The id of the store of the gateway that sent it, if one did. */
  origin: string | undefined;
  hops: number;
  facts: MessageFacts;
}

/** `afterMs`: a message that asks to wait is parked when that is over. */
type Opened = OpenedMessage | { park: ParkReason; afterMs?: number };

export interface ParkReason {
  /** A code of `model/errors.ts`, or `dead` or `max_deliveries`. */
  readonly code: string;
  readonly description: string;
}

export function toParkReason({ code, message }: PosthornError): ParkReason {
  return { code, description: message };
}

interface OpenOptions {
  source: Source;
  settings: PullSettings;
  /** The queue that the message comes from, in the words of `model/connection.ts`, if it is one of a broker. */
  queuePlace: string | undefined;
  /** The message's properties as headers. */
  headers: Headers;
  /** Of JSON. */
  maxDepth: number;
  /** Wall clock, milliseconds. */
  receivedAt: number;
  /** Of this gateway. */
  storeId: string;
}

/** Reads a message in the format that its source says. Never throws. */
export function openMessage(message: TakenMessage, options: OpenOptions): Opened {
  const sentBy = readSentBy(options.headers);
  switch (options.settings.body) {
    case "raw":
      return openRaw(message, sentBy, options);
    case "message":
      return openWhole(message, options);
    case "event":
      return openEvent(message, sentBy, options);
  }
}

/** Messages are larger than their content: base64, and the syntax of JSON. */
export function maxMessageBytes({ maxBytes }: Source, { body }: PullSettings): number {
  return body === "raw" ? maxBytes : maxBytes * 2 + 65_536;
}

function openRaw(message: TakenMessage, sentBy: SentBy, options: OpenOptions): Opened {
  const { source, headers } = options;
  const { body } = message;
  const id = sentBy.eventId ?? message.id;
  const eventId = id === undefined ? undefined : toMessageEventId(source.name, id);
  const facts = toFacts(message, options, {
    ...sentBy,
    eventId,
    originId: sentBy.eventId,
    more: [],
    adopted: undefined,
  });
  return { ...asRequest(), body, headers, origin: sentBy.origin, hops: sentBy.hops, facts };
}

/** `format: message` of another gateway, or of this one. */
function openWhole(message: TakenMessage, options: OpenOptions): Opened {
  const { source, settings, maxDepth } = options;
  const parsed = parseMessage(message.body, { maxBytes: maxMessageBytes(source, settings), maxDepth });
  if ("reason" in parsed) return { park: { code: parsed.reason, description: parsed.description } };
  const event = parsed.message;
  const secret = openHeaders(event.sealedHeaders, event.eventId, settings.messageKey);
  if (secret === undefined) {
    const description = "The credentials were encrypted with another message_key than the source has, or were changed.";
    return { park: { code: "sealed_otherwise", description } };
  }
  const facts = toFacts(message, options, {
    eventId: toMessageEventId(source.name, event.eventId),
    originId: event.eventId,
    origin: event.origin,
    generation: event.generation,
    hops: event.hops,
    traceparent: event.traceparent,
    more: describeItem(event),
    adopted: {
      type: event.eventType,
      version: event.eventVersion,
      source: event.source,
      // Anybody who can write into the queue must not choose the tenant of events.
      tenantId: undefined,
      priority: event.priority,
      orderingKey: event.orderingKey,
      origin: event.method === undefined ? "publish" : "webhook",
      occurredAt: event.occurredAt,
      deliverAt: event.deliverAt,
      expiresAt: event.expiresAt,
      contentType: event.contentType,
      isChecked: true,
    },
  });
  const { headers = {}, traceparent, contentType, content } = event;
  return {
    body: "body" in content ? Buffer.from(content.body) : Buffer.alloc(0),
    headers: {
      ...(contentType !== undefined && { "content-type": contentType }),
      ...(traceparent !== undefined && { traceparent }),
      ...lowerCase(headers),
      ...lowerCase(secret),
    },
    method: event.method ?? "POST",
    path: event.path,
    query: event.query ?? "",
    remoteAddress: event.remoteAddress ?? "",
    claim: "claim" in content ? content.claim : undefined,
    hasSealed: event.sealedHeaders !== undefined && settings.messageKey === undefined,
    origin: event.origin,
    hops: event.hops,
    facts,
  };
}

/** An event of a bus, read like a published event. */
function openEvent(message: TakenMessage, sentBy: SentBy, options: OpenOptions): Opened {
  const { source, settings, receivedAt, storeId } = options;
  const item = readItem(message.body, options);
  if (item instanceof PosthornError) return findRetry(message, options.headers) ?? { park: toParkReason(item) };
  const deliverAt = item.deliverAt ?? readDelay(options.headers, receivedAt);
  // An event that this gateway has sent is known here by its id: what comes back is a new event that names it.
  const originId = sentBy.origin === storeId ? (sentBy.eventId ?? item.eventId) : undefined;
  const otherId = originId ?? message.id;
  const ownId = otherId === undefined ? undefined : toMessageEventId(source.name, otherId);
  const eventId = originId === undefined ? (item.eventId ?? ownId) : ownId;
  const facts = toFacts(message, options, {
    ...sentBy,
    eventId,
    originId,
    more: describeItem({ ...item, deliverAt }),
    adopted: {
      type: item.eventType,
      version: item.eventVersion,
      source: item.source,
      tenantId: settings.trustsTenant ? item.tenantId : undefined,
      priority: item.priority,
      orderingKey: item.orderingKey,
      origin: "publish",
      occurredAt: item.timestamp,
      deliverAt,
      expiresAt: item.expiresAt,
      contentType: "application/json",
      isChecked: false,
    },
  });
  const headers = { ...options.headers, "content-type": "application/json" };
  return { ...asRequest(), body: item.payload, headers, origin: sentBy.origin, hops: sentBy.hops, facts };
}

/** Not an event: what a program that retries its own deliveries by the delayed exchange publishes there. */
function findRetry({ body }: TakenMessage, headers: Headers): { park: ParkReason; afterMs: number } | undefined {
  const { delivery_id: id, attempt } = readMembers(body);
  if (typeof id !== "string" || typeof attempt !== "number") return undefined;
  const description =
    `The message asks for attempt ${attempt} of the delivery ${JSON.stringify(id.slice(0, 128))}. It is no event, and the ` +
    "gateway retries its own deliveries by itself: turn the other program's retries off, or bind a queue of its own.";
  return { park: { code: "foreign_retry", description }, afterMs: Math.min(MAX_PARK_DELAY_MS, readDelayMs(headers)) };
}

/** A message takes a place of its source while it waits. */
const MAX_PARK_DELAY_MS = 600_000;

function readMembers(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(body.toString("utf8"))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function readItem(body: Buffer, { source, settings, maxDepth }: OpenOptions): PublishItem | PosthornError {
  try {
    const limits = {
      ...DEFAULT_PUBLISH_LIMITS,
      maxPayloadBytes: source.maxBytes,
      maxDepth,
      keepsUnknown: settings.keepsUnknown,
    };
    const { batch, items } = parsePublishBody(body, limits);
    const [item] = items;
    if (!batch && item !== undefined) return item;
    return new PosthornError("invalid_field", "A message must contain one event as a JSON object, not a list.");
  } catch (error) {
    if (error instanceof PosthornError) return error;
    return new PosthornError("unreadable_body", "The message could not be read.", { cause: error });
  }
}

/** The delay for RabbitMQ's delayed exchange; a negative value means that the message already waited there. */
function readDelay(headers: Headers, receivedAt: number): number | undefined {
  const delayMs = readDelayMs(headers);
  return delayMs === 0 ? undefined : receivedAt + delayMs;
}

function readDelayMs({ "x-delay": text = "" }: Headers): number {
  return /^\d{1,12}$/.test(text) ? Number(text) : 0;
}

interface FoundFacts extends SentBy {
  /** The id of the event at the gateway where it came in first. */
  originId: string | undefined;
  /** For messages that carry it themselves instead of in properties. */
  traceparent?: string | undefined;
  /** More members to keep with the event: names and JSON. */
  more: readonly (readonly [name: string, json: string | undefined])[];
  adopted: MessageFacts["adopted"];
}

function toFacts({ exchange }: TakenMessage, options: OpenOptions, found: FoundFacts): MessageFacts {
  const { settings, queuePlace, headers } = options;
  const exchangePlace = exchange === undefined ? undefined : describeExchange(settings.connection, exchange);
  const pulledFrom = [queuePlace, exchangePlace].filter((place) => place !== undefined);
  const { eventId, generation, adopted } = found;
  const members = [
    // First, so that they are found without reading the rest.
    ["hops", found.hops === 0 ? undefined : String(found.hops)],
    ["origin_event_id", quote(found.originId)],
    [
      "trace",
      quote(readTrace(found.traceparent === undefined ? headers : { ...headers, traceparent: found.traceparent })),
    ],
    ["origin", quote(found.origin)],
    ["generation", generation === 1 ? undefined : String(generation)],
    ["pulled_from", pulledFrom.length === 0 ? undefined : JSON.stringify(pulledFrom)],
    ...found.more,
  ].flatMap(([name, json]) => (json === undefined ? [] : [`"${name}":${json}`]));
  return {
    eventId,
    details: members.length === 0 ? undefined : `{${members.join(",")}}`,
    generation,
    isHeld: settings.isUntilDelivered && eventId !== undefined,
    adopted,
  };
}

/** Undefined when they cannot be decrypted; without a key they are left out. */
function openHeaders(
  sealed: string | undefined,
  eventId: string,
  key: string | undefined,
): Readonly<Record<string, string>> | undefined {
  if (sealed === undefined || key === undefined) return {};
  return createHeaderSeal(key).open(sealed, eventId);
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** For messages without a request. */
function asRequest() {
  return { method: "POST", path: undefined, query: "", remoteAddress: "", claim: undefined, hasSealed: false };
}

/** Limits for hostile messages: further headers are left out. */
const MAX_PROPERTIES = 200;
const MAX_PROPERTY_LENGTH = 16_384;

/** The message's properties and the broker's own facts as headers, if they can be written as headers. */
export function toHeaders({ properties, contentType, subject, sessionId }: TakenMessage): Headers {
  const own = { "content-type": contentType, subject, "session-id": sessionId };
  const entries = [...Object.entries(properties).slice(0, MAX_PROPERTIES), ...Object.entries(own)];
  const headers = entries.flatMap(([name, value]): [string, string][] => {
    const text = value === undefined ? "" : String(value);
    const isSayable = text !== "" && text.length <= MAX_PROPERTY_LENGTH && isFieldName(name) && isFieldValue(text);
    return isSayable ? [[name.toLowerCase(), text]] : [];
  });
  return Object.fromEntries(headers);
}

/** The properties that a gateway adds to a message, if the broker has properties. */
interface SentBy {
  /** The id of its store. */
  origin: string | undefined;
  /** The id of the event at that gateway. */
  eventId: string | undefined;
  generation: number;
  hops: number;
}

const STORE_ID = /^str_[0-9a-f]{32}$/;
const EVENT_ID = /^[A-Za-z0-9_:-]{1,128}$/;
const MAX_GENERATION = 1_000_000;
const MAX_HOPS = 1000;

/** Without the id of a store they come from another program and mean something else. */
export function readSentBy(headers: Headers): SentBy {
  const { origin = "", event_id: eventId = "" } = headers;
  const hops = readHops(headers);
  if (!STORE_ID.test(origin)) return { origin: undefined, eventId: undefined, generation: 1, hops };
  return {
    origin,
    eventId: EVENT_ID.test(eventId) ? eventId : undefined,
    generation: readCount(headers["generation"], MAX_GENERATION) ?? 1,
    hops: Math.max(hops, readCount(headers["hops"], MAX_HOPS) ?? 0),
  };
}

function readCount(text: string | undefined, max: number): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Math.min(max, Math.max(1, Number(text))) : undefined;
}
