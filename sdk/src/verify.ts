import { type Bytes, concat, fromBase64, fromHex, type Payload, toBytes } from "./bytes.ts";
import { findHeader, getHeader, type WebhookHeaders } from "./headers.ts";
import { importPublicKey, importSeedKey, importStandardKey, isPublicKey, listSecrets, type Secret } from "./secret.ts";
import { WebhookVerificationError } from "./verification-error.ts";

export interface VerifyOptions {
  /** How far the timestamp may lie from now, in either direction. */
  toleranceS?: number;
  /**
   * Which signature counts. `standard`: the trio of Standard Webhooks, whose timestamp is signed. `plain`: the header
   * with one signature of the body alone. `any` (default): the trio where it is there, else the plain one. Choose
   * `standard` where a replayed old body would do harm: the timestamp of the plain one is not signed.
   */
  scheme?: "any" | "standard" | "plain";
  /** The header of the plain signature. */
  signatureHeader?: string;
  /** The time to compare with, in milliseconds; for tests. */
  now?: () => number;
}

export interface VerifiedWebhook {
  scheme: "standard" | "plain";
  /** The same on every try of one event: use it to recognise what was handled before. Undefined for a plain one without it. */
  id: string | undefined;
  /** When this try was sent. Undefined for a plain one without a timestamp. */
  sentAt: Date | undefined;
  /** The exact bytes that were verified. */
  body: Uint8Array;
}

const DEFAULT_TOLERANCE_S = 300;
const PLAIN_HEADER = "x-webhook-signature";
const STANDARD_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/**
 * Resolves when the payload was signed with one of the secrets, and rejects with a `WebhookVerificationError` when not.
 * The payload is what came over the wire, byte by byte: not JSON that was parsed and written again.
 */
export async function verify(
  payload: Payload,
  headers: WebhookHeaders,
  secrets: Secret | readonly Secret[],
  options: VerifyOptions = {},
): Promise<VerifiedWebhook> {
  const body = toBytes(payload);
  const live = listSecrets(secrets);
  return chooseScheme(headers, options) === "standard"
    ? verifyStandard(body, headers, live, options)
    : verifyPlain(body, headers, live, options);
}

function chooseScheme(headers: WebhookHeaders, { scheme = "any" }: VerifyOptions): "standard" | "plain" {
  if (scheme !== "any") return scheme;
  return STANDARD_HEADERS.some((name) => findHeader(headers, name) !== undefined) ? "standard" : "plain";
}

async function verifyStandard(
  body: Bytes,
  headers: WebhookHeaders,
  secrets: readonly Secret[],
  options: VerifyOptions,
): Promise<VerifiedWebhook> {
  const id = getHeader(headers, "webhook-id");
  // With a dot in the id the same bytes could be read as another id, time and body.
  if (id.includes(".")) throw malformed("webhook-id");
  const timestamp = getHeader(headers, "webhook-timestamp");
  const sentAt = readTimestamp("webhook-timestamp", timestamp, options);
  const signed = concat(toBytes(`${id}.${timestamp}.`), body);
  const signatures = getHeader(headers, "webhook-signature").split(" ");
  const found = await Promise.all(secrets.map((secret) => isSignedWith(secret, signed, signatures)));
  if (!found.includes(true)) throw wrongSignature("webhook-signature");
  return { scheme: "standard", id, sentAt, body };
}

async function isSignedWith(secret: Secret, signed: Bytes, signatures: readonly string[]): Promise<boolean> {
  const isAsymmetric = isPublicKey(secret);
  const [version, algorithm] = isAsymmetric ? ["v1a,", "Ed25519"] : ["v1,", "HMAC"];
  const key = await (isAsymmetric ? importPublicKey(secret) : importStandardKey(secret));
  const given = signatures
    .filter((text) => text.startsWith(version))
    .map((text) => fromBase64(text.slice(version.length)));
  // WebCrypto compares in constant time.
  const found = await Promise.all(
    given.map(async (signature) => signature !== undefined && crypto.subtle.verify(algorithm, key, signature, signed)),
  );
  return found.includes(true);
}

async function verifyPlain(
  body: Bytes,
  headers: WebhookHeaders,
  secrets: readonly Secret[],
  options: VerifyOptions,
): Promise<VerifiedWebhook> {
  const name = (options.signatureHeader ?? PLAIN_HEADER).toLowerCase();
  const signature = readPlainSignature(name, getHeader(headers, name));
  const timestamp = findHeader(headers, "x-webhook-timestamp");
  const sentAt = timestamp === undefined ? undefined : readTimestamp("x-webhook-timestamp", timestamp, options);
  const found = await Promise.all(
    secrets
      .filter((secret) => !isPublicKey(secret))
      .map(async (secret) => crypto.subtle.verify("HMAC", await importSeedKey(secret), signature, body)),
  );
  if (!found.includes(true)) throw wrongSignature(name);
  return { scheme: "plain", id: findHeader(headers, "webhook-id"), sentAt, body };
}

/** `sha256=` and hex, or hex alone; no other algorithm. */
function readPlainSignature(name: string, text: string): Bytes {
  const hex = text.startsWith("sha256=") ? text.slice("sha256=".length) : text;
  const signature = fromHex(hex);
  if (signature === undefined) throw malformed(name);
  return signature;
}

function readTimestamp(name: string, text: string, { toleranceS = DEFAULT_TOLERANCE_S, now }: VerifyOptions): Date {
  if (!/^\d{1,12}$/.test(text)) throw malformed(name);
  const sentAt = new Date(Number(text) * 1000);
  const distanceS = Math.abs((now?.() ?? Date.now()) - sentAt.getTime()) / 1000;
  if (distanceS > toleranceS) {
    throw new WebhookVerificationError(
      "stale_timestamp",
      `${name} lies ${Math.round(distanceS)} s from now, and ${toleranceS} s are allowed. Is this machine's clock right?`,
    );
  }
  return sentAt;
}

function malformed(name: string): WebhookVerificationError {
  return new WebhookVerificationError("malformed_header", `The header ${name} cannot be read.`);
}

function wrongSignature(name: string): WebhookVerificationError {
  return new WebhookVerificationError(
    "wrong_signature",
    `${name} was not made with any of the secrets for this body. Was the body changed or parsed before it was verified?`,
  );
}

/** Reads and verifies a request of the Fetch API: workers, Deno, Bun, and every framework that stands on it. */
export async function verifyRequest(
  request: Request,
  secrets: Secret | readonly Secret[],
  options?: VerifyOptions,
): Promise<VerifiedWebhook> {
  return verify(await request.arrayBuffer(), request.headers, secrets, options);
}
