import { PosthornError } from "../../domain/errors.ts";
import type { ManagedBy } from "../../domain/subscription.ts";
import type { SubscriptionRow } from "../store.ts";
import type { Database } from "./connection.ts";
import { createSubscriptionQuota, createTenantBirth } from "./tenants.ts";

type SubscriptionChange = Partial<
  Pick<SubscriptionRow, "name" | "status" | "settings" | "secrets" | "managedBy" | "breaker">
>;

export function createConfigurationWrites(db: Database) {
  const insertSubscription = db.prepare(`
    insert into subscriptions
      (id, tenant_id, name, status, settings, secrets, managed_by, created_by, created_at, updated_at, held_since)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, case when ?4 <> 'active' then ?10 end)`);
  const updateSubscription = db.prepare(`
    update subscriptions set name = coalesce(?, name), status = coalesce(?, status), settings = coalesce(?, settings),
      secrets = coalesce(?, secrets), managed_by = coalesce(?, managed_by), breaker = coalesce(?, breaker),
      updated_at = ?7,
      held_since = case when coalesce(?2, status) <> 'active' then coalesce(held_since, ?7) end
    where seq = ?`);
  const reviveSubscription = db.prepare(`
    update subscriptions set name = ?, status = ?, settings = ?, secrets = ?, managed_by = ?,
      created_by = ?, breaker = null, created_at = ?, updated_at = ?, deleted_at = null,
      held_since = case when ?2 <> 'active' then ?8 end
    where id = ? and tenant_id = ? and deleted_at is not null returning seq`);
  const findId = db.prepare("select 1 from subscriptions where id = ?");
  const findSameName = db.prepare(
    "select id from subscriptions where tenant_id = ? and name = ? and deleted_at is null and seq <> ?",
  );
  const findTenant = db.prepare("select tenant_id from subscriptions where seq = ?");
  const deleteSubscription = db.prepare("update subscriptions set deleted_at = ?, status = 'inactive' where seq = ?");
  const refuseOverQuota = createSubscriptionQuota(db);
  const giveBirth = createTenantBirth(db);
  const selectMeta = db.prepare("select value from meta where key = ?");
  const insertMeta = db.prepare("insert into meta (key, value) values (?, ?)");
  const saveLatest = db.prepare(`
    insert into meta (key, value) values (?, ?)
    on conflict do update set value = max(cast(value as integer), excluded.value)`);

  function refuseSameName(tenantId: string, name: string, seq: number): void {
    if (findSameName.get(tenantId, name, seq) === undefined) return;
    throw new PosthornError(
      "conflict",
      `The tenant ${tenantId} already has a subscription named "${name}". Choose another name.`,
    );
  }

  return {
    insertSubscription(row: Omit<SubscriptionRow, "seq" | "deletedAt" | "breaker">): number {
      refuseSameName(row.tenantId, row.name, 0);
      // What the file declares is the operator's own will: it counts, but it is not refused.
      if (row.managedBy !== "config") refuseOverQuota(row.tenantId);
      giveBirth(row.tenantId, row.createdAt);
      const { id, tenantId, name, status, settings, secrets, managedBy, createdAt, updatedAt } = row;
      const createdBy = row.createdBy ?? null;
      const values = [name, status, settings, secrets, managedBy, createdBy, createdAt, updatedAt] as const;
      // What is declared in the configuration has the same id whenever it comes back.
      const revived = reviveSubscription.get(...values, id, tenantId) as { seq: number } | undefined;
      if (revived !== undefined) return revived.seq;
      if (findId.get(id) !== undefined) {
        throw new PosthornError("conflict", `The id ${id} is taken. Choose another.`);
      }
      return Number(insertSubscription.run(id, tenantId, ...values).lastInsertRowid);
    },

    updateSubscription(seq: number, change: SubscriptionChange, updatedAt: number): void {
      if (change.name !== undefined) {
        const owner = findTenant.get(seq) as { tenant_id: string } | undefined;
        if (owner === undefined)
          throw new PosthornError("not_found", `There is no subscription with the number ${seq}.`);
        refuseSameName(owner.tenant_id, change.name, seq);
      }
      updateSubscription.run(
        change.name ?? null,
        change.status ?? null,
        change.settings ?? null,
        change.secrets ?? null,
        change.managedBy ?? null,
        change.breaker ?? null,
        updatedAt,
        seq,
      );
    },

    deleteSubscription(seq: number, at: number): void {
      deleteSubscription.run(at, seq);
    },

    loadOrSave(name: string, value: string): string {
      const row = selectMeta.get(name) as { value: string } | undefined;
      if (row === undefined) insertMeta.run(name, value);
      return row?.value ?? value;
    },

    noteNow(now: number): void {
      saveLatest.run("last_known_now", now);
    },
  };
}

export function createConfigurationReads(db: Database) {
  return {
    loadSubscriptions(): SubscriptionRow[] {
      const rows = db.prepare("select * from subscriptions order by seq").all() as unknown as SubscriptionSql[];
      return rows.map((row) => ({
        seq: row.seq,
        id: row.id,
        tenantId: row.tenant_id,
        name: row.name,
        status: row.status,
        settings: row.settings,
        secrets: row.secrets,
        managedBy: row.managed_by,
        createdBy: row.created_by ?? undefined,
        breaker: row.breaker ?? undefined,
        createdAt: row.created_at,
        updatedAt: row.updated_at,
        deletedAt: row.deleted_at ?? undefined,
      }));
    },
    loadHeldSubscriptions(): { subscriptionSeq: number; since: number }[] {
      const rows = db
        .prepare(
          "select seq, held_since from subscriptions where held_since is not null and deleted_at is null order by seq",
        )
        .all() as unknown as { seq: number; held_since: number }[];
      return rows.map((row) => ({ subscriptionSeq: row.seq, since: row.held_since }));
    },
  };
}

interface SubscriptionSql {
  seq: number;
  id: string;
  tenant_id: string;
  name: string;
  status: string;
  settings: string;
  secrets: Uint8Array;
  managed_by: ManagedBy;
  breaker: string | null;
  created_by: string | null;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
}
