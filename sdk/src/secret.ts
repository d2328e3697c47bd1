import { type Bytes, concat, fromBase64, toBytes } from "./bytes.ts";
import { WebhookVerificationError } from "./verification-error.ts";

/** A secret as it was shown: `whsec_…`, a text of one's own, or `whpk_…` of an ed25519 key pair. */
export type Secret = string;

/** Not every runtime has a global name for this type. */
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const SECRET_PREFIX = "whsec_";
const PUBLIC_PREFIX = "whpk_";
const PRIVATE_PREFIX = "whsk_";
const ED25519_BYTES = 32;
/** RFC 8410: what stands before the 32 bytes of the seed in PKCS #8. */
const PKCS8_HEAD = Uint8Array.from([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]);

/** One or several; programs without types may pass what is not set. */
export function listSecrets(secrets: Secret | readonly Secret[]): readonly Secret[] {
  const list = typeof secrets === "string" ? [secrets] : (secrets ?? []);
  if (list.length === 0 || list.some((secret) => typeof secret !== "string")) {
    throw invalid("There is no secret, or one that is not text. Is the variable that holds it set?");
  }
  return list;
}

export function isPublicKey(secret: Secret): boolean {
  return secret.startsWith(PUBLIC_PREFIX);
}

export function isPrivateKey(secret: Secret): boolean {
  return secret.startsWith(PRIVATE_PREFIX);
}

/** The key of Standard Webhooks: what is inside of `whsec_…`, or the UTF-8 bytes of any other text. */
export function importStandardKey(secret: Secret): Promise<Key> {
  if (!secret.startsWith(SECRET_PREFIX)) return importHmacKey(toBytes(secret));
  const bytes = fromBase64(secret.slice(SECRET_PREFIX.length));
  if (bytes === undefined) throw invalid(`A secret that begins with ${SECRET_PREFIX} goes on with base64.`);
  return importHmacKey(bytes);
}

/** The key of X-Webhook-Signature: the UTF-8 bytes of the secret as it was shown, with its prefix. */
export function importSeedKey(secret: Secret): Promise<Key> {
  return importHmacKey(toBytes(secret));
}

function importHmacKey(bytes: Bytes): Promise<Key> {
  // An empty key would verify what anybody signs.
  if (bytes.length === 0) throw invalid("A secret is empty. Is the variable that holds it set?");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

export function importPublicKey(secret: Secret): Promise<Key> {
  const bytes = fromBase64(secret.slice(PUBLIC_PREFIX.length));
  if (bytes?.length !== ED25519_BYTES) throw invalid(`A public key is ${PUBLIC_PREFIX} and the base64 of 32 bytes.`);
  return crypto.subtle.importKey("raw", bytes, { name: "Ed25519" }, false, ["verify"]).catch(() => {
    throw invalid(
      `This runtime has no Ed25519, or ${secret} is not a point of it. Verify with the whsec_ secret instead.`,
    );
  });
}

export function importPrivateKey(secret: Secret): Promise<Key> {
  const bytes = fromBase64(secret.slice(PRIVATE_PREFIX.length));
  if (bytes?.length !== 2 * ED25519_BYTES) {
    throw invalid(`A private key is ${PRIVATE_PREFIX} and the base64 of 64 bytes.`);
  }
  const key = concat(PKCS8_HEAD, bytes.subarray(0, ED25519_BYTES));
  return crypto.subtle.importKey("pkcs8", key, { name: "Ed25519" }, false, ["sign"]);
}

function invalid(message: string): WebhookVerificationError {
  return new WebhookVerificationError("invalid_secret", message);
}
