import type { FastifyInstance } from "fastify";
import type { IncomingMessage } from "node:http";
import { Type, type Static } from "typebox";
import type { DestinationKinds } from "../../destinations/kinds.ts";
import type { DestinationKind } from "../../destinations/sender.ts";
import { PosthornError } from "../../model/errors.ts";
import type { PortalTheme } from "../../model/portal-theme.ts";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import type { Authors } from "../../resources/authors.ts";
import { actorOf, allows, USER_PREFIX, type Caller, type Keys } from "../../resources/keys.ts";
import type { PassRecords } from "../../resources/pass-records.ts";
import type { Authenticate } from "../../intake/hot-routes.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import { isoTime } from "../present/time.ts";
import { publicBaseOf } from "../../intake/request.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Session as Described } from "./session.docs.ts";

const SignIn = Type.Object(
  {
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: "An API key with the scope `read`" })),
    token: Type.Optional(
      Type.String({ minLength: 1, maxLength: 512, description: "From the link that is printed at the first start" }),
    ),
  },
  { additionalProperties: false },
);

const HolderParams = Type.Object({
  key_id: Type.String({
    minLength: 1,
    maxLength: 300,
    description: "The id of a key, or `oidc:` and the subject of a user, as the audit log names them",
  }),
});

export interface SessionRoutesOptions {
  version: string;
  publicUrl: (request: IncomingMessage) => string;
  sessions: Sessions;
  authenticate: Authenticate;
  keys: Pick<Keys, "takeSignIn" | "findHolder">;
  passRecords: Pick<PassRecords, "endAllOf">;
  trail: Pick<AuditTrail, "note">;
  authors: Pick<Authors, "run" | "current">;
  kinds: DestinationKinds;
  /** Whether only operators may create subscriptions of a kind. */
  isForOperators: (kind: DestinationKind) => boolean;
  /** The look of the partner page. */
  theme: PortalTheme;
}

export function addSessionRoutes(app: FastifyInstance, options: SessionRoutesOptions): void {
  const { version, sessions, authenticate, keys, passRecords, trail, authors, theme } = options;

  function present(
    request: IncomingMessage,
    caller: Caller,
    expiresAt: number | undefined,
  ): AnswerOf<typeof Described> {
    return {
      // A partner's link was made with somebody else's key.
      key_id: caller.isPartner === true ? null : caller.keyId,
      scopes: caller.scopes,
      tenant_id: caller.tenantId ?? null,
      version,
      public_url: publicBaseOf(options.publicUrl, request),
      expires_at: isoTime(expiresAt) ?? null,
      destination_kinds: options.kinds
        .list()
        .filter((kind) => caller.tenantId === undefined || !options.isForOperators(kind))
        .map(({ name }) => name),
      user: caller.user === undefined || caller.isPartner === true ? null : { name: caller.user.name },
      portal: caller.isPartner === true ? presentTheme({ ...theme, ...caller.theme }) : null,
    };
  }

  app.post<{ Body: Static<typeof SignIn> }>(
    "/api/v1/session",
    { schema: { summary: "Create a dashboard session", body: SignIn } },
    async (request, reply) => {
      const { key, token } = request.body;
      if ((key === undefined) === (token === undefined)) {
        throw new PosthornError("invalid_field", "Send either key or token.", { field: "key" });
      }
      sessions.refuseOtherOrigin(request.raw);
      sessions.refuseInsecure(request.raw);
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
  );

  app.get(
    "/api/v1/session",
    { config: { scope: "read" }, schema: { summary: "Show who is signed in and what they may do" } },
    async (request, reply) => {
      const caller = request.caller as Caller;
      const session = request.headers.authorization === undefined ? sessions.find(request.raw) : undefined;
      if (session === undefined || !sessions.isOld(session)) {
        return present(request.raw, caller, session?.expiresAt ?? caller.expiresAt);
      }
      const { cookie, expiresAt } = sessions.open(request.raw, session.caller, session.id);
      return reply.header("set-cookie", cookie).send(present(request.raw, caller, expiresAt));
    },
  );

  app.delete("/api/v1/session", { schema: { summary: "End the dashboard session" } }, async (request, reply) => {
    sessions.refuseOtherOrigin(request.raw);
    const { ended, cookie } = await sessions.close(request.raw);
    if (ended !== undefined) {
      const { keyId: id, tenantId, user } = ended.caller;
      const deed = { act: "session.end", kind: user === undefined ? "key" : "user", id, tenantId };
      await authors.run({ ...authors.current(), actor: actorOf(ended.caller) }, () => trail.note(deed));
    }
    return reply.header("set-cookie", cookie).code(204).send();
  });

  app.delete<{ Params: Static<typeof HolderParams> }>(
    "/api/v1/sessions/:key_id",
    {
      config: { scope: "admin", unbound: true },
      schema: { summary: "End all sessions of a user or key", params: HolderParams },
    },
    async ({ params }, reply) => {
      const { key_id: id } = params;
      const isUser = id.startsWith(USER_PREFIX);
      if (!isUser && keys.findHolder(id) === undefined) {
        throw new PosthornError("not_found", `There is no live key ${id}. Users are named ${USER_PREFIX}SUBJECT.`);
      }
      await passRecords.endAllOf(id);
      await trail.note({ act: "session.end_all", kind: isUser ? "user" : "key", id });
      return reply.code(204).send();
    },
  );
}

function presentTheme({ name, accent, appearance }: PortalTheme) {
  return { name, accent: accent ?? null, appearance };
}
