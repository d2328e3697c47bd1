import { createHmac } from "node:crypto";

/**
 * Keyed, so that senders cannot create colliding keys. 62 bits fit SQLite's integer key and leave room to probe the
 * next slots.
 */
export function hashKey(secret: Uint8Array, tenantId: string, key: string): bigint {
  const digest = createHmac("sha1", secret).update(`${tenantId}\0${key}`).digest();
  return digest.readBigInt64BE(0) & 0x3fff_ffff_ffff_ffffn;
}
