import type { ManagedBy } from "../../domain/subscription.ts";
import type { EventTypeRow } from "../store.ts";
import type { IdempotencyMark } from "../port/idempotency.ts";
import type { Database } from "./connection.ts";
import { createMarkWrite } from "./idempotency-keys.ts";

export function createEventTypeWrites(db: Database) {
  const save = db.prepare(`
    insert or replace into event_types (name, settings, managed_by, created_at, updated_at) values (?, ?, ?, ?, ?)`);
  const remove = db.prepare("delete from event_types where name = ?");
  const writeMark = createMarkWrite(db);
  return {
    saveEventTypes(rows: readonly EventTypeRow[], mark?: IdempotencyMark): void {
      writeMark(mark);
      for (const row of rows) save.run(row.name, row.settings, row.managedBy, row.createdAt, row.updatedAt);
    },
    deleteEventType(name: string): void {
      remove.run(name);
    },
  };
}

export function createEventTypeReads(db: Database) {
  return {
    loadEventTypes(): EventTypeRow[] {
      const rows = db.prepare("select * from event_types order by name").all() as unknown as EventTypeSql[];
      return rows.map((row) => ({
        name: row.name,
        settings: row.settings,
        managedBy: row.managed_by,
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      }));
    },
  };
}

interface EventTypeSql {
  name: string;
  settings: string;
  managed_by: ManagedBy;
  created_at: number;
  updated_at: number;
}
