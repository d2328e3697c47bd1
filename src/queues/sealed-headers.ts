import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const LABEL = "posthorn message\0";

/**
 * Encrypts credentials that go through a broker: AES-256-GCM with a key that both gateways have. The event's id is
 * authenticated with them, so that they cannot be moved into another message.
 */
export function createHeaderSeal(messageKey: string) {
  const key = createHash("sha256").update(LABEL).update(messageKey, "utf8").digest();
  return {
    seal(headers: Readonly<Record<string, string>>, eventId: string): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(LABEL + eventId));
      const text = Buffer.concat([cipher.update(JSON.stringify(headers), "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64");
    },
    /** Undefined when they were sealed with another key or for another event, or were changed. */
    open(sealed: string, eventId: string): Record<string, string> | undefined {
      const bytes = Buffer.from(sealed, "base64");
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(LABEL + eventId)).setAuthTag(tag);
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
        return JSON.parse(text.toString("utf8")) as Record<string, string>;
      } catch {
        return undefined;
      }
    },
  };
}
