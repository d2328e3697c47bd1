import { isUtf8 } from "node:buffer";
import type { EventContent } from "../../../domain/event.ts";
import type { HttpDestination } from "./settings.ts";

/** The body that a destination receives. Raw bytes are handed on as they are; an envelope is put around them. */
export interface Payload {
  body: Uint8Array;
  contentType: string;
}

const JSON_TYPE = "application/json";
const CLOUDEVENTS_TYPE = "application/cloudevents+json; charset=UTF-8";
const UNKNOWN_TYPE = "application/octet-stream";
const BRACE = 0x7d;
const NULL_DATA = Buffer.from("null", "latin1");
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** What is the same in all deliveries of one event, made once: an event can have a thousand. */
interface Envelope {
  /** From the second member up to the data. */
  head: string;
  data: Uint8Array;
}

const envelopes = new WeakMap<EventContent, Envelope>();
const cloudEvents = new WeakMap<EventContent, Uint8Array>();

export function buildPayload(deliveryId: string, event: EventContent, format: HttpDestination["format"]): Payload {
  const isRaw = format === "raw" || (format === "auto" && event.origin === "webhook");
  if (isRaw) return { body: event.body, contentType: event.contentType ?? UNKNOWN_TYPE };
  if (format === "cloudevents") {
    return { body: made(cloudEvents, event, buildCloudEvent), contentType: CLOUDEVENTS_TYPE };
  }
  const { head, data } = made(envelopes, event, buildEnvelope);
  return { body: wrap(`{"webhook_id":${JSON.stringify(deliveryId)},${head}`, data), contentType: JSON_TYPE };
}

function made<Part>(
  known: WeakMap<EventContent, Part>,
  event: EventContent,
  make: (event: EventContent) => Part,
): Part {
  let part = known.get(event);
  if (part === undefined) known.set(event, (part = make(event)));
  return part;
}

/** A JSON object that ends with the data. */
function wrap(start: string, data: Uint8Array): Uint8Array {
  const startBytes = Buffer.byteLength(start);
  const body = Buffer.allocUnsafe(startBytes + data.length + 1);
  body.write(start, "utf8");
  body.set(data, startBytes);
  body[body.length - 1] = BRACE;
  return body;
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

/** CloudEvents 1.0 in the structured mode of its JSON format; all deliveries of an event are the same bytes. */
function buildCloudEvent(event: EventContent): Uint8Array {
  const { name, data } = buildData(event);
  const facts = [
    '"specversion":"1.0"',
    `"id":${JSON.stringify(event.id)}`,
    // A URI-reference that is not empty.
    `"source":${JSON.stringify(encodeURI(event.source))}`,
    `"type":${JSON.stringify(event.type)}`,
    `"time":"${new Date(event.occurredAt).toISOString()}"`,
    ...(event.contentType === undefined ? [] : [`"datacontenttype":${JSON.stringify(event.contentType)}`]),
    `"${name}":`,
  ];
  return wrap(`{${facts.join(",")}`, data);
}

/** JSON goes in as the bytes it came in, so that numbers beyond 2^53 and the order of members survive. */
function buildData(event: EventContent): { name: string; data: Uint8Array } {
  const body = Buffer.from(event.body.buffer, event.body.byteOffset, event.body.byteLength);
  if (body.length === 0) return { name: "data", data: NULL_DATA };
  if (event.origin === "publish") return { name: "data", data: body };
  if (!isUtf8(body) || body.includes(0)) {
    return { name: "data_base64", data: Buffer.from(`"${body.toString("base64")}"`, "latin1") };
  }
  const json = body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? body.subarray(3) : body;
  const isJson = /^[^;]*json/i.test(event.contentType ?? "json") && isWellFormed(json);
  return { name: "data", data: isJson ? json : Buffer.from(JSON.stringify(body.toString("utf8")), "utf8") };
}

/** One body that is not JSON after all would make the whole envelope unreadable. */
function isWellFormed(text: Buffer): boolean {
  try {
    JSON.parse(text.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}
