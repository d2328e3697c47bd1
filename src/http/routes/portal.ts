import type { FastifyInstance } from "fastify";
import type { IncomingMessage } from "node:http";
import { Type, type Static } from "typebox";
import { LinkTheme } from "../../domain/portal-theme.ts";
import { oneOf } from "../../domain/shape.ts";
import type { AuditTrail } from "../../operate/audit-trail.ts";
import type { Caller } from "../../registry/keys.ts";
import type { Tenants } from "../../registry/tenants.ts";
import { FRAMED_PAGE } from "../dashboard/pages.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import { isoTime } from "../present/time.ts";
import { PORTAL_ACCESS, type PortalLinks } from "../session/portal-links.ts";
import type { PortalLink as Described } from "./tenants.docs.ts";

const HOUR_S = 3600;

const LinkBody = Type.Object(
  {
    access: Type.Optional(
      oneOf(PORTAL_ACCESS, {
        default: "manage",
        description: "`read`: see everything; `manage`: also change subscriptions, test and replay",
      }),
    ),
    expires_in_s: Type.Optional(
      Type.Integer({
        minimum: 60,
        maximum: 7 * 24 * HOUR_S,
        default: HOUR_S,
        description: "How many seconds the link works",
      }),
    ),
    theme: Type.Optional(LinkTheme),
  },
  { additionalProperties: false },
);

export interface PortalRoutesOptions {
  portalLinks: PortalLinks;
  tenants: Pick<Tenants, "get">;
  trail: Pick<AuditTrail, "note">;
  publicUrl: (request: IncomingMessage) => string;
}

export function addPortalRoutes(app: FastifyInstance, options: PortalRoutesOptions): void {
  const { portalLinks, tenants, trail, publicUrl } = options;

  app.post<{ Params: { id: string }; Body: Static<typeof LinkBody> | undefined }>(
    "/api/v1/tenants/:id/portal-link",
    {
      config: { scope: "admin", unbound: true },
      schema: { summary: "Create a portal link for a tenant", body: Type.Union([LinkBody, Type.Null()]) },
    },
    async (request, reply) => {
      const { access = "manage", expires_in_s: lifetimeS = HOUR_S, theme } = request.body ?? {};
      const { id: tenantId } = await tenants.get(request.params.id);
      const terms = { tenantId, access, lifetimeMs: lifetimeS * 1000, theme };
      const { token, expiresAt } = portalLinks.make(request.caller as Caller, terms);
      const deed = { act: "tenant.portal_link", kind: "tenant", id: tenantId, tenantId };
      await trail.note({ ...deed, details: { access, expires_at: isoTime(expiresAt) } });
      // Browsers do not send the part after # to any server.
      const { origin } = new URL(publicUrl(request.raw));
      const link: AnswerOf<typeof Described> = {
        url: `${origin}/${FRAMED_PAGE}#token=${token}`,
        tenant_id: tenantId,
        access,
        expires_at: isoTime(expiresAt),
      };
      return reply.code(201).send(link);
    },
  );
}
