import type { EventContent } from "../../model/event.ts";
import { buildData, cloudEventOf, CLOUDEVENTS_TYPE, wrapData } from "../event-data.ts";
import type { HttpDestination } from "./settings.ts";

/** The body that a destination receives: the raw bytes unchanged, or an envelope around them. */
export interface Payload {
  body: Uint8Array;
  contentType: string;
}

const JSON_TYPE = "application/json";
const UNKNOWN_TYPE = "application/octet-stream";

/** The part that is the same in all deliveries of an event, created once: an event can have a thousand deliveries. */
interface Envelope {
  /** JSON from the second member up to the data. */
  head: string;
  data: Uint8Array;
}

const envelopes = new WeakMap<EventContent, Envelope>();

export function buildPayload(deliveryId: string, event: EventContent, format: HttpDestination["format"]): Payload {
  const isRaw = format === "raw" || (format === "auto" && event.origin === "webhook");
  if (isRaw) return { body: event.body, contentType: event.contentType ?? UNKNOWN_TYPE };
  if (format === "cloudevents") {
    return { body: cloudEventOf(event), contentType: CLOUDEVENTS_TYPE };
  }
  const { head, data } = envelopeOf(event);
  return { body: wrapData(`{"webhook_id":${JSON.stringify(deliveryId)},${head}`, data), contentType: JSON_TYPE };
}

function envelopeOf(event: EventContent): Envelope {
  let envelope = envelopes.get(event);
  if (envelope === undefined) envelopes.set(event, (envelope = buildEnvelope(event)));
  return envelope;
}

function buildEnvelope(event: EventContent): Envelope {
  const { name, data } = buildData(event);
  const facts = [
    `"event":${JSON.stringify(event.type)}`,
    `"event_id":${JSON.stringify(event.id)}`,
    `"timestamp":"${new Date(event.occurredAt).toISOString()}"`,
    `"${name}":`,
  ];
  return { head: facts.join(","), data };
}
