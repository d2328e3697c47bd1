import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { LinkTheme } from "../../model/portal-theme.ts";
import { oneOf } from "../../model/shape.ts";
import type { Caller } from "../../resources/keys.ts";
import { MAX_PASS_MS, type PassRecord } from "../../resources/pass-records.ts";
import { FRAMED_PAGE } from "../dashboard/pages.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime, presentAs } from "../present.ts";
import { PORTAL_ACCESS, type PortalAccess } from "../session/passes.ts";
import type { Parts } from "./parts.ts";
import { OPERATOR, routesOf } from "./route.ts";

const HOUR_S = 3600;

const linkId = Doc.text(EXAMPLE.portalLink, "Identifies the link; it is not the token");
const PortalLink = Doc.shape("PortalLink", () => ({
  id: linkId,
  url: Doc.text("https://hooks.example.com/portal#token=php_…"),
  tenant_id: Doc.text(EXAMPLE.tenant),
  access: Doc.choice(PORTAL_ACCESS),
  expires_at: Doc.Time,
}));
const ListedPortalLink = Doc.shape("ListedPortalLink", () => ({
  id: linkId,
  tenant_id: Doc.text(EXAMPLE.tenant),
  access: Doc.choice(PORTAL_ACCESS),
  created_by: Doc.text(EXAMPLE.key, "The id of the key, or `oidc:` and the subject of the user, that created it"),
  created_at: Doc.Time,
  expires_at: Doc.Time,
}));

const LinkBody = Doc.optional({
  access: oneOf(PORTAL_ACCESS, {
    default: "manage",
    description: "`read`: see everything; `manage`: also change subscriptions, test and replay",
  }),
  expires_in_s: Type.Integer({
    minimum: 60,
    maximum: MAX_PASS_MS / 1000,
    default: HOUR_S,
    description: "How many seconds the link works",
  }),
  theme: LinkTheme,
});

export function addPortalRoutes(app: FastifyInstance, parts: Parts): void {
  const { portalLinks, passRecords, tenants, trail, publicUrl } = parts;
  const route = routesOf(app, "Tenants");

  route("POST /api/v1/tenants/:id/portal-link", OPERATOR, "Create a portal link for a tenant", {
    body: Doc.nullable(LinkBody),
    description:
      "Anybody with the link sees the events, subscriptions and deliveries of this tenant only, and the catalogue. " +
      "It cannot publish events, nor erase or edit them. The link works until it expires or is revoked, the key that " +
      "created it is revoked, or the tenant is deleted or erased. It never allows more than that key. Sites in `portal.frame_origins` may show the page in a frame.",
    example: {
      params: { id: EXAMPLE.tenant },
      body: { access: "manage", expires_in_s: 3600, theme: { name: "Acme", accent: "#0a7d4f" } },
    },
    answer: () => ({ status: 201, description: "The link; its token is shown only here", schema: PortalLink }),
    async handle(request, reply) {
      const { access = "manage", expires_in_s: lifetimeS = HOUR_S, theme } = request.body ?? {};
      const { id: tenantId } = await tenants.get(request.params.id);
      const terms = { tenantId, access, lifetimeMs: lifetimeS * 1000, theme };
      const { id, token, expiresAt } = await portalLinks.make(request.caller as Caller, terms);
      const deed = { act: "tenant.portal_link", kind: "tenant", id: tenantId, tenantId };
      await trail.note({ ...deed, details: { link_id: id, access, expires_at: isoTime(expiresAt) } });
      // Browsers do not send the part after # to any server.
      const { origin } = new URL(publicUrl(request.raw));
      const url = `${origin}/${FRAMED_PAGE}#token=${token}`;
      return reply.code(201).send(presentAs(PortalLink, { id, url, tenantId, access, expiresAt }));
    },
  });

  route("GET /api/v1/tenants/:id/portal-links", OPERATOR, "List the portal links of a tenant", {
    example: { params: { id: EXAMPLE.tenant } },
    answer: () =>
      Doc.shows(
        Doc.closed({ data: Type.Array(ListedPortalLink) }),
        "The links that still work, oldest first; without their tokens",
        { data: [Doc.exampleOf(ListedPortalLink)] },
      ),
    async handle({ params }) {
      const tenant = await tenants.get(params.id);
      // Links to an earlier tenant with this id do not work.
      const links = passRecords.listLinks(tenant.id).filter(({ madeAt }) => madeAt >= tenant.createdAt);
      const present = ({ access = "manage", keyId, madeAt, ...link }: PassRecord) =>
        presentAs(ListedPortalLink, {
          ...link,
          tenantId: tenant.id,
          access: access as PortalAccess,
          createdBy: keyId,
          createdAt: madeAt,
        });
      return { data: links.map(present) };
    },
  });

  route("DELETE /api/v1/tenants/:id/portal-links/:link", OPERATOR, "Revoke a portal link", {
    description: "The link ends at once; a live stream that was opened with it within 15 seconds.",
    example: { params: { id: EXAMPLE.tenant, link: EXAMPLE.portalLink } },
    answer: () => ({ status: 204, description: "Revoked" }),
    async handle({ params }, reply) {
      const { id: tenantId } = await tenants.get(params.id);
      await passRecords.endLink(params.link, tenantId);
      const deed = { act: "tenant.revoke_portal_link", kind: "tenant", id: tenantId, tenantId };
      await trail.note({ ...deed, details: { link_id: params.link } });
      return reply.code(204).send();
    },
  });
}
