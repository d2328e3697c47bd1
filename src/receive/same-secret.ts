import { hash, timingSafeEqual } from "node:crypto";

/** All are compared, whichever it is. */
export function isOneOf(given: string, secrets: readonly string[]): boolean {
  return secrets.filter((secret) => isSameSecret(given, secret)).length > 0;
}

/** In a time that tells nothing of the secret, not even its length. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", secret, "buffer"));
}
