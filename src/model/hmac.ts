import { createHash, createHmac, hash } from "node:crypto";

const BLOCK_BYTES = 64;
export const DIGEST_BYTES = 32;
const SCRATCH_BYTES = 64 * 1024;

/** Shared by all keys: a digest is computed in one synchronous call. Begins with the padded key that was used last. */
const scratch = Buffer.alloc(SCRATCH_BYTES);
let lastInner: Uint8Array | undefined;

export interface HmacKey {
  /** HMAC-SHA256 of the text's UTF-8 bytes followed by the body. */
  digest(text: string, body: Uint8Array, encoding: "hex" | "base64" | "binary"): string;
}

/**
 * HMAC-SHA256 (RFC 2104) as two one-shot hashes with a prepared key. For a body of 1 KB it takes two thirds of the time
 * of `createHmac`, with or without a `KeyObject`, and every attempt signs twice.
 */
export function createHmacKey(key: Uint8Array): HmacKey {
  const shortKey = key.length > BLOCK_BYTES ? createHash("sha256").update(key).digest() : Buffer.from(key);
  const inner = Buffer.alloc(BLOCK_BYTES, 0x36);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c);
  shortKey.forEach((value, at) => {
    inner[at] = 0x36 ^ value;
    outer[at] = 0x5c ^ value;
  });

  return {
    digest(text, body, encoding) {
      const bodyAt = BLOCK_BYTES + (text === "" ? 0 : Buffer.byteLength(text));
      const end = bodyAt + body.length;
      if (end > SCRATCH_BYTES) return createHmac("sha256", shortKey).update(text).update(body).digest(encoding);
      if (lastInner !== inner) scratch.set((lastInner = inner), 0);
      if (text !== "") scratch.write(text, BLOCK_BYTES);
      scratch.set(body, bodyAt);
      // A Uint8Array, because a Buffer takes longer to create.
      const keyed = new Uint8Array(scratch.buffer, scratch.byteOffset, end);
      outer.write(hash("sha256", keyed, "binary"), BLOCK_BYTES, "latin1");
      return hash("sha256", outer, encoding);
    },
  };
}
