import { createPublicKey, hkdfSync, sign, verify } from "node:crypto";
import { toEd25519Key } from "../ed25519.ts";
import { PosthornError } from "../errors.ts";

/** Signs the head of the audit log. With the public key anyone can verify the signature, but not forge it. */
export interface AuditKey {
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
  /** `pka_` and base64; reveals nothing about the master key. */
  readonly publicKey: string;
}

const SEED_BYTES = 32;
const PUBLIC_PREFIX = "pka_";
/** RFC 8410: the bytes before the 32 bytes of a public key. */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");

export function deriveAuditSeed(masterKey: string): string {
  return Buffer.from(hkdfSync("sha256", masterKey, "", "posthorn audit", SEED_BYTES)).toString("hex");
}

export function createAuditKey(seedHex: string): AuditKey {
  const key = toEd25519Key(Buffer.from(seedHex, "hex"));
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  const publicKey = PUBLIC_PREFIX + spki.subarray(SPKI_HEAD.length).toString("base64");
  return {
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), key).toString("base64"),
    verify: createAuditVerifier(publicKey),
  };
}

export function createAuditVerifier(publicKey: string): AuditKey["verify"] {
  const bytes = Buffer.from(publicKey.slice(PUBLIC_PREFIX.length), "base64");
  if (!publicKey.startsWith(PUBLIC_PREFIX) || bytes.length !== SEED_BYTES) {
    throw new PosthornError(
      "invalid_field",
      `The public key of an audit log is ${PUBLIC_PREFIX} followed by the base64 of 32 bytes.`,
    );
  }
  const key = createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: "der", type: "spki" });
  return (text, signature) => verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}
