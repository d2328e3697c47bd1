import { isUtf8 } from "node:buffer";
import type { EventContent } from "../model/event.ts";

/** An event's bytes as a part of JSON, for formats that several kinds of destinations share. */

export const CLOUDEVENTS_TYPE = "application/cloudevents+json; charset=UTF-8";
const BRACE = 0x7d;
const NULL_DATA = Buffer.from("null", "latin1");
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const cloudEvents = new WeakMap<EventContent, Uint8Array>();

/** Created once, however many deliveries an event has. */
export function cloudEventOf(event: EventContent): Uint8Array {
  let made = cloudEvents.get(event);
  if (made === undefined) cloudEvents.set(event, (made = buildCloudEvent(event)));
  return made;
}

/** A JSON object whose last member is the data. */
export function wrapData(start: string, data: Uint8Array): Uint8Array {
  const startBytes = Buffer.byteLength(start);
  const body = Buffer.allocUnsafe(startBytes + data.length + 1);
  body.write(start, "utf8");
  body.set(data, startBytes);
  body[body.length - 1] = BRACE;
  return body;
}

/** CloudEvents 1.0 in the structured mode of its JSON format; all deliveries of an event are the same bytes. */
function buildCloudEvent(event: EventContent): Uint8Array {
  const { name, data } = buildData(event);
  const facts = [
    '"specversion":"1.0"',
    `"id":${JSON.stringify(event.id)}`,
    // Must be a URI reference that is not empty.
    `"source":${JSON.stringify(encodeURI(event.source))}`,
    `"type":${JSON.stringify(event.type)}`,
    `"time":"${new Date(event.occurredAt).toISOString()}"`,
    ...(event.contentType === undefined ? [] : [`"datacontenttype":${JSON.stringify(event.contentType)}`]),
    `"${name}":`,
  ];
  return wrapData(`{${facts.join(",")}`, data);
}

/** JSON is inserted byte for byte, so that numbers beyond 2^53 and the order of members are kept. */
export function buildData(event: EventContent): { name: string; data: Uint8Array } {
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

/** A body that is not JSON after all would make the whole envelope unreadable. */
function isWellFormed(text: Buffer): boolean {
  try {
    JSON.parse(text.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}
