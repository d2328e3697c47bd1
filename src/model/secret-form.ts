import type { Random } from "./clock.ts";
import { findBase64Bytes, findHexBytes, findKeyProblem, MIN_KEY_BYTES } from "./key-bytes.ts";

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
