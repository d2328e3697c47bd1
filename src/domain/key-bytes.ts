/** The bytes behind a secret. `Buffer.from` takes anything for hex or base64, and makes an empty key of it. */

export const MIN_KEY_BYTES = 16;

/** Undefined unless the text is the hex of something; capitals count, `0x` in front does not. */
export function findHexBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "hex");
  return bytes.length > 0 && bytes.toString("hex") === text.toLowerCase() ? bytes : undefined;
}

/** Undefined unless the text is canonical base64 of either alphabet (not of both), with all of its padding or none. */
export function findBase64Bytes(text: string): Buffer | undefined {
  const alphabet = /[-_]/.test(text) ? "base64url" : "base64";
  const bytes = Buffer.from(text, alphabet);
  if (bytes.length === 0) return undefined;
  const bare = bytes.toString(alphabet).replace(/=+$/, "");
  return text === bare || text === bare.padEnd(Math.ceil(bare.length / 4) * 4, "=") ? bytes : undefined;
}

/** Why nobody should rely on this key; undefined when there is no reason. */
export function findKeyProblem(key: Uint8Array, minBytes = MIN_KEY_BYTES): string | undefined {
  if (key.length < minBytes) {
    return `has ${key.length} ${key.length === 1 ? "byte" : "bytes"}, and fewer than ${minBytes} can be guessed; give a longer one`;
  }
  // HMAC pads a key with zeros, so those at its end add nothing to it: one of zeros is the empty key.
  if (2 * key.findLastIndex((byte) => byte !== 0) < minBytes - 2)
    return "is nothing but zeros at its end; give another";
  if (key.every((byte) => byte === key[0])) return "repeats one byte and can be guessed; give a random one";
  return undefined;
}
