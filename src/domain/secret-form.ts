import type { Random } from "./clock.ts";
import { findBase64Bytes, findHexBytes, findKeyProblem, MIN_KEY_BYTES } from "./key-bytes.ts";

/** How the secrets of a kind of source are written: which texts can be one, and how a new one is made. */
export interface SecretForm {
  /** Why this text is no secret that verifies anybody, never with the text itself; undefined when it is one. */
  findProblem(secret: string): string | undefined;
  /** A new one, written as the current one is; undefined where only the provider can make it. */
  create(random: Random, current: string | undefined): string | undefined;
}

const NEW_KEY_BYTES = 32;
/** Also what nobody sees: it comes along when a secret is copied from a page. */
export const BLANK_END = /^[\s\p{Cf}]|[\s\p{Cf}]$/u;
export const BLANK_END_PROBLEM = "begins or ends with white space; leave that away";
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** A text whose UTF-8 bytes are the key. Fewer bytes than usual only where the provider itself makes them so. */
export function textSecret(minBytes = MIN_KEY_BYTES): SecretForm {
  return {
    findProblem: (secret) => findTextProblem(secret, minBytes),
    create: (random) => `whsec_${encodeNew(random, "base64")}`,
  };
}

export const TEXT_SECRET = textSecret();

/** A text that senders put into a header: what is not ASCII would not arrive as it was written. */
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
    return "is not hexadecimal: write two of 0-9 and a-f for each byte, without 0x";
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
    return "is not base64: write letters, digits, + and / (or - and _ in their place), with all of the padding or none";
  }
  // One letter again and again makes three bytes again and again.
  return findKeyProblem(key) ?? findKeyProblem(Buffer.from(text, "utf8"));
}

export function encodeNew(random: Random, encoding: "hex" | "base64"): string {
  return Buffer.from(random.bytes(NEW_KEY_BYTES)).toString(encoding);
}

function findTextProblem(secret: string, minBytes: number): string | undefined {
  if (BLANK_END.test(secret)) return BLANK_END_PROBLEM;
  return findKeyProblem(Buffer.from(secret, "utf8"), minBytes);
}
