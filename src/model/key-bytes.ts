/**
 * The bytes of a secret. `Buffer.from` accepts any text as hex or base64 and may return an empty key, so texts are
 * checked here.
 */

export const MIN_KEY_BYTES = 16;

/** Undefined unless the text is hex of at least one byte. Capital letters are allowed, a leading `0x` is not. */
export function findHexBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "hex");
  return bytes.length > 0 && bytes.toString("hex") === text.toLowerCase() ? bytes : undefined;
}

/** Undefined unless the text is canonical base64 or base64url (not a mix), with all of its padding or none. */
export function findBase64Bytes(text: string): Buffer | undefined {
  const alphabet = /[-_]/.test(text) ? "base64url" : "base64";
  const bytes = Buffer.from(text, alphabet);
  if (bytes.length === 0) return undefined;
  const bare = bytes.toString(alphabet).replace(/=+$/, "");
  return text === bare || text === bare.padEnd(Math.ceil(bare.length / 4) * 4, "=") ? bytes : undefined;
}

/** Why this key is not safe to use; undefined when it is. */
export function findKeyProblem(key: Uint8Array, minBytes = MIN_KEY_BYTES): string | undefined {
  if (key.length < minBytes) {
    const size = `${key.length} ${key.length === 1 ? "byte" : "bytes"}`;
    return `has ${size}; fewer than ${minBytes} can be guessed. Use a longer secret`;
  }
  // HMAC pads a key with zeros, so zeros at its end add nothing: a key of only zeros equals the empty key.
  if (2 * key.findLastIndex((byte) => byte !== 0) < minBytes - 2)
    return "consists mostly of zero bytes at its end; use another secret";
  if (key.every((byte) => byte === key[0])) return "repeats one byte and can be guessed; use a random secret";
  return undefined;
}
