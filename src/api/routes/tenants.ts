import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { LinkTheme } from "../../model/portal-theme.ts";
import { presentRetention, RetentionInput } from "../../model/retention.ts";
import { oneOf } from "../../model/shape.ts";
import {
  QuotasInput,
  TENANT_ID_PATTERN,
  TenantInput,
  TenantSettings,
  toContact,
  type Tenant as KnownTenant,
} from "../../model/tenant.ts";
import type { Caller } from "../../resources/keys.ts";
import { MAX_PASS_MS, type PassRecord } from "../../resources/pass-records.ts";
import { quotasOf } from "../../resources/tenants.ts";
import { ERASURE_STAGES, type ErasureRow } from "../../store/port/jobs.ts";
import type { TenantUsage } from "../../store/port/reads.ts";
import { FRAMED_PAGE } from "../dashboard/pages.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime, pageOf, presentAs } from "../present.ts";
import { PORTAL_ACCESS, type PortalAccess } from "../session/passes.ts";
import { describePattern } from "../validation.ts";
import { addResourceRoutes } from "./resource-routes.ts";
import { OPERATOR, routesOf, type Parts } from "./route.ts";

Doc.named("TenantInput", TenantInput);
Doc.named("TenantSettings", TenantSettings);

const Tenant = Doc.shape("Tenant", () => ({
  ...Doc.shownFields(TenantInput),
  name: Doc.text("Acme", "A name for people"),
  contacts: Type.Array(
    Doc.closed({
      email: Type.Optional(Doc.text("ops@acme.example")),
      phone: Type.Optional(Type.String()),
      url: Type.Optional(Type.String()),
      about: Type.Array(Type.String(), { examples: [["suspended", "failing", "rotation"]] }),
    }),
    { description: "Further contacts, and the events that each gets", examples: [[]] },
  ),
  quotas: Doc.closed(Doc.shownFields(QuotasInput)),
  retention: Doc.closed(Doc.shownFields(RetentionInput)),
  usage: Doc.closed({ subscriptions: Doc.Count, open_deliveries: Doc.Count, stored_bytes: Doc.Count }),
  managed_by: Doc.ManagedByDocs,
  created_at: Doc.Time,
  updated_at: Doc.Time,
}));

const settings = {
  name: "Acme",
  contact_email: "ops@acme.example",
  contacts: [{ url: EXAMPLE.destination, about: ["suspended"] }],
  quotas: { subscriptions: 10_000 },
};

const Erasure = Doc.shape(
  "TenantErasure",
  "The progress of a tenant's erasure, which continues after a restart",
  () => ({
    tenant_id: Doc.text(EXAMPLE.erasedTenant),
    status: Type.Enum(["running", "completed"], { examples: ["running"] }),
    stage: Type.Enum([...ERASURE_STAGES], {
      description: "The kind of data that is being erased now",
      examples: ["events"],
    }),
    total: Doc.count(1200, "The number of events at the start"),
    events: Doc.count(400, "Erased events"),
    deliveries: Doc.count(800, "Erased deliveries"),
    bytes: Doc.count(512_000, "The size of the erased bodies in bytes"),
    requests: Doc.count(0, "Erased requests"),
    records: Doc.count(7, "Erased subscriptions, keys, sources and other configuration"),
    audit_entries: Doc.count(0, "Audit log entries whose content was erased; that they existed stays visible"),
    started_at: Doc.Time,
    completed_at: Doc.nullable(Doc.Time),
  }),
);

const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

export function addTenantRoutes(app: FastifyInstance, { tenants, store, erasures }: Parts): void {
  const route = routesOf(app, "Tenants");

  /** Tenants with their usage. */
  async function presentAll(ids: readonly string[]) {
    const usages = new Map((await store.reads.loadTenantUsage(ids)).map((usage) => [usage.tenantId, usage]));
    return (tenant: KnownTenant) => presentTenant(tenant, usages.get(tenant.id));
  }

  addResourceRoutes(route, {
    path: "/api/v1/tenants",
    key: "id",
    words: ["a tenant", "tenants"],
    readers: OPERATOR,
    writers: OPERATOR,
    input: TenantInput,
    change: TenantSettings,
    query: Doc.pageQuery({}),
    async list(query) {
      const page = await tenants.list(pageOf(query));
      return { page, present: await presentAll(page.rows.map(({ id }) => id)) };
    },
    get: (id) => tenants.get(id),
    async make(input, { once }) {
      const { entry, isReplay } = await tenants.create(input, once("tenants"));
      return { thing: entry, isReplay };
    },
    async put(input, { ifMatch }) {
      // A tenant that was created by a publish keeps the id that the publisher chose.
      if (!TENANT_ID.test(input.id)) await getKnown(input.id);
      const { entry, isNew } = await tenants.put(input, ifMatch);
      return { thing: entry, isNew };
    },
    patch: async (id, change: TenantSettings, { ifMatch }) => ({ thing: await tenants.change(id, change, ifMatch) }),
    async remove(id, { ifMatch }) {
      await tenants.remove(id, ifMatch);
      return { gone: { id } };
    },
    present: async ({ id, thing }) => (await presentAll([id]))(thing),
    docs: () => ({
      params: { id: EXAMPLE.tenant },
      schema: Tenant,
      refusals: ["managed_by_config"],
      list: { answer: { description: "Tenants, sorted by id" } },
      make: { request: { id: EXAMPLE.newTenant, ...settings }, answer: { example: { id: EXAMPLE.newTenant } } },
      read: { answer: { description: "The tenant with its usage" } },
      replace: { request: settings },
      plan: { ...settings, name: "Acme Foods" },
      change: { request: { name: "Acme" } },
      remove: {
        description: "Only a tenant without subscriptions and active keys can be deleted. Its events stay in the log.",
        params: { id: EXAMPLE.emptyTenant },
        errors: ["conflict"],
      },
    }),
  });

  route("POST /api/v1/tenants/:id/erase", OPERATOR, "Erase a tenant and all its data", {
    body: EraseBody,
    description:
      "The tenant becomes inactive at once. Its configuration, events and requests are erased, and the content of " +
      "its audit log entries. Repeated calls return the running erasure. The tenant `default` cannot be erased.",
    example: { params: { id: EXAMPLE.emptyTenant }, body: { confirm: EXAMPLE.emptyTenant } },
    answer: () => ({ schema: Erasure, status: 202, description: "The erasure, which runs in the background" }),
    errors: ["conflict", "confirmation_required", "managed_by_config"],
    async handle({ params: { id }, body: { confirm } }, reply) {
      if (confirm !== id) {
        throw new PosthornError(
          "confirmation_required",
          `All data of the tenant ${id} would be erased permanently. Send confirm: "${id}" to do it.`,
        );
      }
      return reply.code(202).send(presentErasure(await erasures.begin(id)));
    },
  });

  route("GET /api/v1/tenants/:id/erase", OPERATOR, "Get the progress of a tenant's erasure", {
    example: { params: { id: EXAMPLE.erasedTenant } },
    answer: () => ({ schema: Erasure, description: "The progress of the erasure, or its result" }),
    handle: async ({ params: { id } }) => presentErasure(await erasures.get(id)),
  });

  async function getKnown(id: string): Promise<void> {
    await tenants.get(id).catch((error: unknown) => {
      if (!(error instanceof PosthornError)) throw error;
      throw invalidField("id", `id ${describePattern(TENANT_ID_PATTERN)}.`);
    });
  }
}

function presentTenant(
  tenant: KnownTenant,
  { subscriptions = 0, openDeliveries = 0, storedBytes = 0 }: Partial<TenantUsage> = {},
) {
  return presentAs(Tenant, {
    ...tenant,
    contacts: tenant.contacts.map((contact) => {
      const { way, address, about = [] } = toContact(contact) ?? {};
      return { ...(way !== undefined && { [way]: address }), about };
    }),
    quotas: quotasOf(tenant),
    retention: presentRetention(tenant.retention),
    usage: { subscriptions, open_deliveries: openDeliveries, stored_bytes: storedBytes },
  });
}

const EraseBody = Doc.optional({
  confirm: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "The id of the tenant, as confirmation; nothing is erased without it",
  }),
});

function presentErasure(row: ErasureRow) {
  return presentAs(Erasure, { ...row, status: row.stage === "done" ? "completed" : "running" });
}

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
      const entry = { act: "tenant.portal_link", kind: "tenant", id: tenantId, tenantId };
      await trail.note({ ...entry, details: { link_id: id, access, expires_at: isoTime(expiresAt) } });
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
      const entry = { act: "tenant.revoke_portal_link", kind: "tenant", id: tenantId, tenantId };
      await trail.note({ ...entry, details: { link_id: params.link } });
      return reply.code(204).send();
    },
  });
}
