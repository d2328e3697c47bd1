import { writeBusEvent } from "../../queues/event-message.ts";
import { writeMessage, type EventMessage } from "../../queues/message.ts";
import { readKeptRequest, type KeptRequest } from "../../model/event.ts";
import type { TraceParts } from "../../model/trace-context.ts";
import { CLOUDEVENTS_TYPE, cloudEventOf, type EventDetails } from "../event-data.ts";
import type { Attempt, OpenCredentials } from "../sender.ts";
import type { QueueFormat, QueueDestination } from "./settings.ts";
import { createHeaderSeal } from "../../queues/sealed-headers.ts";
import { createHeaderChoice, createHeaderFilter, findValue } from "../forward.ts";

/** The content of a message for an event, in the format of its destination. */
export interface WrittenEvent {
  body: Uint8Array;
  contentType: string | undefined;
}

export interface WriteFacts {
  details: EventDetails;
  /** The event's id, for the receiver of the message. */
  eventId: string;
  /** How many gateways the event has passed, this one included. */
  hops: number;
  /** The id of this store. */
  origin: string;
  /** Unix ms. */
  publishedAt: number;
  chooseHeaders: ChooseHeaders;
  /** The trace that this attempt is a span of. */
  trace: TraceParts;
}

const JSON_TYPE = "application/json";
/** The same limits as for messages that are received. */
const METHOD = /^[A-Z]{1,20}$/;
const MAX_PATH = 8192;
const MAX_TYPE = 255;
const MAX_ADDRESS = 64;

/** Undefined when the format cannot represent the event. */
export function writeEvent(format: QueueFormat, attempt: Attempt, facts: WriteFacts): WrittenEvent | undefined {
  const { event } = attempt;
  switch (format) {
    case "raw":
      return { body: event.body, contentType: event.contentType };
    case "cloudevents":
      return { body: cloudEventOf(event), contentType: CLOUDEVENTS_TYPE };
    case "event": {
      const { details, publishedAt } = facts;
      const body = writeBusEvent({ event: { ...event, id: facts.eventId }, ...details, publishedAt });
      return body && { body, contentType: JSON_TYPE };
    }
    case "message":
      return { body: writeMessage(toMessage(attempt, facts, { body: event.body })), contentType: JSON_TYPE };
  }
}

/** The same with another content: a content that is too large for the message is stored elsewhere. */
export function toMessage(attempt: Attempt, facts: WriteFacts, content: EventMessage["content"]): EventMessage {
  const { event, generation, request } = attempt;
  const { details, eventId } = facts;
  const kept = request === undefined ? undefined : readKeptRequest(request);
  const { headers, sealedHeaders } = kept === undefined ? {} : facts.chooseHeaders(kept, attempt, eventId);
  const { method = "" } = kept ?? {};
  return {
    eventId,
    eventType: event.type,
    eventVersion: event.version,
    source: event.source,
    tenantId: event.tenantId,
    priority: event.priority,
    orderingKey: event.orderingKey,
    generation,
    origin: facts.origin,
    hops: facts.hops,
    occurredAt: event.occurredAt,
    receivedAt: event.receivedAt,
    deliverAt: details.deliverAt,
    expiresAt: details.expiresAt,
    userId: details.userId,
    sessionId: details.sessionId,
    remoteAddress: fit(kept?.remote_address, MAX_ADDRESS),
    traceparent: facts.trace.traceparent,
    method: METHOD.test(method) ? method : undefined,
    path: fit(kept?.path, MAX_PATH),
    query: fit(kept?.query, MAX_PATH),
    headers,
    sealedHeaders,
    contentType: fit(event.contentType, MAX_TYPE),
    metadata: details.metadata,
    content,
  };
}

/** A text that is empty or too long is left out. */
function fit(text: string | undefined, maxLength: number): string | undefined {
  return text === undefined || text === "" || text.length > maxLength ? undefined : text;
}

/** The headers of a request in a message: plain ones as they are, and named credentials encrypted. */
export interface MessageHeaders {
  headers: Record<string, string> | undefined;
  sealedHeaders: string | undefined;
}

/** The same limits as for messages that are received. */
const MAX_HEADERS = 200;
const MAX_LENGTH = 16_384;

export type ChooseHeaders = (kept: KeptRequest, attempt: Attempt, eventId: string) => MessageHeaders;

export function createHeaderChooser(
  { forwardHeaders, messageKey }: Pick<QueueDestination, "forwardHeaders" | "messageKey">,
  openCredentials: OpenCredentials,
): ChooseHeaders {
  const isChosen = createHeaderChoice(forwardHeaders);
  const seal = messageKey === undefined ? undefined : createHeaderSeal(messageKey);

  return ({ headers, sealed }, { event }, eventId) => {
    const isHandedOn = createHeaderFilter(headers, isChosen);
    const secret =
      seal === undefined || sealed === undefined ? undefined : choose(openCredentials(event, sealed), isHandedOn);
    return { headers: choose(headers, isHandedOn), sealedHeaders: secret && seal?.seal(secret, eventId) };
  };
}

function choose(
  headers: KeptRequest["headers"],
  isHandedOn: (name: string) => boolean,
): Record<string, string> | undefined {
  const chosen: [string, string][] = [];
  for (const name in headers) {
    const text = isHandedOn(name) ? findValue(name, headers[name]) : undefined;
    if (text !== undefined && text.length <= MAX_LENGTH) chosen.push([name, text]);
  }
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen.slice(0, MAX_HEADERS));
}
