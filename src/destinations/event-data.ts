import { isUtf8 } from "node:buffer";
import type { EventContent } from "../model/event.ts";
import { findMember } from "../model/json.ts";
import { parseJson, viewOf } from "./json.ts";
import { oncePer } from "./once-per.ts";

/** An event's bytes as a part of JSON, for formats that several kinds of destinations share. */

export const CLOUDEVENTS_TYPE = "application/cloudevents+json; charset=UTF-8";
const BRACE = 0x7d;
const NULL_DATA = Buffer.from("null", "latin1");
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

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
export const cloudEventOf = oncePer((event: EventContent): Uint8Array => {
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
});

/** JSON is inserted byte for byte, so that numbers beyond 2^53 and the order of members are kept. */
export function buildData(event: EventContent): { name: string; data: Uint8Array } {
  const body = viewOf(event.body);
  if (body.length === 0) return { name: "data", data: NULL_DATA };
  if (event.origin === "publish") return { name: "data", data: body };
  if (!isUtf8(body) || body.includes(0)) {
    return { name: "data_base64", data: Buffer.from(`"${body.toString("base64")}"`, "latin1") };
  }
  const json = body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? body.subarray(3) : body;
  // A body that is not JSON after all would make the whole envelope unreadable.
  const isJson = /^[^;]*json/i.test(event.contentType ?? "json") && parseJson(json) !== undefined;
  return { name: "data", data: isJson ? json : Buffer.from(JSON.stringify(body.toString("utf8")), "utf8") };
}

/** What the publisher of an event gave beyond what the engine needs. */
export interface EventDetails {
  /** The event's id at the gateway where it came in first, if that was another one. */
  originEventId?: string | undefined;
  sourceId?: string | undefined;
  userId?: string | undefined;
  sessionId?: string | undefined;
  /** Unix ms, as the publisher requested. */
  deliverAt?: number | undefined;
  expiresAt?: number | undefined;
  /** The original JSON text, so that numbers beyond 2^53 are kept. */
  metadata?: string | undefined;
}

const NONE: EventDetails = Object.freeze({});

export function readDetails(text: string | undefined): EventDetails {
  if (text === undefined) return NONE;
  const given = JSON.parse(text) as Record<string, unknown>;
  return {
    originEventId: textOf(given["origin_event_id"]),
    sourceId: textOf(given["source_id"]),
    userId: textOf(given["user_id"]),
    sessionId: textOf(given["session_id"]),
    deliverAt: numberOf(given["deliver_at"]),
    expiresAt: numberOf(given["expires_at"]),
    metadata: given["metadata"] === undefined ? undefined : cutOut(text, "metadata"),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function cutOut(text: string, name: string): string | undefined {
  const bytes = Buffer.from(text, "utf8");
  const span = findMember(bytes, 0, bytes.length, name);
  return span && bytes.toString("utf8", span.start, span.end);
}
