import { concat, type Payload, toBase64, toBytes, toHex } from "./bytes.ts";
import {
  importPrivateKey,
  importSeedKey,
  importStandardKey,
  isPrivateKey,
  listSecrets,
  type Secret,
} from "./secret.ts";
import { WebhookVerificationError } from "./verification-error.ts";

export interface SignOptions {
  /** The event's id; a random one when not given. */
  id?: string;
  /** When it is sent; now when not given. */
  sentAt?: Date;
  /** The header of the plain signature. */
  signatureHeader?: string;
}

/** The headers that a gateway sends with a payload, as names in lower case: for tests of a receiver. */
export async function sign(
  payload: Payload,
  secrets: Secret | readonly Secret[],
  options: SignOptions = {},
): Promise<Record<string, string>> {
  const body = toBytes(payload);
  const { id = `evt_${crypto.randomUUID()}`, sentAt = new Date(), signatureHeader = "x-webhook-signature" } = options;
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signed = concat(toBytes(`${id}.${timestamp}.`), body);
  const live = listSecrets(secrets);
  const [current] = live.filter((secret) => !isPrivateKey(secret));
  if (current === undefined) throw new WebhookVerificationError("invalid_secret", "There is no secret to sign with.");
  const signatures = await Promise.all(live.map((secret) => signStandard(secret, signed)));
  const plain = await crypto.subtle.sign("HMAC", await importSeedKey(current), body);
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
    "x-webhook-timestamp": timestamp,
    [signatureHeader.toLowerCase()]: `sha256=${toHex(new Uint8Array(plain))}`,
  };
}

async function signStandard(secret: Secret, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const signature = isPrivateKey(secret)
    ? await crypto.subtle.sign("Ed25519", await importPrivateKey(secret), signed)
    : await crypto.subtle.sign("HMAC", await importStandardKey(secret), signed);
  return `${isPrivateKey(secret) ? "v1a" : "v1"},${toBase64(new Uint8Array(signature))}`;
}
