import { PosthornError } from "../../model/errors.ts";
import type { IdempotencyMark } from "../port/records.ts";
import type { Database } from "./connection.ts";

/** Runs in the transaction that creates the resource: of two requests with the same key, the second creates nothing. */
export function createMarkWrite(db: Database): (mark: IdempotencyMark | undefined) => void {
  const insert = db.prepare(`
    insert into idempotency_keys (scope, key, fingerprint, made_id, made_at) values (?, ?, ?, ?, ?)
    on conflict do nothing`);
  return (mark) => {
    if (mark === undefined) return;
    const { scope, key, fingerprint, madeId, madeAt } = mark;
    if (insert.run(scope, key, fingerprint, madeId, madeAt).changes > 0) return;
    throw new PosthornError("conflict", "Another request with this Idempotency-Key has just been completed.");
  };
}

export function createMarkLookup(db: Database): (scope: string, key: string) => IdempotencyMark | undefined {
  const select = db.prepare(`
    select scope, key, fingerprint, made_id as madeId, made_at as madeAt from idempotency_keys
    where scope = ? and key = ?`);
  return (scope, key) => select.get(scope, key) as IdempotencyMark | undefined;
}
