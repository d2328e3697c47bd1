import { createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import type { Random } from "./clock.ts";
import { PosthornError } from "./errors.ts";

/** Standard Webhooks v1a: a key pair whose private key never leaves the gateway. */

const PRIVATE_PREFIX = "whsk_";
const PUBLIC_PREFIX = "whpk_";
const SEED_BYTES = 32;
const PUBLIC_BYTES = 32;
/** RFC 8410: the bytes before the 32 bytes of the seed in PKCS #8. */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

/** `whsk_` and the base64 of seed and public key, the form that libsodium and the standard's libraries use. */
export function createEd25519Key(random: Random): string {
  const seed = Buffer.from(random.bytes(SEED_BYTES));
  return PRIVATE_PREFIX + Buffer.concat([seed, derivePublic(toEd25519Key(seed))]).toString("base64");
}

/** `whpk_` and the base64 of the public key, which is not secret. */
export function publicKeyOf(privateKey: string): string {
  return PUBLIC_PREFIX + derivePublic(parsePrivateKey(privateKey)).toString("base64");
}

export function createEd25519Signer(privateKey: string): (text: string, body: Uint8Array) => string {
  const key = parsePrivateKey(privateKey);
  return (text, body) => sign(null, Buffer.concat([Buffer.from(text, "utf8"), body]), key).toString("base64");
}

function parsePrivateKey(privateKey: string): KeyObject {
  const bytes = Buffer.from(privateKey.slice(PRIVATE_PREFIX.length), "base64");
  if (!privateKey.startsWith(PRIVATE_PREFIX) || bytes.length !== SEED_BYTES + PUBLIC_BYTES) {
    throw new PosthornError("internal_error", `A private key is ${PRIVATE_PREFIX} followed by the base64 of 64 bytes.`);
  }
  return toEd25519Key(bytes.subarray(0, SEED_BYTES));
}

/** The private key with these 32 bytes as its seed. */
export function toEd25519Key(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: "der", type: "pkcs8" });
}

function derivePublic(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-PUBLIC_BYTES);
}
