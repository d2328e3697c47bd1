import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { publicBaseOf } from "../../intake/request.ts";
import { ERRORS, invalidField, PosthornError } from "../../model/errors.ts";
import { APPEARANCES, type PortalTheme } from "../../model/portal-theme.ts";
import { SCOPES } from "../../model/scopes.ts";
import { createTokenBucket } from "../../model/token-bucket.ts";
import { actorOf, allows, USER_PREFIX, type Caller } from "../../resources/keys.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { createPlainPage, escapeText } from "../plain-page.ts";
import { isoTime } from "../present.ts";
import { CALLBACK_PATH, OIDC_PATH } from "../session/oidc-sign-in.ts";
import { OPEN, OPERATOR, READ, routesOf, type Parts } from "./route.ts";

const Session = Doc.shape("Session", () => ({
  key_id: Doc.nullable(
    Doc.text(
      EXAMPLE.key,
      "The id of the API key that the session stands for; `oidc:` and the subject for a user who signed in with " +
        "OpenID Connect; null for a portal link",
    ),
  ),
  scopes: Type.Array(Doc.choice(SCOPES), { examples: [["admin"]] }),
  tenant_id: Doc.textOrNull("The tenant that the key is bound to; null for all tenants"),
  version: Doc.text("0.1.0", "The version of the gateway"),
  public_url: Doc.text("https://hooks.example.com", "The address at which senders reach the gateway"),
  expires_at: Doc.nullable(Doc.Time),
  destination_kinds: Type.Array(Type.String(), {
    description: "The kinds of destinations that subscriptions of the caller can have",
    examples: [["http"]],
  }),
  user: Doc.nullable(
    Doc.closed(
      { name: Doc.text("ada@example.com", "From the provider; only for people") },
      "The user who signed in with OpenID Connect; null for keys",
    ),
  ),
  portal: Doc.nullable(
    Doc.closed(
      {
        name: Doc.text("Acme webhooks"),
        accent: Doc.textOrNull("A colour, `#rrggbb`"),
        appearance: Doc.choice(APPEARANCES, "`light` and `dark` are fixed; with `system` the visitor chooses"),
      },
      "The look of the partner page; null for everybody except partners",
    ),
  ),
}));

const ORIGIN = { Origin: "Must be the gateway's own address: requests from other sites are rejected" };
const COOKIE =
  "`__Host-posthorn` over https, `posthorn-PORT` over http on the gateway's own machine; HttpOnly, SameSite=Strict";

const SignIn = Doc.optional({
  key: Type.String({ minLength: 1, maxLength: 512, description: "An API key with the scope `read`" }),
  token: Type.String({ minLength: 1, maxLength: 512, description: "From the link that is printed at the first start" }),
});

const HolderParams = Type.Object({
  key_id: Type.String({
    minLength: 1,
    maxLength: 300,
    description: "The id of a key, or `oidc:` and the subject of a user, as the audit log names them",
  }),
});

export function addSessionRoutes(app: FastifyInstance, parts: Parts): void {
  const { version, sessions, authenticate, keys, passRecords, trail, authors, kinds, senders } = parts;
  const route = routesOf(app, "Session");

  function present(
    request: IncomingMessage,
    caller: Caller,
    expiresAt: number | undefined,
  ): Doc.AnswerOf<typeof Session> {
    return {
      // A partner's link was made with somebody else's key.
      key_id: caller.isPartner === true ? null : caller.keyId,
      scopes: caller.scopes,
      tenant_id: caller.tenantId ?? null,
      version,
      public_url: publicBaseOf(parts.publicUrl, request),
      expires_at: isoTime(expiresAt) ?? null,
      destination_kinds: kinds
        .list()
        .filter((kind) => caller.tenantId === undefined || !senders.isForOperators(kind))
        .map(({ name }) => name),
      user: caller.user === undefined || caller.isPartner === true ? null : { name: caller.user.name },
      portal: caller.isPartner === true ? presentTheme({ ...parts.portal, ...caller.theme }) : null,
    };
  }

  route("POST /api/v1/session", OPEN, "Create a dashboard session", {
    body: SignIn,
    description:
      "Exchanges a key, or the token of a one-time sign-in link, for a cookie that stands for the key. When the key " +
      "expires or is revoked, the session ends. Requests with the cookie that change something must come from the " +
      "gateway's own pages. Programs need no session: they send the key itself.",
    example: { body: { key: EXAMPLE.keyInClear } },
    headers: ORIGIN,
    answer: () => ({ status: 201, description: "Signed in", schema: Session, headers: { "Set-Cookie": COOKIE } }),
    errors: ["unauthorized", "forbidden", "other_origin", "insecure_sign_in", "too_many_requests"],
    async handle(request, reply) {
      const { key, token } = request.body;
      if ((key === undefined) === (token === undefined)) {
        throw invalidField("key", "Send either key or token.");
      }
      sessions.rejectOtherOrigin(request.raw);
      sessions.rejectInsecure(request.raw);
      const caller = token === undefined ? await authenticate(request.raw, key) : await keys.takeSignIn(token);
      if (caller === undefined || caller.isPartner === true) {
        throw new PosthornError(
          "unauthorized",
          token === undefined
            ? "This key is unknown, expired or revoked."
            : "This link was already used or has expired. Sign in with a key.",
        );
      }
      if (!allows(caller, "read")) {
        throw new PosthornError("forbidden", "This key lacks the scope read, which the dashboard needs.");
      }
      const { cookie, expiresAt } = sessions.open(request.raw, caller);
      await authors.run({ ...authors.current(), actor: actorOf(caller) }, () =>
        trail.note({ act: "session.create", kind: "key", id: caller.keyId, tenantId: caller.tenantId }),
      );
      return reply
        .header("set-cookie", cookie)
        .code(201)
        .send(present(request.raw, caller, expiresAt));
    },
  });

  route("GET /api/v1/session", READ, "Show who is signed in and what they may do", {
    answer: () => Doc.shows(Session, "The caller. A session is renewed after half of its lifetime"),
    async handle(request, reply) {
      const caller = request.caller as Caller;
      const session = request.headers.authorization === undefined ? sessions.find(request.raw) : undefined;
      if (session === undefined || !sessions.isOld(session)) {
        return present(request.raw, caller, session?.expiresAt ?? caller.expiresAt);
      }
      const { cookie, expiresAt } = sessions.open(request.raw, session.caller, session.id);
      return reply.header("set-cookie", cookie).send(present(request.raw, caller, expiresAt));
    },
  });

  route("DELETE /api/v1/session", OPEN, "End the dashboard session", {
    headers: ORIGIN,
    answer: () => ({ status: 204, description: "Signed out; the cookie is removed, and worth nothing from now on" }),
    errors: ["other_origin"],
    async handle(request, reply) {
      sessions.rejectOtherOrigin(request.raw);
      const { ended, cookie } = await sessions.close(request.raw);
      if (ended !== undefined) {
        const { keyId: id, tenantId, user } = ended.caller;
        const entry = { act: "session.end", kind: user === undefined ? "key" : "user", id, tenantId };
        await authors.run({ ...authors.current(), actor: actorOf(ended.caller) }, () => trail.note(entry));
      }
      return reply.header("set-cookie", cookie).code(204).send();
    },
  });

  route("DELETE /api/v1/sessions/:key_id", OPERATOR, "End all sessions of a user or key", {
    params: HolderParams,
    description:
      "For a user who has left, or a cookie that was lost. Ends all sessions of a user or key, and the portal links " +
      "that they made; a live stream within 15 seconds. They can sign in again: to keep them out, remove their group " +
      "or revoke the key. Keys that a user made stay valid.",
    example: { params: { key_id: EXAMPLE.signedOutUser } },
    answer: () => ({ status: 204, description: "Ended" }),
    async handle({ params }, reply) {
      const { key_id: id } = params;
      const isUser = id.startsWith(USER_PREFIX);
      if (!isUser && keys.findHolder(id) === undefined) {
        throw new PosthornError("not_found", `There is no live key ${id}. Users are named ${USER_PREFIX}SUBJECT.`);
      }
      await passRecords.endAllOf(id);
      await trail.note({ act: "session.end_all", kind: isUser ? "user" : "key", id });
      return reply.code(204).send();
    },
  });
}

function presentTheme({ name, accent, appearance }: PortalTheme) {
  return { name, accent: accent ?? null, appearance };
}

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
        return reject(error, request, reply);
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
        return reject(error, request, reply);
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
  function reject(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
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
