import { writeBusEvent } from "../../../brokers/event-message.ts";
import { writeMessage, type EventMessage } from "../../../brokers/message.ts";
import { readKeptRequest } from "../../../domain/kept-request.ts";
import type { TraceParts } from "../../../domain/trace-context.ts";
import { CLOUDEVENTS_TYPE, cloudEventOf } from "../event-data.ts";
import type { Attempt } from "../sender.ts";
import type { EventDetails } from "../event-details.ts";
import type { ChooseHeaders } from "./message-headers.ts";
import type { QueueFormat } from "./settings.ts";

/** What a message holds of an event, by the format of its destination. */
export interface WrittenEvent {
  body: Uint8Array;
  contentType: string | undefined;
}

export interface WriteFacts {
  details: EventDetails;
  /** Which event it is, for whoever takes the message. */
  eventId: string;
  /** Gateways that it has passed, this one included. */
  hops: number;
  /** The id of this store. */
  origin: string;
  /** Unix ms. */
  publishedAt: number;
  chooseHeaders: ChooseHeaders;
  /** That this attempt is a span of. */
  trace: TraceParts;
}

const JSON_TYPE = "application/json";
/** As they are taken in again. */
const METHOD = /^[A-Z]{1,20}$/;
const MAX_PATH = 8192;
const MAX_TYPE = 255;

/** Undefined when the event has no place in that format. */
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

/** The same with another content: what is too large for the message lies elsewhere. */
export function toMessage(attempt: Attempt, facts: WriteFacts, content: EventMessage["content"]): EventMessage {
  const { event, generation, request } = attempt;
  const { details, eventId } = facts;
  const kept = request === undefined ? undefined : readKeptRequest(request);
  const { headers, sealedHeaders } = kept === undefined ? {} : facts.chooseHeaders(kept, attempt, eventId);
  const { method = "", path = "", query = "", remote_address: address = "" } = kept ?? {};
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
    remoteAddress: address === "" ? undefined : address,
    traceparent: facts.trace.traceparent,
    method: METHOD.test(method) ? method : undefined,
    path: path === "" || path.length > MAX_PATH ? undefined : path,
    query: query === "" || query.length > MAX_PATH ? undefined : query,
    headers,
    sealedHeaders,
    contentType: findContentType(event.contentType),
    metadata: details.metadata,
    content,
  };
}

function findContentType(text: string | undefined): string | undefined {
  return text === undefined || text === "" || text.length > MAX_TYPE ? undefined : text;
}
