import { existsSync } from "node:fs";
import { PosthornError } from "../../model/errors.ts";
import type { AuditPart } from "../port/audit.ts";
import { createAuditReads } from "./audit-reads.ts";
import { openReadConnection } from "./connection.ts";
import { createPrepare } from "./query-rows.ts";

/** Reads the audit log of a database, with or without a running gateway. Writes nothing. */
export function openAuditOf(file: string): { read(afterSeq: number, limit: number): AuditPart; close(): void } {
  if (!existsSync(file)) {
    throw new PosthornError("not_found", `There is no database ${file}. Pass the gateway's --data-dir.`);
  }
  const db = openReadConnection(file);
  const { found } = db.prepare("select count(*) as found from sqlite_master where name = 'audit_marks'").get() as {
    found: number;
  };
  if (found === 0) {
    db.close();
    throw new PosthornError(
      "not_found",
      `${file} has no audit log yet. The log begins when a gateway first starts on it.`,
    );
  }
  const { read } = createAuditReads(db, createPrepare(db));
  return { read, close: () => db.close() };
}
