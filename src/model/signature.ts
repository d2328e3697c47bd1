import { createHmac, timingSafeEqual } from "node:crypto";
import type { Random } from "./clock.ts";
import { createEd25519Signer } from "./ed25519.ts";
import { PosthornError } from "./errors.ts";
import { createHmacKey } from "./hmac.ts";

/** How deliveries are signed: with the seed's header, and with Standard Webhooks. */

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
  if (ED25519_PREFIX.test(secret)) throw refuse("whsk_… and whpk_… are ed25519 keys and cannot be used as a secret.");
  if (!PLAIN_SECRET.test(secret)) {
    throw refuse(
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
    throw refuse(
      `After ${SECRET_PREFIX} there must be the base64 of ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes.`,
    );
  }
  return key;
}

function refuse(message: string): PosthornError {
  return new PosthornError("invalid_field", message, { field: "secret" });
}

export interface Signer {
  /** `seed` is signed with the first secret, `next` with the secret of a rotation, `standard` with each of them. */
  sign(id: string, timestampS: number, body: Uint8Array): { seed: string; next: string | undefined; standard: string };
}

/** Optional keys that few subscriptions have. */
export interface MoreKeys {
  /** One of the secrets: the new secret of a rotation that is not confirmed yet. */
  nextSecret?: string | undefined;
  /** `whsk_…` */
  ed25519Key?: string | undefined;
}

export function createSigner(secrets: readonly string[], more: MoreKeys = {}): Signer {
  const [current] = secrets;
  if (current === undefined) throw new PosthornError("internal_error", "A signer needs at least one secret.");
  // The seed's verifier uses the secret as it is shown, prefix and all.
  const seedKey = createHmacKey(Buffer.from(current, "utf8"));
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
      return { seed: `sha256=${seedKey.digest("", body, "hex")}`, next, standard };
    },
  };
}

export type SeedAlgorithm = "sha1" | "sha256" | "sha384" | "sha512";

/** The rules of the seed: `algorithm=hex` or only hex, in lower case, and only the expected algorithm. */
export function verifySeed(
  body: Uint8Array,
  header: string | undefined,
  secret: string,
  algorithm: SeedAlgorithm = "sha256",
): boolean {
  if (header === undefined) return false;
  const equalsAt = header.indexOf("=");
  if (equalsAt >= 0 && header.slice(0, equalsAt) !== algorithm) return false;
  const expected = createHmac(algorithm, secret).update(body).digest("hex");
  return isSame(header.slice(equalsAt + 1), expected);
}

export interface StandardHeaders {
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
