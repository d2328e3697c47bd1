import { WebhookVerificationError } from "../verification-error.ts";

/** What a verification that failed is answered with; any other error is thrown on. */
export function toResponse(error: unknown): Response {
  if (!(error instanceof WebhookVerificationError)) throw error;
  // What the receiver did wrong is nobody else's business.
  const message = error.status === 401 ? error.message : "The webhook could not be verified.";
  return Response.json({ code: error.code, message }, { status: error.status });
}
