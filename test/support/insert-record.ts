import type { RecordKind } from "../../src/store/port/records.ts";
import type { Database } from "../../src/store/sqlite/connection.ts";

/** Writes a record of the whole gateway past everything that would refuse it. */
export function insertRecord(db: Database, kind: RecordKind, id: string, data: string): void {
  db.exec("update meta set value = value + 1 where key = 'record_version'");
  db.prepare(
    `insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
     select ?, '', ?, value, 1, ?, 1, 1 from meta where key = 'record_version'`,
  ).run(kind, id, data);
}
