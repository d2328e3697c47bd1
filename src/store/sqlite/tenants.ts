import type { TenantUsage } from "../port/reads.ts";
import type { Database, Statement } from "./connection.ts";

/** Inserts a tenant that nobody has configured, if it does not exist; with a new version unless one is given. */
export function createTenantInsert(db: Database): (id: string, at: number, version?: number) => void {
  const find = db.prepare(
    "select 1 from records where kind = 'tenant' and tenant_id = '' and id = ? and deleted_at is null",
  );
  const nextVersion = db.prepare(
    "update meta set value = value + 1 where key = 'record_version' returning value as version",
  );
  // A tenant that was configured before keeps its format, so that readers that know it notice that it is new.
  const insert = db.prepare(`
    insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
    values ('tenant', '', ?1, ?2, 0, '{}', ?3, ?3)
    on conflict (kind, tenant_id, id) do update set version = ?2, data = '{}', created_at = ?3, updated_at = ?3,
      deleted_at = null`);
  return (id, at, given) => {
    if (find.get(id) !== undefined) return;
    const version = given ?? (nextVersion.get() as { version: number }).version;
    insert.run(id, version, at);
  };
}

export function createTenantReads(prepare: (sql: string) => Statement) {
  return {
    loadTenantUsage(ids: readonly string[]): TenantUsage[] {
      return prepare(`
        select t.value as tenantId,
          (select count(*) from records s
            where s.kind = 'subscription' and s.tenant_id = t.value and s.deleted_at is null) as subscriptions,
          coalesce(sum(c.created - c.delivered - c.dead - c.cancelled), 0) as openDeliveries,
          coalesce(sum(c.stored_bytes), 0) as storedBytes
        from json_each(?1) t left join counters c on c.tenant_id = t.value group by t.key`).all(JSON.stringify(ids));
    },
  };
}
