import { writeBusEvent } from "../../queues/event-message.ts";
import { writeMessage, type EventMessage } from "../../queues/message.ts";
import { readKeptRequest } from "../../model/event.ts";
import type { TraceParts } from "../../model/trace-context.ts";
import { CLOUDEVENTS_TYPE, cloudEventOf } from "../event-data.ts";
import type { Attempt } from "../sender.ts";
import type { EventDetails } from "../event-details.ts";
import type { ChooseHeaders } from "./message-headers.ts";
import type { QueueFormat } from "./settings.ts";

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
