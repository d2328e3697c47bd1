import type { FastifyInstance } from "fastify";
import type { IncomingMessage } from "node:http";
import { Type, type Static } from "typebox";
import { LinkTheme } from "../../model/portal-theme.ts";
import { oneOf } from "../../model/shape.ts";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import type { Caller } from "../../resources/keys.ts";
import { MAX_PASS_MS, type PassRecords } from "../../resources/pass-records.ts";
import type { Tenants } from "../../resources/tenants.ts";
import { FRAMED_PAGE } from "../dashboard/pages.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import { isoTime } from "../present/time.ts";
import { PORTAL_ACCESS, type PortalAccess, type PortalLinks } from "../session/portal-links.ts";
import type { ListedPortalLink as Listed, PortalLink as Described } from "./tenants.docs.ts";

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
        maximum: MAX_PASS_MS / 1000,
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
  passRecords: Pick<PassRecords, "listLinks" | "endLink">;
  tenants: Pick<Tenants, "get">;
  trail: Pick<AuditTrail, "note">;
  publicUrl: (request: IncomingMessage) => string;
}

export function addPortalRoutes(app: FastifyInstance, options: PortalRoutesOptions): void {
  const { portalLinks, passRecords, tenants, trail, publicUrl } = options;

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
      const { id, token, expiresAt } = await portalLinks.make(request.caller as Caller, terms);
      const deed = { act: "tenant.portal_link", kind: "tenant", id: tenantId, tenantId };
      await trail.note({ ...deed, details: { link_id: id, access, expires_at: isoTime(expiresAt) } });
      // Browsers do not send the part after # to any server.
      const { origin } = new URL(publicUrl(request.raw));
      const link: AnswerOf<typeof Described> = {
        id,
        url: `${origin}/${FRAMED_PAGE}#token=${token}`,
        tenant_id: tenantId,
        access,
        expires_at: isoTime(expiresAt),
      };
      return reply.code(201).send(link);
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/tenants/:id/portal-links",
    { config: { scope: "admin", unbound: true }, schema: { summary: "List the portal links of a tenant" } },
    async ({ params }) => {
      const tenant = await tenants.get(params.id);
      // Links to an earlier tenant with this id do not work.
      const links = passRecords.listLinks(tenant.id).filter(({ madeAt }) => madeAt >= tenant.createdAt);
      const data: AnswerOf<typeof Listed>[] = links.map(({ id, access = "manage", keyId, madeAt, expiresAt }) => ({
        id,
        tenant_id: tenant.id,
        access: access as PortalAccess,
        created_by: keyId,
        created_at: isoTime(madeAt),
        expires_at: isoTime(expiresAt),
      }));
      return { data };
    },
  );

  app.delete<{ Params: { id: string; link: string } }>(
    "/api/v1/tenants/:id/portal-links/:link",
    { config: { scope: "admin", unbound: true }, schema: { summary: "Revoke a portal link" } },
    async ({ params }, reply) => {
      const { id: tenantId } = await tenants.get(params.id);
      await passRecords.endLink(params.link, tenantId);
      const deed = { act: "tenant.revoke_portal_link", kind: "tenant", id: tenantId, tenantId };
      await trail.note({ ...deed, details: { link_id: params.link } });
      return reply.code(204).send();
    },
  );
}
