import type { Random } from "./clock.ts";
import { invalidField, PosthornError } from "./errors.ts";

/** Shown in place of a secret. */
export const MASK = "***";

/**
 * The bytes of a secret. `Buffer.from` accepts any text as hex or base64 and may return an empty key, so texts are
 * checked here.
 */

const MIN_KEY_BYTES = 16;

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

/** How the secrets of a source kind are written: which texts are valid, and how a new secret is created. */
export interface SecretForm {
  /** Why this text is not a usable secret; never contains the text itself. Undefined when it is usable. */
  findProblem(secret: string): string | undefined;
  /** A new secret in the form of the current one; undefined when only the provider can create secrets. */
  create(random: Random, current: string | undefined): string | undefined;
}

const NEW_KEY_BYTES = 32;
/** Includes invisible characters, which are often copied from a web page together with a secret. */
export const BLANK_END = /^[\s\p{Cf}]|[\s\p{Cf}]$/u;
export const BLANK_END_PROBLEM = "begins or ends with white space; remove it";
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** A text whose UTF-8 bytes are the key. `minBytes` is lower only if the provider itself creates shorter secrets. */
export function textSecret(minBytes = MIN_KEY_BYTES): SecretForm {
  return {
    findProblem: (secret) => findTextProblem(secret, minBytes),
    create: (random) => `whsec_${encodeNew(random, "base64")}`,
  };
}

export const TEXT_SECRET = textSecret();

/** A text that senders put into a header: other characters than ASCII would not arrive unchanged. */
export const HEADER_SECRET: SecretForm = {
  findProblem(secret) {
    if (!PRINTABLE_ASCII.test(secret)) return "has characters that a header cannot carry; write it in ASCII";
    return findTextProblem(secret, MIN_KEY_BYTES);
  },
  create: (random) => encodeNew(random, "hex"),
};

export const HEX_SECRET: SecretForm = {
  findProblem(secret) {
    const key = findHexBytes(secret);
    if (key !== undefined) return findKeyProblem(key);
    return "is not hexadecimal: write two digits (0-9, a-f) for each byte, without 0x";
  },
  create: (random) => encodeNew(random, "hex"),
};

export const BASE64_SECRET: SecretForm = {
  findProblem: findBase64Problem,
  create: (random) => encodeNew(random, "base64"),
};

export function findBase64Problem(text: string): string | undefined {
  const key = findBase64Bytes(text);
  if (key === undefined) {
    return "is not base64: write letters, digits, + and / (or - and _ in their place), with complete padding or none";
  }
  // One repeated letter is a repeated group of three bytes, so the text is checked too.
  return findKeyProblem(key) ?? findKeyProblem(Buffer.from(text, "utf8"));
}

export function encodeNew(random: Random, encoding: "hex" | "base64"): string {
  return Buffer.from(random.bytes(NEW_KEY_BYTES)).toString(encoding);
}

function findTextProblem(secret: string, minBytes: number): string | undefined {
  if (BLANK_END.test(secret)) return BLANK_END_PROBLEM;
  return findKeyProblem(Buffer.from(secret, "utf8"), minBytes);
}

/** The secrets that a source verifies requests with. All live secrets are accepted; the first is current. */

export interface SourceSecret {
  id: string;
  secret: string;
  /** Wall clock, milliseconds. */
  createdAt: number;
  /** Set when a rotation has replaced the secret: it is accepted until then. */
  endsAt: number | undefined;
}

interface SecretTimes {
  now: number;
  createId: () => string;
}

const MAX_SOURCE_SECRETS = 10;

/** Sets a new list of secrets: known ones keep their id, and are no longer being replaced. */
export function setSecrets(
  known: readonly SourceSecret[],
  given: readonly string[],
  { now, createId }: SecretTimes,
): readonly SourceSecret[] {
  return given.map((secret) => {
    const before = known.find((one) => one.secret === secret);
    if (before !== undefined) return { ...before, endsAt: undefined };
    return { id: createId(), secret, createdAt: now, endsAt: undefined };
  });
}

/** The new secret is current at once; the others are accepted until the overlap ends. */
export function rotateSecret(
  known: readonly SourceSecret[],
  secret: string,
  overlapMs: number,
  { now, createId }: SecretTimes,
): readonly SourceSecret[] {
  if (known.some((one) => one.secret === secret)) {
    throw secretInUse();
  }
  const endsAt = now + overlapMs;
  const kept = overlapMs === 0 ? [] : known.map((one) => ({ ...one, endsAt: Math.min(one.endsAt ?? endsAt, endsAt) }));
  if (kept.length >= MAX_SOURCE_SECRETS) {
    throw new PosthornError(
      "conflict",
      `There are already ${kept.length} secrets, which is the maximum. Retire one first.`,
    );
  }
  return [{ id: createId(), secret, createdAt: now, endsAt: undefined }, ...kept];
}

export function secretInUse(): PosthornError {
  return invalidField("secret", "secret is already in use. Choose another, or leave it out to generate one.");
}

export function retireSecret(known: readonly SourceSecret[], id: string): readonly SourceSecret[] {
  const left = known.filter((one) => one.id !== id);
  if (left.length === known.length) throw new PosthornError("not_found", `There is no secret ${id}.`);
  return left;
}

/** Returns the same object when none has ended. */
export function endSecrets(known: readonly SourceSecret[], now: number): readonly SourceSecret[] {
  const left = known.filter(({ endsAt }) => endsAt === undefined || endsAt > now);
  return left.length === known.length ? known : left;
}
