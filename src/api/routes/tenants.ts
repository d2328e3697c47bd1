import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { presentRetention, RetentionInput } from "../../model/retention.ts";
import {
  QuotasInput,
  TENANT_ID_PATTERN,
  TenantInput,
  TenantSettings,
  toContact,
  type Tenant as KnownTenant,
} from "../../model/tenant.ts";
import type { Entry } from "../../resources/resource.ts";
import { quotasOf } from "../../resources/tenants.ts";
import { ERASURE_STAGES, type ErasureRow } from "../../store/port/erasures.ts";
import type { TenantUsage } from "../../store/port/reads.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  closed,
  count,
  Count,
  exampleOf,
  ManagedByDocs,
  named,
  nullable,
  shape,
  shownFields,
  text,
  Time,
  type AnswerOf,
} from "../openapi/shapes.ts";
import { isoTime } from "../present.ts";
import { describePattern } from "../validation.ts";
import { pageOf, pageQuery, type PageParameters } from "./paging.ts";
import type { Parts } from "./parts.ts";
import { addResourceRoutes } from "./resource-routes.ts";
import { OPERATOR, routesOf } from "./route.ts";

named("TenantInput", TenantInput);
named("TenantSettings", TenantSettings);

/** The fields that can be set, and read-only fields. */
const Tenant = shape("Tenant", () => ({
  ...shownFields(TenantInput),
  name: text("Acme", "A name for people"),
  contacts: Type.Array(
    closed({
      email: Type.Optional(text("ops@acme.example")),
      phone: Type.Optional(Type.String()),
      url: Type.Optional(Type.String()),
      about: Type.Array(Type.String(), { examples: [["suspended", "failing", "rotation"]] }),
    }),
    { description: "Further contacts, and the events that each gets", examples: [[]] },
  ),
  quotas: closed(shownFields(QuotasInput)),
  retention: closed(shownFields(RetentionInput)),
  usage: closed({ subscriptions: Count, open_deliveries: Count, stored_bytes: Count }),
  managed_by: ManagedByDocs,
  created_at: Time,
  updated_at: Time,
}));

const tenantExample = () => exampleOf(Tenant);
const settings = {
  name: "Acme",
  contact_email: "ops@acme.example",
  contacts: [{ url: EXAMPLE.destination, about: ["suspended"] }],
  quotas: { subscriptions: 10_000 },
};

const Erasure = shape("TenantErasure", "The progress of a tenant's erasure, which continues after a restart", () => ({
  tenant_id: text(EXAMPLE.erasedTenant),
  status: Type.Enum(["running", "completed"], { examples: ["running"] }),
  stage: Type.Enum([...ERASURE_STAGES], {
    description: "The kind of data that is being erased now",
    examples: ["events"],
  }),
  total: count(1200, "The number of events at the start"),
  events: count(400, "Erased events"),
  deliveries: count(800, "Erased deliveries"),
  bytes: count(512_000, "The size of the erased bodies in bytes"),
  requests: count(0, "Erased requests"),
  records: count(7, "Erased subscriptions, keys, sources and other configuration"),
  audit_entries: count(0, "Audit log entries whose content was erased; that they existed stays visible"),
  started_at: Time,
  completed_at: nullable(Time),
}));
const erasure = () => ({ schema: Erasure, example: exampleOf(Erasure) });

const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

export function addTenantRoutes(app: FastifyInstance, { tenants, store }: Parts): void {
  const route = routesOf(app, "Tenants");

  /** Tenants with their usage. */
  async function presentAll(ids: readonly string[]) {
    const usages = new Map((await store.reads.loadTenantUsage(ids)).map((usage) => [usage.tenantId, usage]));
    return (tenant: KnownTenant) => presentTenant(tenant, usages.get(tenant.id));
  }

  addResourceRoutes<Entry<KnownTenant>, KnownTenant, TenantInput, TenantSettings, PageParameters>(route, {
    path: "/api/v1/tenants",
    key: "id",
    words: ["a tenant", "tenants"],
    readers: OPERATOR,
    writers: OPERATOR,
    input: TenantInput,
    change: TenantSettings,
    query: pageQuery({}),
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
    patch: async (id, change, { ifMatch }) => ({ thing: await tenants.change(id, change, ifMatch) }),
    async remove(id, { ifMatch }) {
      await tenants.remove(id, ifMatch);
      return { gone: { id } };
    },
    present: async ({ id, thing }) => (await presentAll([id]))(thing),
    docs: () => ({
      params: { id: EXAMPLE.tenant },
      schema: Tenant,
      example: tenantExample(),
      refusals: ["managed_by_config"],
      list: { answer: { description: "Tenants, sorted by id" } },
      make: {
        request: { id: EXAMPLE.newTenant, ...settings },
        answer: { example: { ...tenantExample(), id: EXAMPLE.newTenant } },
      },
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

  async function getKnown(id: string): Promise<void> {
    await tenants.get(id).catch((error: unknown) => {
      if (!(error instanceof PosthornError)) throw error;
      throw invalidField("id", `id ${describePattern(TENANT_ID_PATTERN)}.`);
    });
  }
}

/** The one mapping of a tenant to the wire. */
function presentTenant(tenant: KnownTenant, usage: TenantUsage | undefined): AnswerOf<typeof Tenant> {
  return {
    id: tenant.id,
    name: tenant.name,
    contact_email: tenant.contactEmail ?? null,
    contacts: tenant.contacts.map((contact) => {
      const { way, address, about = [] } = toContact(contact) ?? {};
      return { ...(way !== undefined && { [way]: address }), about };
    }),
    quotas: quotasOf(tenant),
    retention: presentRetention(tenant.retention),
    usage: {
      subscriptions: usage?.subscriptions ?? 0,
      open_deliveries: usage?.openDeliveries ?? 0,
      stored_bytes: usage?.storedBytes ?? 0,
    },
    status: tenant.status,
    managed_by: tenant.managedBy,
    created_at: isoTime(tenant.createdAt),
    updated_at: isoTime(tenant.updatedAt),
  };
}

const EraseBody = closed({
  confirm: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: "The id of the tenant, as confirmation; nothing is erased without it",
    }),
  ),
});

export function addTenantErasureRoutes(app: FastifyInstance, { erasures }: Parts): void {
  const route = routesOf(app, "Tenants");
  route("POST /api/v1/tenants/:id/erase", OPERATOR, "Erase a tenant and all its data", {
    body: EraseBody,
    docs: () => ({
      description:
        "The tenant becomes inactive at once. Its configuration, events and requests are erased, and the content of " +
        "its audit log entries. Repeated calls return the running erasure. The tenant `default` cannot be erased.",
      params: { id: EXAMPLE.emptyTenant },
      request: { confirm: EXAMPLE.emptyTenant },
      answer: { ...erasure(), status: 202, description: "The erasure, which runs in the background" },
      errors: ["conflict", "confirmation_required", "managed_by_config"],
    }),
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
    docs: () => ({
      params: { id: EXAMPLE.erasedTenant },
      answer: { ...erasure(), description: "The progress of the erasure, or its result" },
    }),
    handle: async ({ params: { id } }) => presentErasure(await erasures.get(id)),
  });
}

function presentErasure(row: ErasureRow) {
  return {
    tenant_id: row.tenantId,
    status: row.stage === "done" ? "completed" : "running",
    stage: row.stage,
    total: row.total,
    events: row.events,
    deliveries: row.deliveries,
    bytes: row.bytes,
    requests: row.requests,
    records: row.records,
    audit_entries: row.auditEntries,
    started_at: isoTime(row.startedAt),
    completed_at: isoTime(row.completedAt) ?? null,
  };
}
