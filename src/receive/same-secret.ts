import { hash, timingSafeEqual } from "node:crypto";

/** In a time that tells nothing of the secret, not even its length. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", secret, "buffer"));
}
