import { PARK_DESCRIPTION, PARK_REASON } from "../broker.ts";

/**
 * Messages of Azure Storage Queue are text of at most 64 KiB and nothing else: a body is encoded as base64, and the
 * reason for parking is put in front of it. No line break separates the two: the service may drop it.
 */

const MAX_TEXT_LENGTH = 65_536;
/** Kept free for the reason of a parked message. */
const REASON_LENGTH = 2048;
export const MAX_BODY_BYTES = ((MAX_TEXT_LENGTH - REASON_LENGTH) / 4) * 3;

/** Messages stay until they are taken. */
export const NEVER_EXPIRES = { messageTimeToLive: -1 };

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const PARKED = /^\{"posthorn_parked":(\{[^}]*\})\} /;

export function encodeText(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64");
}

/** A message that is not base64 was written by a program that does not encode, and is used unchanged. */
export function decodeText(text: string): Buffer {
  return BASE64.test(text) ? Buffer.from(text, "base64") : Buffer.from(text, "utf8");
}

/** A message of another program may leave no room for the reason; then it is parked without one. */
export function writeParked(text: string, reason: string, description: string): string {
  const parked = `{"posthorn_parked":{"reason":${quote(reason)},"description":${quote(description)}}} ${text}`;
  return parked.length <= MAX_TEXT_LENGTH ? parked : text;
}

/** Without braces, so that the first one ends the reason. */
function quote(text: string): string {
  const plain = text.replace(/[^\x20-\x7e]/g, "?").slice(0, REASON_LENGTH / 8);
  return JSON.stringify(plain).replaceAll("}", String.raw`\u007d`);
}

export function readParked(text: string): { text: string; properties: Record<string, string> } {
  const [line, facts] = PARKED.exec(text) ?? [];
  if (line === undefined || facts === undefined) return { text, properties: {} };
  try {
    const { reason, description } = JSON.parse(facts) as Record<string, unknown>;
    const properties = { [PARK_REASON]: String(reason), [PARK_DESCRIPTION]: String(description) };
    return { text: text.slice(line.length), properties };
  } catch {
    return { text, properties: {} };
  }
}
