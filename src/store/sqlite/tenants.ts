import { PosthornError } from "../../domain/errors.ts";
import type { RetentionDays } from "../../domain/retention.ts";
import type { ManagedBy } from "../../domain/subscription.ts";
import type { Tenant, TenantStatus } from "../../domain/tenant.ts";
import type { Page, PageOf, TenantUsage } from "../store.ts";
import type { IdempotencyMark } from "../port/idempotency.ts";
import type { Database, Statement } from "./connection.ts";
import { createMarkWrite } from "./idempotency-keys.ts";

/** Inserts a tenant without quotas where there is none of that id. */
export function createTenantBirth(db: Database): (id: string, at: number) => void {
  const insert = db.prepare(`
    insert into tenants (id, name, status, managed_by, created_at, updated_at) values (?1, ?1, 'active', 'api', ?2, ?2)
    on conflict do nothing`);
  return (id, at) => void insert.run(id, at);
}

const COLUMNS = `id, name, contact_email, status, max_subscriptions, max_events_per_minute, max_open_deliveries,
  max_stored_bytes, managed_by, created_at, updated_at, retention`;

export function createTenantWrites(db: Database, options: { onDeleted: (id: string) => void }) {
  const insert = db.prepare(
    `insert into tenants (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
  );
  // Its birth stays what it was.
  const save = db.prepare(`
    insert into tenants (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (id) do update set name = excluded.name, contact_email = excluded.contact_email,
      status = excluded.status, max_subscriptions = excluded.max_subscriptions,
      max_events_per_minute = excluded.max_events_per_minute, max_open_deliveries = excluded.max_open_deliveries,
      max_stored_bytes = excluded.max_stored_bytes, managed_by = excluded.managed_by,
      updated_at = excluded.updated_at, retention = excluded.retention`);
  const countSubscriptions = db.prepare(
    "select count(*) as count from records where kind = 'subscription' and tenant_id = ? and deleted_at is null",
  );
  const countKeys = db.prepare(`
    select count(*) as count from keys
    where tenant_id = ? and revoked_at is null and (expires_at is null or expires_at > ?)`);
  const remove = db.prepare("delete from tenants where id = ?");
  const writeMark = createMarkWrite(db);

  return {
    insertTenant(tenant: Tenant, mark?: IdempotencyMark): void {
      writeMark(mark);
      if (insert.run(...valuesOf(tenant)).changes > 0) return;
      throw new PosthornError("conflict", `There is a tenant ${tenant.id} already. Change it with PUT or PATCH.`);
    },

    saveTenant(tenant: Tenant): void {
      save.run(...valuesOf(tenant));
    },

    deleteTenant(id: string, at: number): void {
      const { count: subscriptions } = countSubscriptions.get(id) as { count: number };
      const { count: keys } = countKeys.get(id, at) as { count: number };
      if (subscriptions > 0 || keys > 0) {
        throw new PosthornError(
          "conflict",
          `The tenant ${id} still has ${subscriptions} subscriptions and ${keys} live keys. Delete and revoke them first.`,
          { details: { subscriptions, keys } },
        );
      }
      if (remove.run(id).changes === 0) throw new PosthornError("not_found", `There is no tenant ${id}.`);
      options.onDeleted(id);
    },
  };
}

export function createTenantReads(prepare: (sql: string) => Statement) {
  return {
    loadTenants(): Tenant[] {
      const rows = prepare(`
        select ${COLUMNS} from tenants where managed_by <> 'api' or status <> 'active'
          or coalesce(max_events_per_minute, max_open_deliveries, max_stored_bytes) is not null
          or retention is not null
        order by id`).all();
      return (rows as unknown as TenantSql[]).map(fromSql);
    },

    findTenant(id: string): Tenant | undefined {
      const row = prepare(`select ${COLUMNS} from tenants where id = ?`).get(id) as unknown as TenantSql | undefined;
      // The driver cuts text at NUL: what it found may be another one's.
      return row === undefined || row.id !== id ? undefined : fromSql(row);
    },

    listTenants({ limit, cursor }: Page): PageOf<Tenant> {
      const rows = prepare(`select ${COLUMNS} from tenants where id > ? order by id limit ?`).all(
        cursor ?? "",
        limit + 1,
      ) as unknown as TenantSql[];
      const shown = rows.slice(0, limit).map(fromSql);
      return { rows: shown, nextCursor: rows.length > limit ? shown.at(-1)?.id : undefined };
    },

    loadTenantUsage(ids: readonly string[]): TenantUsage[] {
      return prepare(`
        select t.value as tenantId,
          (select count(*) from records s
            where s.kind = 'subscription' and s.tenant_id = t.value and s.deleted_at is null) as subscriptions,
          coalesce(o.open, 0) as openDeliveries,
          coalesce((select e.stored_bytes from event_counters e where e.tenant_id = t.value), 0) as storedBytes
        from json_each(?1) t left join (
          select tenant_id, sum(created - delivered - dead - cancelled) as open from counters group by tenant_id
        ) o on o.tenant_id = t.value`).all(JSON.stringify(ids));
    },
  };
}

function valuesOf(tenant: Tenant) {
  const { quotas } = tenant;
  return [
    tenant.id,
    tenant.name,
    tenant.contactEmail ?? null,
    tenant.status,
    quotas.subscriptions ?? null,
    quotas.eventsPerMinute ?? null,
    quotas.openDeliveries ?? null,
    quotas.storedBytes ?? null,
    tenant.managedBy,
    tenant.createdAt,
    tenant.updatedAt,
    Object.keys(tenant.retention).length === 0 ? null : JSON.stringify(tenant.retention),
  ] as const;
}

interface TenantSql {
  id: string;
  name: string;
  contact_email: string | null;
  status: TenantStatus;
  max_subscriptions: number | null;
  max_events_per_minute: number | null;
  max_open_deliveries: number | null;
  max_stored_bytes: number | null;
  managed_by: ManagedBy;
  created_at: number;
  updated_at: number;
  retention: string | null;
}

function fromSql(row: TenantSql): Tenant {
  return {
    id: row.id,
    name: row.name,
    contactEmail: row.contact_email ?? undefined,
    quotas: {
      subscriptions: row.max_subscriptions ?? undefined,
      eventsPerMinute: row.max_events_per_minute ?? undefined,
      openDeliveries: row.max_open_deliveries ?? undefined,
      storedBytes: row.max_stored_bytes ?? undefined,
    },
    retention: row.retention === null ? {} : (JSON.parse(row.retention) as RetentionDays),
    status: row.status,
    managedBy: row.managed_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
