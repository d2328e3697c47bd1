import type { Tenant, TenantInput } from "../../api/types.ts";

/** A tenant as it is filled in: texts, of which an empty one stands for nothing. */
export interface TenantDraft {
  name: string;
  contactEmail: string;
  status: Tenant["status"];
  quotas: Record<keyof Tenant["quotas"], string>;
  contacts: readonly ContactDraft[];
}

export const WAYS = { email: "E-mail", phone: "SMS", url: "URL" };
export type Way = keyof typeof WAYS;
type Topic = NonNullable<NonNullable<TenantInput["contacts"]>[number]["about"]>[number];

/** What a contact may be told. */
export const TOPICS: Readonly<Record<Topic, string>> = {
  suspended: "suspended",
  failing: "failing",
  rotation: "secret rotations",
  alerts: "alerts",
};

export interface ContactDraft {
  /** Of this form only, so that a row keeps its fields when another is removed. */
  key: string;
  way: Way;
  address: string;
  about: readonly Topic[];
}

export function newContact(): ContactDraft {
  return { key: crypto.randomUUID(), way: "email", address: "", about: ["suspended", "failing", "rotation"] };
}

export function toDraft(tenant: Tenant): TenantDraft {
  const { subscriptions, events_per_minute: rate, open_deliveries: open, stored_bytes: bytes } = tenant.quotas;
  return {
    name: tenant.name,
    contactEmail: tenant.contact_email ?? "",
    status: tenant.status,
    quotas: {
      subscriptions: toText(subscriptions),
      events_per_minute: toText(rate),
      open_deliveries: toText(open),
      stored_bytes: toText(bytes),
    },
    contacts: tenant.contacts.map(({ about, ...ways }) => {
      const [way = "email", address = ""] = Object.entries(ways).find(([, value]) => value !== undefined) ?? [];
      return { ...newContact(), way: way as Way, address, about: about as Topic[] };
    }),
  };
}

export function readDraft(draft: TenantDraft): Omit<TenantInput, "id"> {
  const { subscriptions, events_per_minute: rate, open_deliveries: open, stored_bytes: bytes } = draft.quotas;
  return {
    name: draft.name.trim(),
    contact_email: draft.contactEmail.trim() === "" ? null : draft.contactEmail.trim(),
    status: draft.status,
    quotas: {
      subscriptions: toLimit(subscriptions),
      events_per_minute: toLimit(rate),
      open_deliveries: toLimit(open),
      stored_bytes: toLimit(bytes),
    },
    contacts: draft.contacts
      .filter(({ address }) => address.trim() !== "")
      .map(({ way, address, about }) => ({ [way]: address.trim(), about: [...about] })),
  };
}

function toText(limit: number | null): string {
  return limit === null ? "" : String(limit);
}

function toLimit(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}
