import type { ManagedBy } from "../../domain/subscription.ts";
import type { IdempotencyMark } from "../port/idempotency.ts";
import type { RequestReplay, SourceRow } from "../store.ts";
import type { Database } from "./connection.ts";
import { createMarkWrite } from "./idempotency-keys.ts";

export function createSourceWrites(db: Database) {
  const save = db.prepare(`
    insert into sources (name, settings, managed_by, created_at, updated_at) values (?, ?, ?, ?, ?)
    on conflict (name) do update set settings = excluded.settings, managed_by = excluded.managed_by,
      updated_at = excluded.updated_at`);
  const remove = db.prepare("delete from sources where name = ?");
  const noteRequest = db.prepare(
    "update sources set last_request_at = max(coalesce(last_request_at, 0), ?) where name = ?",
  );
  const noteReplay = db.prepare(
    "update requests set replayed_at = ?, replayed_by = ?, replay_event_ids = ? where id = ?",
  );
  const writeMark = createMarkWrite(db);
  return {
    saveSource(row: SourceRow, mark?: IdempotencyMark): void {
      writeMark(mark);
      save.run(row.name, row.settings, row.managedBy, row.createdAt ?? null, row.updatedAt);
    },
    deleteSource(name: string): void {
      remove.run(name);
    },
    noteSourceRequests(rows: readonly { name: string; at: number }[]): void {
      for (const { name, at } of rows) noteRequest.run(at, name);
    },
    noteRequestReplay(id: string, { at, by, eventIds }: RequestReplay): void {
      noteReplay.run(at, by ?? null, JSON.stringify(eventIds), id);
    },
  };
}

export function createSourceReads(db: Database) {
  const selectBody = db.prepare("select body from requests where id = ?");
  return {
    loadSources(): SourceRow[] {
      const rows = db.prepare("select * from sources").all() as unknown as SourceSql[];
      return rows.map((row) => ({
        name: row.name,
        settings: row.settings,
        managedBy: row.managed_by,
        createdAt: row.created_at ?? undefined,
        updatedAt: row.updated_at,
        lastRequestAt: row.last_request_at ?? undefined,
      }));
    },
    loadRequestBody(id: string): Uint8Array | undefined {
      const row = selectBody.get(id) as { body: Uint8Array | null } | undefined;
      return row?.body ?? undefined;
    },
  };
}

interface SourceSql {
  name: string;
  settings: string;
  managed_by: ManagedBy;
  created_at: number | null;
  updated_at: number;
  last_request_at: number | null;
}
