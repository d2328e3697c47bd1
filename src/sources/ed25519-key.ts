import { createPublicKey, type KeyObject } from "node:crypto";

const KEY_BYTES = 32;
/** RFC 8410: the bytes before the 32 bytes of the key in SPKI. */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");
/**
 * Points of small order, without the sign in their highest bit, and the other ways to write them: under such a key
 * anybody can make a signature that fits one message in eight or better, and OpenSSL does not object.
 */
const WEAK_KEYS: ReadonlySet<string> = new Set([
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  `ec${"ff".repeat(30)}7f`,
  `ed${"ff".repeat(30)}7f`,
  `ee${"ff".repeat(30)}7f`,
]);

/** The public key from its 32 bytes; undefined when they are not a safe key. */
export function findEd25519Key(bytes: Buffer | undefined): KeyObject | undefined {
  if (bytes === undefined || bytes.length !== KEY_BYTES || isWeak(bytes)) return undefined;
  try {
    return createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}

function isWeak(bytes: Buffer): boolean {
  const unsigned = Buffer.from(bytes);
  unsigned[KEY_BYTES - 1] = (unsigned[KEY_BYTES - 1] ?? 0) & 0x7f;
  return WEAK_KEYS.has(unsigned.toString("hex"));
}
