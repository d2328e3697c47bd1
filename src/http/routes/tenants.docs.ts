import { Type } from "typebox";
import { TENANT_STATUSES, TenantInput, TenantSettings } from "../../domain/tenant.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  ETAG,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  ManagedByDocs,
  Time,
  closed,
  named,
  nullable,
  oneOf,
  pageExample,
  pageSchema,
  type AreaDocs,
} from "../openapi/operation-docs.ts";

named("TenantInput", TenantInput);
named("TenantSettings", TenantSettings);

const Tenant = named(
  "Tenant",
  closed({
    id: Type.String(),
    name: Type.String(),
    contact_email: nullable(Type.String()),
    quotas: closed({
      subscriptions: nullable(Type.Integer()),
      events_per_minute: nullable(Type.Integer()),
      open_deliveries: nullable(Type.Integer()),
      stored_bytes: nullable(Type.Integer()),
    }),
    retention: closed({
      days: nullable(Type.Number()),
      answers_days: nullable(Type.Number()),
      dead_letters_days: nullable(Type.Number()),
      refused_requests_days: nullable(Type.Number()),
    }),
    usage: closed({ subscriptions: Count, open_deliveries: Count, stored_bytes: Count }),
    status: oneOf(TENANT_STATUSES),
    managed_by: ManagedByDocs,
    created_at: Time,
    updated_at: Time,
  }),
);

const TENANT = {
  id: EXAMPLE.tenant,
  name: "Acme",
  contact_email: "ops@acme.example",
  quotas: { subscriptions: 10_000, events_per_minute: null, open_deliveries: null, stored_bytes: null },
  retention: { days: null, answers_days: null, dead_letters_days: null, refused_requests_days: null },
  usage: { subscriptions: 0, open_deliveries: 0, stored_bytes: 0 },
  status: "active",
  managed_by: "api",
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

const settings = { name: "Acme", contact_email: "ops@acme.example", quotas: { subscriptions: 10_000 } };
const params = { id: EXAMPLE.tenant };
const shown = { status: 200, schema: Tenant, example: TENANT, headers: ETAG };
const made = { status: 201, description: "Made", schema: Tenant, headers: ETAG };

export const TENANT_DOCS: AreaDocs = {
  tag: "Tenants",
  description: "Owners of subscriptions, sources and keys, with their quotas",
  operations: {
    "GET /api/v1/tenants": {
      query: { limit: 20 },
      answer: { status: 200, description: "By id", schema: pageSchema(Tenant), example: pageExample(TENANT) },
    },
    "POST /api/v1/tenants": {
      request: { id: EXAMPLE.newTenant, ...settings },
      headers: IDEMPOTENCY_KEY,
      answer: { ...made, example: { ...TENANT, id: EXAMPLE.newTenant } },
      errors: ["conflict", "idempotency_key_reused"],
    },
    "GET /api/v1/tenants/:id": { params, answer: { ...shown, description: "With what it uses" } },
    "PUT /api/v1/tenants/:id": {
      params,
      request: settings,
      headers: IF_MATCH,
      answer: { ...shown, description: "Replaced" },
      otherAnswers: [made],
      errors: ["managed_by_config", "precondition_failed"],
    },
    "PATCH /api/v1/tenants/:id": {
      params,
      request: { name: "Acme" },
      headers: IF_MATCH,
      answer: { ...shown, description: "Changed" },
      errors: ["managed_by_config", "precondition_failed"],
    },
    "DELETE /api/v1/tenants/:id": {
      description: "Only one that has nothing any more.",
      params: { id: EXAMPLE.emptyTenant },
      headers: IF_MATCH,
      answer: {
        status: 200,
        description: "Gone",
        schema: closed({ id: Type.String() }),
        example: { id: EXAMPLE.emptyTenant },
      },
      errors: ["conflict", "managed_by_config", "precondition_failed"],
    },
  },
};
