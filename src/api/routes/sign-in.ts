import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { IncomingMessage } from "node:http";
import { Type, type Static } from "typebox";
import type { Clock } from "../../model/clock.ts";
import { ERRORS, PosthornError } from "../../model/errors.ts";
import { createTokenBucket } from "../../model/token-bucket.ts";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import type { Authors } from "../../resources/authors.ts";
import { actorOf, type Caller } from "../../resources/keys.ts";
import type { Logger } from "../../telemetry/logger.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import { FAILURE_HEADERS, renderSignInFailure } from "../present/sign-in-failure.ts";
import { CALLBACK_PATH, OIDC_PATH, type OidcSignIn } from "../session/oidc/oidc-sign-in.ts";
import type { Sessions } from "../session/sessions.ts";
import type { SignInWays as Described } from "./sign-in.docs.ts";

const BeginQuery = Type.Object(
  {
    return_to: Type.Optional(
      Type.String({
        maxLength: 2048,
        description: "The page of the dashboard to show after the sign-in",
        examples: ["/events"],
      }),
    ),
  },
  { additionalProperties: false },
);

export interface SignInRoutesOptions {
  /** Undefined when it is not configured. */
  oidc: OidcSignIn | undefined;
  sessions: Pick<Sessions, "open">;
  trail: Pick<AuditTrail, "note">;
  authors: Pick<Authors, "run">;
  clientAddress: (request: IncomingMessage) => string;
  clock: Pick<Clock, "now">;
  logger: Pick<Logger, "info" | "warn">;
}

const SIGN_IN_PAGE = "/sign-in";
/** Anybody can let a sign-in fail as often as they like. */
const LOG_LINES = { perSecond: 0.2, atOnce: 20 };
/** Neither is answered to HEAD: they use something up. */
const NO_HEAD = { exposeHeadRoute: false };

export function addSignInRoutes(app: FastifyInstance, options: SignInRoutesOptions): void {
  const { oidc, sessions, trail, authors, clientAddress, clock, logger } = options;
  const lines = createTokenBucket(LOG_LINES.perSecond, clock.now(), LOG_LINES.atOnce);

  app.get("/api/v1/sign-in", { schema: { summary: "Show the ways to sign in to the dashboard" } }, async () => {
    const ways: AnswerOf<typeof Described> = { oidc: oidc === undefined ? null : { name: oidc.name, url: OIDC_PATH } };
    return ways;
  });

  app.get<{ Querystring: Static<typeof BeginQuery> }>(
    OIDC_PATH,
    { ...NO_HEAD, schema: { summary: "Send a browser to the OpenID Connect provider", querystring: BeginQuery } },
    async (request, reply) => {
      if (oidc === undefined) return reply.redirect(SIGN_IN_PAGE, 303);
      try {
        const { location, cookie } = await oidc.begin(request.raw, request.query.return_to);
        return await reply.header("set-cookie", cookie).redirect(location, 303);
      } catch (error) {
        return refuse(error, request, reply);
      }
    },
  );

  app.get(
    CALLBACK_PATH,
    { ...NO_HEAD, schema: { summary: "End the sign-in with OpenID Connect" } },
    async (request, reply) => {
      if (oidc === undefined) return reply.redirect(SIGN_IN_PAGE, 303);
      try {
        const { caller, returnTo } = await oidc.finish(request.raw);
        const { cookie } = sessions.open(request.raw, caller);
        await note(request, caller);
        return await reply.header("set-cookie", [cookie, oidc.end(request.raw)]).redirect(returnTo, 303);
      } catch (error) {
        reply.header("set-cookie", oidc.end(request.raw));
        return refuse(error, request, reply);
      }
    },
  );

  async function note(request: FastifyRequest, caller: Caller): Promise<void> {
    const { keyId: id, tenantId, scopes, user } = caller;
    const author = { actor: actorOf(caller), via: `GET ${CALLBACK_PATH}`, address: clientAddress(request.raw) };
    const details = { name: user?.name, scopes };
    await authors.run(author, () => trail.note({ act: "session.create", kind: "user", id, tenantId, details }));
    logger.info({ user: id, name: user?.name, scopes, tenant_id: tenantId }, "a user signed in");
  }

  /** A browser gets a page for people; everybody else the problem. */
  function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (!(error instanceof PosthornError)) throw error;
    const { code, message } = error;
    const now = clock.now();
    if (lines.readyAt(now) <= now) {
      lines.take(now);
      logger.warn({ code, reason: message, remote_address: clientAddress(request.raw) }, "a sign-in failed");
    }
    if (!/\btext\/html\b/.test(request.headers.accept ?? "")) throw error;
    const { status, title } = ERRORS[code];
    return reply
      .code(status)
      .headers(FAILURE_HEADERS)
      .send(renderSignInFailure({ title, detail: message }));
  }
}
