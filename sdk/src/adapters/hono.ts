import type { Secret } from "../secret.ts";
import { type VerifiedWebhook, verify, type VerifyOptions } from "../verify.ts";
import { toResponse } from "./failed-response.ts";

/** A context of Hono, as far as it is needed here. */
interface HonoContext {
  readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> };
  set(name: "webhook", webhook: VerifiedWebhook): void;
}

/** Only what is verified reaches the next handler, as `context.get("webhook")`; all else is answered here. */
export function verifyWebhook(secrets: Secret | readonly Secret[], options?: VerifyOptions) {
  return async (context: HonoContext, next: () => Promise<void>): Promise<Response | undefined> => {
    try {
      // Hono remembers the bytes, so that handlers can read the body again.
      context.set("webhook", await verify(await context.req.arrayBuffer(), context.req.raw.headers, secrets, options));
    } catch (error) {
      return toResponse(error);
    }
    await next();
    return undefined;
  };
}
