import { createHash } from "node:crypto";
import type { Clock, Random } from "./clock.ts";
import { PosthornError } from "./errors.ts";

/**
 * Ids are TypeIDs: a prefix, `_`, and a UUID as 26 characters of Crockford's base32. Generated ones are UUIDv7, so
 * that they sort by time and their index grows at one end; ids made from names are UUIDv8.
 */
export type IdPrefix = "evt" | "sub" | "req" | "key" | "rpl" | "alr";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const CODES = Buffer.from(ALPHABET, "latin1");
const SUFFIX_AT = 4;
const ID_LENGTH = 30;
const RANDOM_BLOCK_BYTES = 4096;
const MAX_TIME_MS = 2 ** 48 - 1;

/**
 * The 128 bits are written as 10 characters of time and four groups of 20 bits. RFC 9562 §6.2 method 1: rand_a and the
 * first 22 bits of rand_b count inside a millisecond (from a random start whose highest bit is clear), the last 40 bits
 * are random for each id.
 */
export function createIdSource(clock: Pick<Clock, "wall">, random: Random): (prefix: IdPrefix) => string {
  const out = Buffer.alloc(ID_LENGTH, "_", "latin1");
  let timeMs = -1;
  let counterHigh = 0;
  let counterLow = 0;
  let block = new Uint8Array(0);
  let offset = 0;

  /** Returns the position of the next 5 random bytes. */
  function draw(): number {
    if (offset + 5 > block.length) {
      block = new Uint8Array(random.bytes(RANDOM_BLOCK_BYTES));
      offset = 0;
    }
    offset += 5;
    return offset - 5;
  }

  function startMillisecond(ms: number): void {
    timeMs = ms;
    const at = draw();
    counterHigh = ((byte(block, at) << 8) | byte(block, at + 1)) & 0x1fff;
    counterLow = (byte(block, at + 2) << 12) | (byte(block, at + 3) << 4) | (byte(block, at + 4) >> 4);
    writeTime(out, timeMs);
    writeGroup(out, 18, counterLow);
    writeCounterHigh(out, counterHigh);
  }

  function count(): void {
    counterLow += 1;
    if (counterLow > 0xfffff) {
      counterLow = 0;
      counterHigh += 1;
      if (counterHigh > 0x3fff) {
        // The counter is used up: take ids of the next millisecond; real time catches up.
        startMillisecond(timeMs + 1);
        return;
      }
      writeCounterHigh(out, counterHigh);
    }
    writeGroup(out, 18, counterLow);
  }

  return (prefix) => {
    const wallMs = Math.min(Math.floor(clock.wall()), MAX_TIME_MS);
    if (wallMs > timeMs) startMillisecond(wallMs);
    else count();
    const at = draw();
    const middle = byte(block, at + 2);
    writeGroup(out, 22, (byte(block, at) << 12) | (byte(block, at + 1) << 4) | (middle >> 4));
    writeGroup(out, 26, ((middle & 15) << 16) | (byte(block, at + 3) << 8) | byte(block, at + 4));
    out[0] = prefix.charCodeAt(0);
    out[1] = prefix.charCodeAt(1);
    out[2] = prefix.charCodeAt(2);
    return out.toString("latin1");
  };
}

/** Whether an id has the form that `createIdSource` creates; a sender may have chosen such an id itself. */
export function isGeneratedId(id: string, prefix: IdPrefix): boolean {
  if (id.length !== ID_LENGTH || !id.startsWith(prefix) || id[3] !== "_") return false;
  for (let at = SUFFIX_AT; at < ID_LENGTH; at++) {
    if (valueAt(id, at) < 0) return false;
  }
  const isVersion7 = valueAt(id, 14) >> 1 === 7;
  const isVariant = ((valueAt(id, 17) >> 2) & 3) === 2;
  return valueAt(id, SUFFIX_AT) < 8 && isVersion7 && isVariant;
}

/** Always the same id for the same name: for things that the configuration declares. */
export function stableId(prefix: IdPrefix, name: string): string {
  const bytes = createHash("sha256").update(name, "utf8").digest();
  const out = Buffer.alloc(ID_LENGTH, "_", "latin1");
  out.write(prefix, "latin1");
  writeTime(out, bytes.readUIntBE(0, 6));
  const version8 = 0x80000 | ((bytes.readUInt16BE(6) & 0x0fff) << 4);
  writeGroup(out, 14, version8 | 0x8 | ((byte(bytes, 8) >> 4) & 3));
  writeGroup(out, 18, bytes.readUIntBE(8, 3) & 0xfffff);
  writeGroup(out, 22, bytes.readUIntBE(11, 3) >> 4);
  writeGroup(out, 26, bytes.readUIntBE(13, 3) & 0xfffff);
  return out.toString("latin1");
}

/** Both numbers in base 36. The first digit is the length of the first number, so that the ids sort by event. */
export function formatDeliveryId(eventSeq: number, subscriptionSeq: number): string {
  if (!isSeq(eventSeq) || !isSeq(subscriptionSeq)) {
    throw new PosthornError("internal_error", `No delivery has the numbers ${eventSeq} and ${subscriptionSeq}.`);
  }
  const event = eventSeq.toString(36);
  return `dlv_${event.length.toString(36)}${event}${subscriptionSeq.toString(36)}`;
}

export function parseDeliveryId(id: string): { eventSeq: number; subscriptionSeq: number } | undefined {
  if (!id.startsWith("dlv_") || id.length > 27) return undefined;
  const subscriptionAt = 5 + Number.parseInt(id.charAt(4), 36);
  const eventSeq = Number.parseInt(id.slice(5, subscriptionAt), 36);
  const subscriptionSeq = Number.parseInt(id.slice(subscriptionAt), 36);
  if (!isSeq(eventSeq) || !isSeq(subscriptionSeq)) return undefined;
  return formatDeliveryId(eventSeq, subscriptionSeq) === id ? { eventSeq, subscriptionSeq } : undefined;
}

function isSeq(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] as number;
}

function valueAt(id: string, at: number): number {
  return ALPHABET.indexOf(id.charAt(at));
}

function writeTime(out: Buffer, timeMs: number): void {
  const high = Math.floor(timeMs / 2 ** 20);
  out[4] = byte(CODES, high >>> 25);
  out[5] = byte(CODES, (high >>> 20) & 31);
  writeGroup(out, 6, high & 0xfffff);
  writeGroup(out, 10, timeMs % 2 ** 20);
}

function writeCounterHigh(out: Buffer, value: number): void {
  writeGroup(out, 14, 0x70000 | ((value >> 2) << 4) | 0x8 | (value & 3));
}

function writeGroup(out: Buffer, at: number, value: number): void {
  out[at] = byte(CODES, value >> 15);
  out[at + 1] = byte(CODES, (value >> 10) & 31);
  out[at + 2] = byte(CODES, (value >> 5) & 31);
  out[at + 3] = byte(CODES, value & 31);
}

/**
 * Keys that identify an event within its tenant, for deduplication. The first part is the source's name; it is empty
 * for published events, which bring their own id.
 */

export function publishKey(eventId: string): string {
  return `\0${eventId}`;
}

/** Identifies a signature, for sources that treat an equal signature as the same request sent again. */
export function replayKey(source: string, mark: string): string {
  return `${source}\0\0${mark}`;
}

export function webhookKey(source: string, senderId: string): string {
  return `${source}\0${senderId}`;
}
