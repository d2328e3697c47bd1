import { createHmac } from "node:crypto";

/** As a receiver computes it, independently of the gateway's own code: keyed with the secret's text as it is shown. */
export function verifyPlain(secret: string, body: Uint8Array | undefined): string {
  return `sha256=${createHmac("sha256", secret)
    .update(body ?? "")
    .digest("hex")}`;
}

/** Standard Webhooks 1.0: keyed with the decoded bytes, over id, time and body. */
export function verifyStandard(secret: string, id: string, timestamp: string, body: Uint8Array): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`;
}
