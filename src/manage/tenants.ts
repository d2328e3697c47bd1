import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { DEFAULT_TENANT } from "../domain/event.ts";
import { presentRetention, readRetention } from "../domain/retention.ts";
import type { ManagedBy } from "../domain/subscription.ts";
import type { QuotasInput, Tenant, TenantInput, TenantSettings } from "../domain/tenant.ts";
import type { Page, PageOf, Store } from "../store/store.ts";
import type { IdempotencyMark } from "../store/port/idempotency.ts";
import { createTurns } from "../registry/in-turn.ts";

/** Who owns what, and how much of it. */
export interface Tenants {
  list(page: Page): Promise<PageOf<Tenant>>;
  get(id: string): Promise<Tenant>;
  create(input: TenantInput, mark?: IdempotencyMark): Promise<Tenant>;
  /** What is not given is as it is for a new one. */
  put(input: TenantInput, check?: TenantCheck): Promise<{ tenant: Tenant; isNew: boolean }>;
  /** What is not given stays, each quota and each time for itself. */
  change(id: string, change: TenantSettings, check?: TenantCheck): Promise<Tenant>;
  remove(id: string, check?: TenantCheck): Promise<void>;
  /** Takes over what the configuration declares; says which left it. */
  applyDeclared(declared: readonly TenantInput[]): Promise<{ left: readonly string[] }>;
}

/** Throws when this is not what the change was meant for; nothing can come between. */
type TenantCheck = (known: Tenant | undefined) => void;

export interface TenantsOptions {
  store: Pick<Store, "loadTenants" | "findTenant" | "listTenants" | "insertTenant" | "saveTenant" | "deleteTenant">;
  clock: Pick<Clock, "wall">;
  /** In force before a change is answered. */
  onChange: (changes: readonly TenantChange[]) => Promise<void>;
}

export interface TenantChange {
  id: string;
  /** Undefined when it was deleted. */
  tenant: Tenant | undefined;
}

export async function openTenants({ store, clock, onChange }: TenantsOptions): Promise<Tenants> {
  await announce(await store.loadTenants());

  const inTurn = createTurns();

  function announce(tenants: readonly Tenant[]): Promise<void> {
    return onChange(tenants.map((tenant) => ({ id: tenant.id, tenant })));
  }

  async function get(id: string): Promise<Tenant> {
    const tenant = await store.findTenant(id);
    if (tenant === undefined) throw new PosthornError("not_found", `There is no tenant ${id}.`);
    return tenant;
  }

  function toTenant(input: TenantInput, managedBy: ManagedBy, known: Tenant | undefined): Tenant {
    const at = clock.wall();
    const quotas = input.quotas ?? {};
    return {
      id: input.id,
      name: input.name ?? input.id,
      contactEmail: input.contact_email ?? undefined,
      quotas: {
        subscriptions: quotas.subscriptions ?? undefined,
        eventsPerMinute: quotas.events_per_minute ?? undefined,
        openDeliveries: quotas.open_deliveries ?? undefined,
        storedBytes: quotas.stored_bytes ?? undefined,
      },
      retention: readRetention(input.retention ?? {}),
      status: input.status ?? "active",
      managedBy,
      createdAt: known?.createdAt ?? at,
      updatedAt: at,
    };
  }

  async function save(tenant: Tenant): Promise<Tenant> {
    await store.saveTenant(tenant);
    await announce([tenant]);
    return tenant;
  }

  return {
    list: (page) => store.listTenants(page),
    get,
    create: (input, mark) =>
      inTurn(async () => {
        const tenant = toTenant(input, "api", undefined);
        await store.insertTenant(tenant, mark);
        await announce([tenant]);
        return tenant;
      }),
    put: (input, check) =>
      inTurn(async () => {
        const known = await store.findTenant(input.id);
        check?.(known);
        if (known !== undefined) refuseManaged(known);
        return { tenant: await save(toTenant(input, "api", known)), isNew: known === undefined };
      }),
    change: (id, change, check) =>
      inTurn(async () => {
        const known = await get(id);
        check?.(known);
        refuseManaged(known);
        const quotas = { ...quotasOf(known), ...change.quotas };
        const retention = { ...presentRetention(known.retention), ...change.retention };
        return save(toTenant({ ...settingsOf(known), ...change, quotas, retention }, "api", known));
      }),
    remove: (id, check) =>
      inTurn(async () => {
        if (id === DEFAULT_TENANT) throw new PosthornError("conflict", "The tenant default is always there.");
        const known = await get(id);
        check?.(known);
        refuseManaged(known);
        await store.deleteTenant(id, clock.wall());
        await onChange([{ id, tenant: undefined }]);
      }),
    applyDeclared: (declared) =>
      inTurn(async () => {
        const ids = new Set(declared.map(({ id }) => id));
        const changed: Tenant[] = [];
        for (const input of declared) changed.push(toTenant(input, "config", await store.findTenant(input.id)));
        const left: string[] = [];
        for (const tenant of await store.loadTenants()) {
          if (tenant.managedBy !== "config" || ids.has(tenant.id)) continue;
          // Its senders get 503 and try again: nothing is lost if it left the file by mistake. Everything that names
          // no tenant belongs to `default`, and goes on.
          const status = tenant.id === DEFAULT_TENANT ? tenant.status : "inactive";
          changed.push({ ...tenant, status, managedBy: "former_config", updatedAt: clock.wall() });
          if (tenant.id !== DEFAULT_TENANT) left.push(tenant.id);
        }
        await Promise.all(changed.map((tenant) => store.saveTenant(tenant)));
        await announce(changed);
        return { left };
      }),
  };
}

function settingsOf({ id, name, contactEmail, status }: Tenant): TenantInput {
  return { id, name, contact_email: contactEmail ?? null, status };
}

export function quotasOf({ quotas }: Pick<Tenant, "quotas">): Required<QuotasInput> {
  return {
    subscriptions: quotas.subscriptions ?? null,
    events_per_minute: quotas.eventsPerMinute ?? null,
    open_deliveries: quotas.openDeliveries ?? null,
    stored_bytes: quotas.storedBytes ?? null,
  };
}

function refuseManaged(tenant: Tenant): void {
  if (tenant.managedBy !== "config") return;
  throw new PosthornError(
    "managed_by_config",
    `The tenant ${tenant.id} is declared in posthorn.yaml. Change it there and reload with SIGHUP.`,
  );
}
