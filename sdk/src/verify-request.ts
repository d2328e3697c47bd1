import type { Secret } from "./secret.ts";
import { type VerifiedWebhook, verify, type VerifyOptions } from "./verify.ts";

/** Reads and verifies a request of the Fetch API: workers, Deno, Bun, and every framework that stands on it. */
export async function verifyRequest(
  request: Request,
  secrets: Secret | readonly Secret[],
  options?: VerifyOptions,
): Promise<VerifiedWebhook> {
  return verify(await request.arrayBuffer(), request.headers, secrets, options);
}
