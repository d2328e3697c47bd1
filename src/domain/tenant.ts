import { Type, type Static, type TSchemaOptions } from "typebox";
import { ContactInput, EmailAddress } from "./contact.ts";
import { RetentionInput, type RetentionDays } from "./retention.ts";
import { oneOf, orNull, withDefault } from "./shape.ts";
import type { ManagedBy } from "./subscription.ts";

/**
 * The owner of subscriptions, event types, sources and keys. Nobody has to make one first: a tenant comes into being,
 * without quotas, with the first event, subscription or key that names it. So an id that a publisher chose may have
 * any form; one that is made on purpose has the form below.
 */
export const TENANT_ID_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";

export const TENANT_STATUSES = ["active", "inactive"] as const;
export type TenantStatus = (typeof TENANT_STATUSES)[number];

function quota(description: string, minimum: number, maximum: number, more: TSchemaOptions = {}) {
  return withDefault(
    orNull(Type.Integer({ minimum, maximum }), { description: `${description}; null for no limit`, ...more }),
    null,
  );
}

export const QuotasInput = Type.Object(
  {
    subscriptions: quota("How many it may have", 0, 1_000_000, { examples: [10_000] }),
    events_per_minute: quota("How many events are taken in", 1, 100_000_000),
    open_deliveries: quota("New events are refused while this many deliveries are open", 1, 1_000_000_000),
    stored_bytes: quota("New events are refused once the bodies of its events have this size", 1, 2 ** 50),
  },
  { additionalProperties: false },
);
export type QuotasInput = Static<typeof QuotasInput>;

/** What a user may set of a tenant beside its id. */
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
        description: "Who is told when something is wrong with its subscriptions: a contact by e-mail",
        examples: ["ops@acme.example"],
      }),
      null,
    ),
    contacts: withDefault(
      Type.Array(ContactInput, {
        maxItems: 20,
        description: "More of them, each with one of `email`, `phone` and `url`, and what it is told (`about`)",
      }),
      [],
    ),
    quotas: Type.Optional(QuotasInput),
    retention: Type.Optional(RetentionInput),
    status: withDefault(
      oneOf(TENANT_STATUSES, {
        description: "`inactive` answers new events with 503, so that their senders keep them",
      }),
      "active",
    ),
  },
  { additionalProperties: false },
);
export type TenantSettings = Static<typeof TenantSettings>;

/** A tenant as it is made by API or declared in the configuration. */
export const TenantInput = Type.Object(
  { id: Type.String({ pattern: TENANT_ID_PATTERN, examples: ["acme"] }), ...TenantSettings.properties },
  { additionalProperties: false },
);
export type TenantInput = Static<typeof TenantInput>;

/** Each undefined where there is no limit. */
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
  /** Empty where the gateway's settings hold. */
  retention: RetentionDays;
  status: TenantStatus;
  /** Everything of it is on its way out; until that is over nothing can be configured for it. */
  isErasing: boolean;
  managedBy: ManagedBy;
  createdAt: number;
  updatedAt: number;
}
