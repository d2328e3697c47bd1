import {
  createHmac,
  hash,
  timingSafeEqual,
  createPublicKey,
  type KeyObject,
  verify as verifySignature,
} from "node:crypto";
import { PosthornError } from "../model/errors.ts";
import type { SecretForm } from "../model/secrets.ts";
import { createHmacKey, DIGEST_BYTES } from "../model/signature.ts";
import { isForTurns, readInTurns } from "../sandbox/text/body-check.ts";
import type { ArrivedRequest, KindSettings } from "./source-kind.ts";

/** Shared by the kinds: reading headers, comparing signatures and checking times. */

const OTHER_SECRET = "The signature was made with another secret or for another body.";

export type Digest = "hex" | "base64";

/** Prepared once: a secret signs every request of its source. */
const hmacKeyOf = remember((secret) => createHmacKey(Buffer.from(secret, "utf8")));

/** The message says which check failed, never what was expected. */
export function badSignature(message: string): PosthornError {
  return new PosthornError("bad_signature", message);
}

export function findHeader({ headers }: ArrivedRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function getHeader(request: ArrivedRequest, name: string): string {
  const value = findHeader(request, name);
  if (value === undefined) throw badSignature(`The header ${name} is missing.`);
  return value;
}

/** Compares with all secrets, even after a match, so that the time tells nothing. */
export function isOneOf(given: string, secrets: readonly string[]): boolean {
  return secrets.filter((secret) => isSameSecret(given, secret)).length > 0;
}

/** In a time that reveals nothing about the secret, not even its length. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", secret, "buffer"));
}

/** Two reusable buffers per length: digests have few lengths. */
const roomOf = remember((length: number) => [Buffer.alloc(length), Buffer.alloc(length)] as const);

/** In constant time for texts of one length; `timingSafeEqual` throws when the lengths differ. */
export function isSameText(given: string, expected: string): boolean {
  const length = Buffer.byteLength(expected);
  if (Buffer.byteLength(given) !== length) return false;
  const [givenBytes, expectedBytes] = roomOf(length);
  givenBytes.write(given, "utf8");
  expectedBytes.write(expected, "utf8");
  return timingSafeEqual(givenBytes, expectedBytes);
}

/**
 * The secret whose HMAC-SHA256 of `text` and the body is the given one. It is compared as it is written: only the
 * canonical text of a digest passes, with no foreign character and no missing padding. Hex may be in upper case.
 */
export function findHmacSecret(
  given: string,
  secrets: readonly string[],
  text: string,
  body: Uint8Array,
  digest: Digest,
): string | undefined {
  let found: string | undefined;
  for (const secret of secrets) {
    const key = hmacKeyOf(secret);
    const isSame =
      digest === "hex"
        ? isSameDigest(given, key.digest(text, body, "binary"))
        : isSameText(given, key.digest(text, body, digest));
    if (isSame) found ??= secret;
  }
  return found;
}

const givenDigest = Buffer.alloc(DIGEST_BYTES);
const expectedDigest = Buffer.alloc(DIGEST_BYTES);

/** Compares decoded bytes: most signatures are hex, and this takes half the time of comparing texts. */
function isSameDigest(givenHex: string, expectedBinary: string): boolean {
  if (givenHex.length !== DIGEST_BYTES * 2 || givenDigest.write(givenHex, "hex") !== DIGEST_BYTES) return false;
  expectedDigest.write(expectedBinary, "latin1");
  return timingSafeEqual(givenDigest, expectedDigest);
}

/** Throws `bad_signature` unless one of the secrets made it; returns that secret. */
export function getHmacSecret(
  given: string,
  { secrets }: KindSettings,
  text: string,
  body: Uint8Array,
  digest: Digest,
): string {
  const secret = findHmacSecret(given, secrets, text, body, digest);
  if (secret === undefined) throw badSignature(OTHER_SECRET);
  return secret;
}

/** The same for the body alone. A large body is hashed in parts, because its sender is not verified yet. */
export function checkBodyHmac(
  given: string,
  settings: KindSettings,
  body: Buffer,
  digest: Digest,
): void | Promise<void> {
  if (isForTurns(body)) return checkLargeHmac(given, settings, body, digest);
  getHmacSecret(given, settings, "", body, digest);
}

async function checkLargeHmac(given: string, { secrets }: KindSettings, body: Buffer, digest: Digest): Promise<void> {
  const hmacs = secrets.map((secret) => createHmac("sha256", secret));
  await readInTurns(body, (part) => {
    for (const hmac of hmacs) hmac.update(part);
  });
  const text = digest === "hex" ? given.toLowerCase() : given;
  let isSigned = false;
  for (const hmac of hmacs) if (isSameText(text, hmac.digest(digest))) isSigned = true;
  if (!isSigned) throw badSignature(OTHER_SECRET);
}

/** For signatures such as `x-hub-signature-256: sha256=…`. */
export function checkHubSignature(request: ArrivedRequest, settings: KindSettings): void | Promise<void> {
  const given = afterPrefix(getHeader(request, "x-hub-signature-256"), "sha256=");
  return checkBodyHmac(given, settings, request.body, "hex");
}

/** As `v0=…`, of `v0`, the time and the body; returns the secret. */
export function getV0Secret(
  request: ArrivedRequest,
  settings: KindSettings,
  headers: { time: string; signature: string; toleranceS: number },
): string {
  const time = getHeader(request, headers.time);
  const given = afterPrefix(getHeader(request, headers.signature), "v0=");
  const secret = getHmacSecret(given, settings, `v0:${time}:`, request.body, "hex");
  checkTime(getUnixSeconds(time), request, settings, headers.toleranceS);
  return secret;
}

/** A signature by the provider's private key over the time and the body. The secret is the public key. */
export interface KeyScheme {
  readonly headers: { readonly time: string; readonly signature: string };
  /** The form of a signature, in words and in code. */
  readonly form: string;
  decode(signature: string): Buffer | undefined;
  readonly algorithm: string | null;
  keyOf(secret: string): KeyObject | undefined;
}

export function checkKeySignature(request: ArrivedRequest, settings: KindSettings, scheme: KeyScheme): void {
  const { headers, form, algorithm, keyOf } = scheme;
  const given = getHeader(request, headers.signature);
  const time = getHeader(request, headers.time);
  const at = getUnixSeconds(time);
  const signature = scheme.decode(given);
  if (signature === undefined) throw badSignature(`${headers.signature} is not ${form}.`);
  const signed = Buffer.concat([Buffer.from(time, "utf8"), request.body]);
  const isSigned = settings.secrets.some((secret) => {
    const key = keyOf(secret);
    return key !== undefined && verifySignature(algorithm, signed, key, signature);
  });
  if (!isSigned) throw badSignature("The signature was made with another key or for another body.");
  checkTime(at, request, settings);
}

/** The form of a secret that is the provider's public key, so none can be created here. */
export function publicKeyForm(keyOf: KeyScheme["keyOf"], problem: string): SecretForm {
  return { findProblem: (secret) => (keyOf(secret) === undefined ? problem : undefined), create: () => undefined };
}

/** For algorithms that few schemes still use. */
export function isHmacOf(
  given: string,
  digest: Digest | "base64url",
  ...signed: Parameters<typeof createMac>
): boolean {
  return isSameText(digest === "hex" ? given.toLowerCase() : given, createMac(...signed).digest(digest));
}

export function createMac(algorithm: string, key: string | Uint8Array, parts: readonly (string | Uint8Array)[]) {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac;
}

/** Decodes canonical base64; `Buffer.from` alone accepts anything and skips unknown characters. */
export function findBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.length > 0 && bytes.toString("base64") === text ? bytes : undefined;
}

/** The text after a prefix such as `sha256=`; throws `bad_signature` without that prefix. */
export function afterPrefix(text: string, prefix: string): string {
  if (!text.startsWith(prefix)) throw badSignature(`The signature does not begin with ${prefix}`);
  return text.slice(prefix.length);
}

/** Converts Unix seconds in digits to milliseconds. */
export function getUnixSeconds(text: string): number {
  if (!/^\d{1,11}$/.test(text)) throw badSignature("The time of the signature is not in Unix seconds.");
  return Number(text) * 1000;
}

/**
 * Too old is a replay; from the future would be one that stays good for longer. Kinds without a default check no time
 * unless an option says so.
 */
export function checkTime(at: number, request: ArrivedRequest, { options }: KindSettings, defaultS?: number): void {
  const { tolerance_s: toleranceS = defaultS } = options;
  if (typeof toleranceS !== "number") return;
  const toleranceMs = toleranceS * 1000;
  const ageS = Math.round((request.receivedAt - at) / 1000);
  if (!(Math.abs(request.receivedAt - at) <= toleranceMs)) {
    throw badSignature(
      `The signature is from ${ageS < 0 ? `${-ageS} s ahead` : `${ageS} s ago`}; ${toleranceS} s are allowed.`,
    );
  }
}

const MAX_REMEMBERED = 1000;

/** Caches values by keys that repeat from request to request. Is cleared when it grows too large. */
export function remember<Made, Key extends string | number = string>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new Map<Key, Made>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined || made.has(key)) return known as Made;
    const fresh = make(key);
    if (made.size >= MAX_REMEMBERED) made.clear();
    made.set(key, fresh);
    return fresh;
  };
}

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
