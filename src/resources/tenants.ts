import type { Clock } from "../model/clock.ts";
import {
  QuotasInput,
  toContact,
  type ContactInput,
  type Tenant,
  type TenantInput,
  type TenantSettings,
} from "../model/tenant.ts";
import { invalidField, PosthornError } from "../model/errors.ts";
import { DEFAULT_TENANT } from "../model/event.ts";
import { presentRetention } from "../model/retention.ts";
import { toCodeNames, toWireNames } from "../model/names.ts";
import { fillIn } from "../model/shape.ts";
import type { ManagedBy } from "../model/subscription.ts";
import type { Page, PageOf } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";
import { entryOf, isLive, type Entry, type Resource, type LiveRecord } from "./resource.ts";
import { checkExpected, declare } from "./declared.ts";
import type { Draft } from "./draft.ts";
import type { Once, Registry } from "./registry.ts";

/** The owners of resources, with their quotas. Only configured tenants are in memory; the others are in the store. */
export type Tenants = Awaited<ReturnType<typeof openTenants>>;

export interface TenantChange {
  id: string;
  /** Undefined when it was deleted. */
  tenant: Tenant | undefined;
}

export async function openTenants(options: {
  registry: Registry;
  store: Pick<Store, "records">;
  clock: Pick<Clock, "wall">;
  /** The number must not change until the draft is written. */
  countSubscriptions: (draft: Draft, tenantId: string) => number;
  countLiveKeys: (draft: Draft, tenantId: string) => number;
  /** The change takes effect before it is answered. */
  onChange: (changes: readonly TenantChange[]) => Promise<void>;
}) {
  const { registry, store, clock, countSubscriptions, countLiveKeys, onChange } = options;

  const tenants = await registry.open<Tenant>({
    ...TENANTS,
    onChange: (changes) =>
      onChange(changes.map(({ before, after }) => ({ id: (after ?? before)?.id ?? "", tenant: after?.thing }))),
  });

  /** A tenant that nobody has configured is not in memory. */
  async function findUnconfigured(id: string): Promise<LiveRecord | undefined> {
    const record = await store.records.find({ kind: TENANTS.kind, tenantId: "", id });
    return record?.format === UNCONFIGURED && isLive(record) ? record : undefined;
  }

  async function findKnown(draft: Draft, id: string): Promise<Entry<Tenant> | undefined> {
    const known = draft.find(tenants, id);
    if (known !== undefined) return known;
    const record = await findUnconfigured(id);
    return record === undefined ? undefined : draft.take(tenants, record);
  }

  async function getKnown(draft: Draft, id: string): Promise<Entry<Tenant>> {
    return (await findKnown(draft, id)) ?? tenants.get(id);
  }

  function toTenant(input: TenantInput, managedBy: ManagedBy, known: Tenant | undefined): Tenant {
    const at = clock.wall();
    return {
      id: input.id,
      name: input.name ?? input.id,
      contactEmail: input.contact_email ?? undefined,
      contacts: checkContacts(input.contacts ?? []),
      quotas: toCodeNames(input.quotas ?? {}),
      retention: toCodeNames(input.retention ?? {}),
      status: input.status ?? "active",
      isErasing: false,
      managedBy,
      createdAt: known?.createdAt ?? at,
      updatedAt: at,
    };
  }

  function rejectUsed(draft: Draft, id: string): void {
    const subscriptions = countSubscriptions(draft, id);
    const keys = countLiveKeys(draft, id);
    if (subscriptions === 0 && keys === 0) return;
    throw new PosthornError(
      "conflict",
      `The tenant ${id} still has ${subscriptions} subscriptions and ${keys} live keys. Delete and revoke them first.`,
      { details: { subscriptions, keys } },
    );
  }

  return {
    /** How many subscriptions it may have; the quota must not change until the draft is written. */
    findQuota: (draft: Draft, id: string) => draft.find(tenants, id)?.thing.quotas.subscriptions,
    async list(page: Page): Promise<PageOf<Tenant>> {
      const { rows, nextCursor } = await store.records.list(TENANTS.kind, page);
      const readable = rows.filter(isLive).filter(({ format }) => format <= TENANTS.format);
      return { rows: readable.map(TENANTS.read), nextCursor };
    },
    /** Finds only configured tenants. */
    find: tenants.find,
    async get(id: string): Promise<Entry<Tenant>> {
      const known = tenants.find(id);
      if (known !== undefined) return known;
      const record = await findUnconfigured(id);
      if (record !== undefined) return entryOf(TENANTS, record);
      await registry.follow();
      return tenants.get(id);
    },
    create: (input: TenantInput, once?: Once) =>
      registry.make(tenants, once, async (draft) => {
        if ((await findKnown(draft, input.id)) === undefined) {
          return draft.put(tenants, toTenant(input, "api", undefined));
        }
        throw new PosthornError("conflict", `The tenant ${input.id} already exists. Change it with PUT or PATCH.`);
      }),
    /** Settings that are not given get their defaults. */
    put: (input: TenantInput, ifMatch?: string) =>
      registry.put(tenants, async (draft) => {
        const known = await findKnown(draft, input.id);
        checkExpected(tenants, known, ifMatch);
        return draft.put(tenants, toTenant(input, "api", known?.thing));
      }),
    /** Settings that are not given stay unchanged, each quota and each time separately. */
    change: (id: string, change: TenantSettings, ifMatch?: string) =>
      registry.changeOne(tenants, async (draft) => {
        const entry = await getKnown(draft, id);
        checkExpected(tenants, entry, ifMatch);
        const known = entry.thing;
        const quotas = { ...quotasOf(known), ...change.quotas };
        const retention = { ...presentRetention(known.retention), ...change.retention };
        return draft.put(tenants, toTenant({ ...settingsOf(known), ...change, quotas, retention }, "api", known));
      }),
    /** Rejected while it has subscriptions or live keys. Its events stay in the log. */
    remove: (id: string, ifMatch?: string) =>
      registry.change(tenants, async (draft) => {
        if (id === DEFAULT_TENANT)
          throw new PosthornError("conflict", "The tenant default always exists and cannot be deleted.");
        checkExpected(tenants, await getKnown(draft, id), ifMatch);
        rejectUsed(draft, id);
        draft.remove(tenants, id);
      }),
    /** Puts the declared tenants into the draft; returns the ids that are no longer declared. */
    async declareIn(draft: Draft, declared: readonly TenantInput[]): Promise<readonly string[]> {
      const things = declared.map((input) => ({
        id: input.id,
        build: (known: Entry<Tenant> | undefined) => toTenant(input, "config", known?.thing),
      }));
      const left = await declare(draft, tenants, things, toFormer);
      return left.map(({ id }) => id).filter((id) => id !== DEFAULT_TENANT);
    },
  };
}

/** The format of records that the store created by itself. */
const UNCONFIGURED = 0;

const TENANTS: Resource<Tenant> = {
  kind: "tenant",
  noun: "tenant",
  format: 1,
  read: fromRecord,
  write: ({ name, status, managedBy, retention, quotas, contactEmail, contacts }) => ({
    // Left out when there are none, so that older records stay the same.
    data: JSON.stringify({
      name,
      status,
      managedBy,
      retention,
      quotas,
      contactEmail,
      ...(contacts.length > 0 && { contacts }),
    }),
  }),
  show({ managedBy, ...tenant }) {
    const { id: _, ...settings } = settingsOf(tenant);
    const retention = presentRetention(tenant.retention);
    return { ...settings, quotas: quotasOf(tenant), retention, managed_by: managedBy };
  },
  keyOf: ({ id }) => ({ id }),
  tenantOf: ({ id }) => id,
};

/** The stored data; empty for a tenant that nobody has configured. The store sets and removes `erasing`. */
type Kept = Partial<Omit<Tenant, "id" | "isErasing" | "createdAt" | "updatedAt">> & { erasing?: boolean };

function fromRecord({ id, data, createdAt, updatedAt }: LiveRecord): Tenant {
  const { erasing: isErasing = false, ...kept } = JSON.parse(data) as Kept;
  return { ...UNSET, name: id, ...kept, id, isErasing, createdAt, updatedAt };
}

const UNSET: Pick<Tenant, "contactEmail" | "contacts" | "quotas" | "retention" | "status" | "managedBy"> = {
  contactEmail: undefined,
  contacts: [],
  quotas: {},
  retention: {},
  status: "active",
  managedBy: "api",
};

/**
 * Its senders get 503 and retry, so nothing is lost if it left the file by mistake. Resources that name no tenant
 * belong to `default`, which stays active.
 */
function toFormer(tenant: Tenant): Tenant {
  const status = tenant.id === DEFAULT_TENANT ? tenant.status : "inactive";
  return { ...tenant, status, managedBy: "former_config" };
}

function settingsOf({ id, name, contactEmail, contacts, status }: Omit<Tenant, "managedBy">): TenantInput {
  return { id, name, contact_email: contactEmail ?? null, contacts: [...contacts], status };
}

function checkContacts(contacts: readonly ContactInput[]): readonly ContactInput[] {
  const at = contacts.findIndex((contact) => toContact(contact) === undefined);
  if (at < 0) return contacts;
  throw invalidField("contacts", `contacts[${at}]: give one of email, phone and url, and only one.`);
}

export function quotasOf({ quotas }: Pick<Tenant, "quotas">): Required<QuotasInput> {
  return fillIn(QuotasInput.properties, toWireNames(quotas));
}
