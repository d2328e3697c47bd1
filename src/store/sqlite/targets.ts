import type { ManagedBy } from "../../domain/subscription.ts";
import type { IdempotencyMark } from "../port/idempotency.ts";
import type { TargetRow } from "../port/targets.ts";
import type { Database } from "./connection.ts";
import { createMarkWrite } from "./idempotency-keys.ts";

export function createTargetWrites(db: Database) {
  const save = db.prepare(`
    insert into targets (tenant_id, name, settings, managed_by, mode, updated_at) values (?, ?, ?, ?, ?, ?)
    on conflict do update set settings = excluded.settings, managed_by = excluded.managed_by,
      mode = coalesce(excluded.mode, mode), updated_at = excluded.updated_at`);
  const remove = db.prepare("delete from targets where tenant_id = ? and name = ?");
  const writeMark = createMarkWrite(db);
  return {
    saveTarget({ tenantId, name, settings, managedBy, mode, updatedAt }: TargetRow, mark?: IdempotencyMark): void {
      writeMark(mark);
      save.run(tenantId, name, settings, managedBy, mode ?? null, updatedAt);
    },
    deleteTarget(tenantId: string, name: string): void {
      remove.run(tenantId, name);
    },
  };
}

export function createTargetReads(db: Database) {
  return {
    loadTargets(): TargetRow[] {
      const rows = db.prepare("select * from targets order by tenant_id, name").all() as unknown as TargetSql[];
      return rows.map((row) => ({
        tenantId: row.tenant_id,
        name: row.name,
        settings: row.settings,
        managedBy: row.managed_by,
        mode: row.mode ?? undefined,
        updatedAt: row.updated_at,
      }));
    },
  };
}

interface TargetSql {
  tenant_id: string;
  name: string;
  settings: string;
  managed_by: ManagedBy;
  mode: string | null;
  updated_at: number;
}
