import { toHex } from "../bytes.ts";

/** 128 random bits. Not `randomUUID`, which browsers have on secure pages only. */
export function createRandomId(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}
