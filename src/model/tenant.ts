import { Type, type Static } from "typebox";
import { ContactInput, EmailAddress } from "./contact.ts";
import { RetentionInput, type RetentionDays } from "./retention.ts";
import { oneOf, orNull, withDefault } from "./shape.ts";
import type { ManagedBy } from "./subscription.ts";

/**
 * The owner of subscriptions, event types, sources and keys. A tenant need not be created first: it comes into
 * existence, without quotas, with the first event, subscription or key that names it. So the id that a publisher chose
 * may have any form; an id that is created explicitly must match this pattern.
 */
export const TENANT_ID_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";

export const TENANT_STATUSES = ["active", "inactive"] as const;
export type TenantStatus = (typeof TENANT_STATUSES)[number];

function quota(description: string, minimum: number, maximum: number) {
  return withDefault(
    orNull(Type.Integer({ minimum, maximum }), { description: `${description}; null for no limit` }),
    null,
  );
}

export const QuotasInput = Type.Object(
  {
    subscriptions: withDefault(
      orNull(Type.Integer({ minimum: 0, maximum: 1_000_000 }), {
        description:
          "Maximum number of subscriptions; null for `limits.max_subscriptions_per_tenant` with keys and portal links of " +
          "the tenant, and no limit with other keys",
        examples: [10_000],
      }),
      null,
    ),
    events_per_minute: quota("Accepted events per minute", 1, 100_000_000),
    open_deliveries: quota("New events are rejected while this many deliveries are open", 1, 1_000_000_000),
    stored_bytes: quota("New events are rejected when the stored bodies reach this size", 1, 2 ** 50),
  },
  { additionalProperties: false },
);
export type QuotasInput = Static<typeof QuotasInput>;

/** The settings of a tenant, without its id. */
export const TenantSettings = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
        description: "A name for people",
        examples: ["Acme"],
      }),
    ),
    contact_email: withDefault(
      orNull(EmailAddress, {
        description: "E-mail address that is notified of problems with the tenant's subscriptions",
        examples: ["ops@acme.example"],
      }),
      null,
    ),
    contacts: withDefault(
      Type.Array(ContactInput, {
        maxItems: 20,
        description:
          "More contacts, each with one of `email`, `phone` and `url`, and the topics it is notified of (`about`)",
      }),
      [],
    ),
    quotas: Type.Optional(QuotasInput),
    retention: Type.Optional(RetentionInput),
    status: withDefault(
      oneOf(TENANT_STATUSES, {
        description: "`inactive` rejects new events with 503, so that their senders keep them",
      }),
      "active",
    ),
  },
  { additionalProperties: false },
);
export type TenantSettings = Static<typeof TenantSettings>;

/** A tenant that is created through the API or declared in the configuration. */
export const TenantInput = Type.Object(
  { id: Type.String({ pattern: TENANT_ID_PATTERN, examples: ["acme"] }), ...TenantSettings.properties },
  { additionalProperties: false },
);
export type TenantInput = Static<typeof TenantInput>;

/** Undefined means no limit. */
export interface Quotas {
  subscriptions: number | undefined;
  eventsPerMinute: number | undefined;
  openDeliveries: number | undefined;
  storedBytes: number | undefined;
}

export interface Tenant {
  id: string;
  name: string;
  contactEmail: string | undefined;
  contacts: readonly ContactInput[];
  quotas: Quotas;
  /** Empty when the gateway's settings apply. */
  retention: RetentionDays;
  status: TenantStatus;
  /** The tenant is being erased; until that is done, nothing can be configured for it. */
  isErasing: boolean;
  managedBy: ManagedBy;
  createdAt: number;
  updatedAt: number;
}
