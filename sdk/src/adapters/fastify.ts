import type { Secret } from "../secret.ts";
import { type VerifiedWebhook, verify, type VerifyOptions } from "../verify.ts";

/** A request with what was verified: `(request as WebhookRequest).webhook`. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  body: unknown;
  webhook?: VerifiedWebhook;
}

/** Any instance of Fastify: its own types are overloaded beyond what a structural type can follow. */
interface FastifyInstanceLike {
  addHook(name: never, hook: never): unknown;
  addContentTypeParser: unknown;
}

/** As far as it is needed here. */
interface FastifyScope {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    options: { parseAs: "buffer" },
    parser: (request: unknown, body: Uint8Array, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  decorateRequest(name: string): unknown;
  addHook(name: "preHandler", hook: (request: WebhookRequest) => Promise<void>): unknown;
}

/**
 * For all routes of this scope (`app.register(async (scope) => { verifyWebhooks(scope, secret); scope.post(…) })`):
 * bodies stay raw, and only what is verified reaches a handler, as `request.webhook`.
 */
export function verifyWebhooks(
  instance: FastifyInstanceLike,
  secrets: Secret | readonly Secret[],
  options?: VerifyOptions,
): void {
  const scope = instance as unknown as FastifyScope;
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  scope.decorateRequest("webhook");
  scope.addHook("preHandler", async (request: WebhookRequest) => {
    const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
    request.webhook = await verify(body, request.headers, secrets, options);
  });
}
