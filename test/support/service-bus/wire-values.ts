// How Service Bus writes what AMQP leaves open: lock tokens, sequence numbers, times, and its own annotations.
import rhea, { type Message } from "rhea";
import type { StoredMessage } from "./bus-queue.ts";

const TICKS_AT_UNIX_EPOCH = 621_355_968_000_000_000n;
const AMQP_LONG = 0x81;
const AMQP_TIMESTAMP = 0x83;

/** A lock token is a .NET GUID: management operations name it with its first groups turned round. */
export function toDeliveryTag(token: string): Buffer {
  const bytes = Buffer.from(token, "hex");
  return Buffer.from([...[3, 2, 1, 0, 5, 4, 7, 6].map((at) => bytes[at] ?? 0), ...bytes.subarray(8)]);
}

export function toLockToken(deliveryTag: Uint8Array): string {
  return toDeliveryTag(Buffer.from(deliveryTag).toString("hex")).toString("hex");
}

function writeLong(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

export function readLong(value: unknown): number {
  return Buffer.isBuffer(value) ? Number(value.readBigInt64BE()) : Number(value);
}

export function wrapLongs(values: readonly number[]): unknown {
  return rhea.types.wrap_array(values.map(writeLong), AMQP_LONG, undefined);
}

export function wrapTimes(values: readonly number[]): unknown {
  return rhea.types.wrap_array(values, AMQP_TIMESTAMP, undefined);
}

/** As .NET counts: 100 ns since the year 1. */
export function wrapTicks(unixMs: number): unknown {
  return rhea.types.wrap_long(writeLong(BigInt(Math.floor(unixMs)) * 10_000n + TICKS_AT_UNIX_EPOCH));
}

/** The message as a receiver gets it. */
export function toWire({ message, deliveryCount, enqueuedAt, sequence, lock }: StoredMessage): Message {
  const annotations: Record<string, unknown> = {
    ...message.message_annotations,
    "x-opt-enqueued-time": rhea.types.wrap_timestamp(enqueuedAt),
    "x-opt-sequence-number": rhea.types.wrap_long(sequence),
  };
  if (lock !== undefined) annotations["x-opt-locked-until"] = rhea.types.wrap_timestamp(lock.until);
  return { ...message, delivery_count: deliveryCount, message_annotations: annotations };
}

const BATCH_FORMAT = 0x80013700;

/** What a transfer holds: one message, or a batch of encoded ones, which rhea leaves as bytes. */
export function readTransfer(message: Message | Buffer, format: number): Message[] {
  if (format >>> 0 !== BATCH_FORMAT) return [Buffer.isBuffer(message) ? decode(message) : message];
  const body = (Buffer.isBuffer(message) ? decode(message) : message).body as { multiple?: boolean; content: unknown };
  const parts = (body.multiple === true ? body.content : [body.content]) as Buffer[];
  return parts.map(decode);
}

export function decode(bytes: Buffer): Message {
  return rhea.message.decode(bytes) as unknown as Message;
}

export function encode(message: Message): Buffer {
  return rhea.message.encode(message);
}
