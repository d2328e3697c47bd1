import { hash, timingSafeEqual } from "node:crypto";

/** Compares with all secrets, even after a match, so that the time tells nothing. */
export function isOneOf(given: string, secrets: readonly string[]): boolean {
  return secrets.filter((secret) => isSameSecret(given, secret)).length > 0;
}

/** In a time that reveals nothing about the secret, not even its length. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", secret, "buffer"));
}
