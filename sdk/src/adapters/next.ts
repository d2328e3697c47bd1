import type { Secret } from "../secret.ts";
import { type VerifiedWebhook, type VerifyOptions, verifyRequest } from "../verify.ts";
import { toResponse } from "./failed-response.ts";

/** A route handler of Next's app router that is called only with what is verified: `export const POST = withWebhook(…)`. */
export function withWebhook<Context>(
  secrets: Secret | readonly Secret[],
  handle: (webhook: VerifiedWebhook, request: Request, context: Context) => Response | Promise<Response>,
  options?: VerifyOptions,
) {
  return async (request: Request, context: Context): Promise<Response> => {
    // The handler gets a request whose body nobody has read.
    const webhook = await verifyRequest(request.clone(), secrets, options).catch((error: unknown) => error);
    return isVerified(webhook) ? handle(webhook, request, context) : toResponse(webhook);
  };
}

function isVerified(result: unknown): result is VerifiedWebhook {
  return typeof result === "object" && result !== null && "scheme" in result;
}
