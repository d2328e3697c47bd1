import { createHmac } from "node:crypto";

/** Keyed, so that a sender cannot make keys that collide; 62 bits: SQLite's integer key, with room to step on. */
export function hashKey(secret: Uint8Array, tenantId: string, key: string): bigint {
  const digest = createHmac("sha1", secret).update(`${tenantId}\0${key}`).digest();
  return digest.readBigInt64BE(0) & 0x3fff_ffff_ffff_ffffn;
}
