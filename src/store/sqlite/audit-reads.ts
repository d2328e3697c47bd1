import type { AuditMark, AuditMarkName, AuditRow } from "../../model/audit.ts";
import type { AuditFilter, AuditPart } from "../port/audit.ts";
import type { Page, PageOf } from "../port/reads.ts";
import type { Database } from "./connection.ts";
import { conditions, parseCursor, readPage, toRow, type Prepare } from "./query-rows.ts";

export function createAuditReads(db: Database, prepare: Prepare) {
  const findMark = (name: AuditMarkName) =>
    prepare("select seq, hash, at, signature from audit_marks where name = ?").get(name) as AuditMark | undefined;

  function readPart(afterSeq: number, limit: number): AuditPart {
    const rows = prepare("select seq, entry, data, hash from audit where seq > ? order by seq limit ?");
    const { value } = prepare("select value from meta where key = 'store_id'").get() as { value: string };
    return {
      rows: rows.all(afterSeq, limit).map((row) => toRow(row as object)) as unknown as AuditRow[],
      storeId: value,
      head: findMark("head"),
      checkpoint: findMark("checkpoint"),
    };
  }

  return {
    list(filter: AuditFilter, page: Page): PageOf<AuditRow> {
      const { sql, values } = conditions([
        ["entry ->> '$.kind' = ?", filter.kind],
        ["entry ->> '$.id' = ?", filter.id],
        ["entry ->> '$.tenant_id' = ?", filter.tenantId],
        ["entry ->> '$.actor' = ?", filter.actor],
        ["entry ->> '$.act' = ?", filter.act],
        ["entry ->> '$.at' >= ?", filter.since],
        ["entry ->> '$.at' < ?", filter.until],
        ["json_type(data, ?) is not null", filter.member && `$.after.${filter.member}`],
        ["seq < ?", page.cursor === undefined ? undefined : parseCursor(page.cursor, 1)[0]],
      ]);
      const statement = prepare(`select seq, entry, data, hash from audit ${sql} order by seq desc limit ?`);
      const { shown, nextCursor } = readPage<AuditRow>(statement, values, page, ({ seq }) => String(seq));
      return { rows: shown, nextCursor };
    },

    /** Rows and marks of the same moment. */
    read(afterSeq: number, limit: number): AuditPart {
      db.exec("begin");
      try {
        return readPart(afterSeq, limit);
      } finally {
        db.exec("commit");
      }
    },
  };
}
