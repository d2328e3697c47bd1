import {
  createHmac,
  timingSafeEqual,
  createHash,
  hash,
  createPrivateKey,
  createPublicKey,
  sign,
  type KeyObject,
} from "node:crypto";
import type { Random } from "./clock.ts";
import { invalidField, PosthornError } from "./errors.ts";

/** How deliveries are signed: with a plain HMAC header (`X-Webhook-Signature`), and with Standard Webhooks. */

const SECRET_PREFIX = "whsec_";
const SECRET_BYTES = 32;
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
export const MIN_SECRET_LENGTH = 16;
export const MAX_SECRET_LENGTH = 128;
/** No control or format characters, lone surrogates or line ends: only characters that can be typed and seen. */
const PLAIN_SECRET = new RegExp(`^[^\\p{C}\\p{Zl}\\p{Zp}]{${MIN_SECRET_LENGTH},${MAX_SECRET_LENGTH}}$`, "u");
const ED25519_PREFIX = /^wh[sp]k_/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

export function createSecret(random: Random): string {
  return SECRET_PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString("base64");
}

/**
 * The key for Standard Webhooks signatures: the bytes encoded in `whsec_…`, or the UTF-8 bytes of any other text, which
 * is a secret that the receiver already had.
 */
export function decodeSecret(secret: string): Buffer {
  if (secret.startsWith(SECRET_PREFIX)) return decodePrefixed(secret);
  if (ED25519_PREFIX.test(secret))
    throw invalidField("secret", "whsk_… and whpk_… are ed25519 keys and cannot be used as a secret.");
  if (!PLAIN_SECRET.test(secret)) {
    throw invalidField(
      "secret",
      `A secret is ${SECRET_PREFIX} followed by base64, or a text of ${MIN_SECRET_LENGTH} to ${MAX_SECRET_LENGTH} ` +
        "printable characters.",
    );
  }
  return Buffer.from(secret, "utf8");
}

/** `Buffer.from` accepts any text as base64 and would sign with a garbled or empty key. */
function decodePrefixed(secret: string): Buffer {
  const text = secret.slice(SECRET_PREFIX.length);
  const isWellFormed = secret.length <= 100 && BASE64.test(text);
  const key = Buffer.from(isWellFormed ? text : "", "base64");
  if (key.length < MIN_SECRET_BYTES || key.length > MAX_SECRET_BYTES) {
    throw invalidField(
      "secret",
      `After ${SECRET_PREFIX} there must be the base64 of ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes.`,
    );
  }
  return key;
}

export interface Signer {
  /** `plain` is signed with the first secret, `next` with the secret of a rotation, `standard` with each of them. */
  sign(id: string, timestampS: number, body: Uint8Array): { plain: string; next: string | undefined; standard: string };
}

/** Optional keys that few subscriptions have. */
interface MoreKeys {
  /** One of the secrets: the new secret of a rotation that is not confirmed yet. */
  nextSecret?: string | undefined;
  /** `whsk_…` */
  ed25519Key?: string | undefined;
}

export function createSigner(secrets: readonly string[], more: MoreKeys = {}): Signer {
  const [current] = secrets;
  if (current === undefined) throw new PosthornError("internal_error", "A signer needs at least one secret.");
  // A verifier of the plain header uses the secret as it is shown, prefix and all.
  const plainKey = createHmacKey(Buffer.from(current, "utf8"));
  const nextKey = more.nextSecret === undefined ? undefined : createHmacKey(Buffer.from(more.nextSecret, "utf8"));
  const standardKeys = secrets.map((secret) => createHmacKey(decodeSecret(secret)));
  const signAsymmetric = more.ed25519Key === undefined ? undefined : createEd25519Signer(more.ed25519Key);
  return {
    sign(id, timestampS, body) {
      const signed = `${id}.${timestampS}.`;
      let standard = "";
      for (const key of standardKeys) {
        standard += `${standard === "" ? "v1," : " v1,"}${key.digest(signed, body, "base64")}`;
      }
      if (signAsymmetric !== undefined) standard += ` v1a,${signAsymmetric(signed, body)}`;
      const next = nextKey === undefined ? undefined : `sha256=${nextKey.digest("", body, "hex")}`;
      return { plain: `sha256=${plainKey.digest("", body, "hex")}`, next, standard };
    },
  };
}

type PlainAlgorithm = "sha1" | "sha256" | "sha384" | "sha512";

/** The plain header: `algorithm=hex` or only hex, in lower case, and only the expected algorithm. */
export function verifyPlain(
  body: Uint8Array,
  header: string | undefined,
  secret: string,
  algorithm: PlainAlgorithm = "sha256",
): boolean {
  if (header === undefined) return false;
  const equalsAt = header.indexOf("=");
  if (equalsAt >= 0 && header.slice(0, equalsAt) !== algorithm) return false;
  const expected = createHmac(algorithm, secret).update(body).digest("hex");
  return isSame(header.slice(equalsAt + 1), expected);
}

interface StandardHeaders {
  id: string | undefined;
  timestamp: string | undefined;
  signature: string | undefined;
}

/** Standard Webhooks v1: any signature with any of the secrets is valid, unless it is too old or from the future. */
export function verifyStandard(
  headers: StandardHeaders,
  body: Uint8Array,
  secrets: readonly string[],
  wallMs: number,
  toleranceMs = 300_000,
): boolean {
  const { id, timestamp, signature } = headers;
  if (!id || timestamp === undefined || signature === undefined) return false;
  // With a dot in the id the same bytes could also mean another id, time and body.
  if (id.includes(".") || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(wallMs - Number(timestamp) * 1000) > toleranceMs) return false;
  const given = signature.split(" ").filter((part) => part.startsWith("v1,"));
  let isValid = false;
  for (const secret of secrets) {
    const expected = `v1,${createHmacKey(decodeSecret(secret)).digest(`${id}.${timestamp}.`, body, "base64")}`;
    for (const part of given) {
      if (isSame(part, expected)) isValid = true;
    }
  }
  return isValid;
}

/** Constant time for texts of equal length; `timingSafeEqual` throws when the lengths differ. */
function isSame(given: string, expected: string): boolean {
  const givenBytes = Buffer.from(given, "utf8");
  const expectedBytes = Buffer.from(expected, "utf8");
  return givenBytes.length === expectedBytes.length && timingSafeEqual(givenBytes, expectedBytes);
}

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

function createEd25519Signer(privateKey: string): (text: string, body: Uint8Array) => string {
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
