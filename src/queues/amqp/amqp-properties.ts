import { createHash } from "node:crypto";
import type { MessageProperties, Options } from "amqplib";
import { DEFAULT_TENANT } from "../../model/event.ts";
import type { MessageProperty, OutgoingMessage } from "../broker.ts";

/** AMQP 0-9-1 writes these properties with their length in one byte. Headers may be longer. */
const MAX_BYTES = 255;
const MAX_EXPIRATION_MS = 4_294_967_295;

export type AmqpProperties = Pick<
  Options.Publish,
  "messageId" | "contentType" | "correlationId" | "timestamp" | "expiration" | "headers"
>;

/** What can be written of a message. Nothing that a sender sends may be an error of the connection. */
export function toAmqpProperties(message: OutgoingMessage): AmqpProperties {
  const { contentType, correlationId, timestamp, expiresInMs } = message;
  return {
    messageId: fitIdentity(message.id),
    headers: toHeaders(message.properties),
    // AMQP counts seconds since 1970, and has no number for a time before.
    ...(timestamp >= 0 && { timestamp: Math.floor(timestamp / 1000) }),
    // A longer time than RabbitMQ accepts closes its channel.
    ...(expiresInMs !== undefined && expiresInMs <= MAX_EXPIRATION_MS && { expiration: String(expiresInMs) }),
    // A shortened one would name another type.
    ...(contentType !== undefined && fits(contentType) && { contentType }),
    ...(correlationId !== undefined && { correlationId: fitIdentity(correlationId) }),
  };
}

/** On a bus, the ids of tenants are integers, and an event of no tenant in particular has none. */
function toHeaders({ tenant_id: tenantId, ...rest }: OutgoingMessage["properties"]): Record<string, unknown> {
  if (typeof tenantId !== "string") return rest;
  const isInteger = /^(?:0|[1-9]\d{0,14})$/.test(tenantId);
  return { ...rest, tenant_id: tenantId === DEFAULT_TENANT ? null : isInteger ? Number(tenantId) : tenantId };
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_BYTES;
}

/** The same text always becomes the same hash, so that it still tells messages apart. */
function fitIdentity(text: string): string {
  return fits(text) ? text : `sha256_${createHash("sha256").update(text, "utf8").digest("base64url")}`;
}

/** The properties of a received message, for a copy. RabbitMQ rejects a `user_id` that is not the publisher's. */
export function givenOf(properties: MessageProperties): Options.Publish {
  const given = Object.entries(properties).filter(([name, value]) => name !== "userId" && value !== undefined);
  return Object.fromEntries(given);
}

/** RabbitMQ would send the copy to each key of `CC` once more; it counts the deliveries of each queue anew. */
const NOT_COPIED = ["CC", "BCC", "x-delivery-count"];

export function headersOf({ headers = {} }: MessageProperties): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NOT_COPIED.includes(name)));
}

export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Tables and lists (such as `x-death`) are RabbitMQ's own and not properties of the message. */
export function readScalars(headers: Readonly<Record<string, unknown>>): Record<string, MessageProperty> {
  const isScalar = (value: unknown) => ["string", "number", "boolean"].includes(typeof value);
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => isScalar(value))) as Record<
    string,
    MessageProperty
  >;
}
