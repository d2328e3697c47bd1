import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { ERRORS, PosthornError } from "../../model/errors.ts";
import { createTokenBucket } from "../../model/token-bucket.ts";
import { actorOf, type Caller } from "../../resources/keys.ts";
import * as Doc from "../openapi/shapes.ts";
import { createPlainPage, escapeText } from "../plain-page.ts";
import { CALLBACK_PATH, OIDC_PATH } from "../session/oidc-sign-in.ts";
import type { Parts } from "./parts.ts";
import { OPEN, routesOf } from "./route.ts";

const SignInWays = Doc.shape("SignInWays", () => ({
  oidc: Doc.nullable(
    Doc.closed(
      {
        name: Doc.text("Acme SSO", "The name of the provider, for the button"),
        url: Doc.text("/api/v1/sign-in/oidc", "Where a browser begins the sign-in"),
      },
      "Sign-in with OpenID Connect; null if it is not configured",
    ),
  ),
}));

const TO_SIGN_IN = "if OpenID Connect is not configured, to the sign-in page";

const BeginQuery = Doc.optional({
  return_to: Type.String({
    maxLength: 2048,
    description: "The page of the dashboard to show after the sign-in",
    examples: ["/events"],
  }),
});

const SIGN_IN_PAGE = "/sign-in";
/** Anybody can let a sign-in fail as often as they like. */
const LOG_LINES = { perSecond: 0.2, atOnce: 20 };
/** Neither is answered to HEAD: they use something up. */
const NO_HEAD = { exposeHeadRoute: false };

export function addSignInRoutes(app: FastifyInstance, parts: Parts): void {
  const { oidc, sessions, trail, authors, clientAddress, clock, logger } = parts;
  const route = routesOf(app, "Sign-in");
  const lines = createTokenBucket(LOG_LINES.perSecond, clock.now(), LOG_LINES.atOnce);

  route("GET /api/v1/sign-in", OPEN, "Show the ways to sign in to the dashboard", {
    answer: () => Doc.shows(SignInWays, "The ways to sign in, beside an API key", { oidc: null }),
    handle: async (): Promise<Doc.AnswerOf<typeof SignInWays>> => ({
      oidc: oidc === undefined ? null : { name: oidc.name, url: OIDC_PATH },
    }),
  });

  route(`GET ${OIDC_PATH}`, OPEN, "Send a browser to the OpenID Connect provider", {
    ...NO_HEAD,
    query: BeginQuery,
    description:
      "For browsers. Sets a cookie for this sign-in, which works once and within 10 minutes, and redirects to the " +
      "provider's page.",
    example: { query: { return_to: "/events" } },
    answer: () => ({
      status: 303,
      description: `To the provider's page; ${TO_SIGN_IN}`,
      headers: { Location: "The address" },
    }),
    errors: ["insecure_sign_in", "sign_in_provider_failed"],
    async handle(request, reply) {
      if (oidc === undefined) return reply.redirect(SIGN_IN_PAGE, 303);
      try {
        const { location, cookie } = await oidc.begin(request.raw, request.query.return_to);
        return await reply.header("set-cookie", cookie).redirect(location, 303);
      } catch (error) {
        return refuse(error, request, reply);
      }
    },
  });

  route(`GET ${CALLBACK_PATH}`, OPEN, "End the sign-in with OpenID Connect", {
    ...NO_HEAD,
    description:
      "The redirect URI of the gateway at the provider. Verifies the provider's answer, finds the rights of the user " +
      "by their groups (`oidc.groups`), and starts a session. A browser gets errors as a page.",
    answer: () => ({
      status: 303,
      description: `To the page that the user wanted, with a session cookie; ${TO_SIGN_IN}`,
      headers: { Location: "The address" },
    }),
    errors: ["sign_in_failed", "group_not_allowed", "insecure_sign_in", "too_many_requests", "sign_in_provider_failed"],
    async handle(request, reply) {
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
  });

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
      .headers({ ...FAILURE_PAGE.headers, "cache-control": "no-store" })
      .send(renderSignInFailure({ title, detail: message }));
  }
}

const STYLE = `
:root { color-scheme: light dark; background: Canvas; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.4rem; }
p { overflow-wrap: anywhere; }
`;

const FAILURE_PAGE = createPlainPage({ style: STYLE });

/** For a browser that comes back from the provider without being signed in. */
function renderSignInFailure({ title, detail }: { title: string; detail: string }): string {
  return `${FAILURE_PAGE.begin(`${title} · Posthorn`)}<main>
<h1>${escapeText(title)}</h1>
<p>${escapeText(detail)}</p>
<p><a href="/sign-in">Back to the sign-in</a></p>
</main>
${FAILURE_PAGE.end}`;
}
