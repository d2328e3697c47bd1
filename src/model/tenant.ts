import { Type, type Static } from "typebox";
import type { GATEWAY_EVENT_TYPES } from "./pattern.ts";
import { parseUrl } from "./addresses.ts";
import type { InCode } from "./names.ts";
import { oneOf, optionalText, orNone, withDefault } from "./shape.ts";
import { RetentionInput, type RetentionDays } from "./retention.ts";
import type { ManagedBy, Subscription } from "./subscription.ts";

/** The topics that a contact can subscribe to, each with its event types. */
export const CONTACT_TOPICS = {
  suspended: ["webhook.suspended"],
  failing: ["webhook.failing"],
  rotation: ["webhook.secret_rotating"],
  alerts: ["alert.fired", "alert.cleared"],
} as const satisfies Readonly<Record<string, readonly (typeof GATEWAY_EVENT_TYPES)[number][]>>;

type ContactTopic = keyof typeof CONTACT_TOPICS;
const TOPICS = Object.keys(CONTACT_TOPICS) as ContactTopic[];
const USUAL_TOPICS = ["suspended", "failing", "rotation"] as const satisfies readonly ContactTopic[];

const EmailAddress = Type.String({
  maxLength: 254,
  pattern: "^[^\\u0000-\\u0020\\u007f@]{1,64}@[^\\u0000-\\u0020\\u007f@]{1,189}$",
});

/** A contact of a tenant: exactly one of email, phone and url. */
export const ContactInput = Type.Object(
  {
    email: Type.Optional(Type.With(EmailAddress, { description: "An e-mail address", examples: ["ops@acme.example"] })),
    phone: optionalText({
      pattern: "^\\+[1-9][0-9]{5,14}$",
      description: "A phone number with its country code; needs the gateway's SMS settings",
    }),
    url: optionalText({ minLength: 1, maxLength: 2048, description: "The URL that events are posted to" }),
    about: withDefault(
      Type.Array(oneOf(TOPICS), {
        minItems: 1,
        maxItems: TOPICS.length,
        uniqueItems: true,
        description:
          "What the contact is notified of: suspended or failing subscriptions, rotated secrets, alerts of the tenant",
      }),
      [...USUAL_TOPICS] as ContactTopic[],
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type ContactInput = Static<typeof ContactInput>;

type ContactWay = "email" | "phone" | "url";

export interface Contact {
  readonly way: ContactWay;
  readonly address: string;
  readonly about: readonly ContactTopic[];
}

/** Undefined unless exactly one way is given. */
export function toContact({ about = [...USUAL_TOPICS], ...ways }: ContactInput): Contact | undefined {
  const given = Object.entries(ways).filter(([, address]) => address !== undefined) as [ContactWay, string][];
  const [only] = given;
  return only === undefined || given.length > 1 ? undefined : { way: only[0], address: only[1], about };
}

/** All contacts of a tenant, `contact_email` included. */
export function listContacts(tenant: {
  contactEmail: string | undefined;
  contacts: readonly ContactInput[];
}): readonly Contact[] {
  const inputs = [...(tenant.contactEmail === undefined ? [] : [{ email: tenant.contactEmail }]), ...tenant.contacts];
  const contacts = new Map<string, Contact>();
  for (const input of inputs) {
    const contact = toContact(input);
    if (contact !== undefined) contacts.set(`${contact.way} ${contact.address}`, contact);
  }
  return [...contacts.values()];
}

/** Enough to recognise a contact in the log, and too little to write to it. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf("@");
  if (at > 0 && !address.includes("/")) return `${address[0] ?? ""}***${address.slice(at)}`;
  return address.startsWith("+") ? `***${address.slice(-3)}` : (parseUrl(address)?.origin ?? "***");
}

export const CONTACT_NAME_PREFIX = "contact: ";

/** The address in the name of a contact's subscription. */
export function addressIn(name: string): string {
  return name.slice(CONTACT_NAME_PREFIX.length);
}

/** The log may be read by more people than may know the address of a contact. */
export function nameForLog({ name, managedBy }: Pick<Subscription, "name" | "managedBy">): string {
  return managedBy === "contact" ? `${CONTACT_NAME_PREFIX}${maskAddress(addressIn(name))}` : name;
}

/**
 * The owner of subscriptions, event types, sources and keys. A tenant need not be created first: it comes into
 * existence, without quotas, with the first event, subscription or key that names it. So the id that a publisher chose
 * may have any form; an id that is created explicitly must match this pattern.
 */
export const TENANT_ID_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";

const TENANT_STATUSES = ["active", "inactive"] as const;
export type TenantStatus = (typeof TENANT_STATUSES)[number];

function quota(description: string, minimum: number, maximum: number) {
  return orNone(Type.Integer({ minimum, maximum }), { description: `${description}; null for no limit` });
}

export const QuotasInput = Type.Object(
  {
    subscriptions: orNone(Type.Integer({ minimum: 0, maximum: 1_000_000 }), {
      description:
        "Maximum number of subscriptions; null for `limits.max_subscriptions_per_tenant` with keys and portal links of " +
        "the tenant, and no limit with other keys",
      examples: [10_000],
    }),
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
    name: optionalText({
      minLength: 1,
      maxLength: 200,
      pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
      description: "A name for people",
      examples: ["Acme"],
    }),
    contact_email: orNone(EmailAddress, {
      description: "E-mail address that is notified of problems with the tenant's subscriptions",
      examples: ["ops@acme.example"],
    }),
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
export type Quotas = InCode<QuotasInput>;

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
