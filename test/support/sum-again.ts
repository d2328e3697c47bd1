import { DatabaseSync } from "@photostructure/sqlite";
import type { Database } from "../../src/store/sqlite/connection.ts";
import {
  SUMMED_COLUMNS,
  sumBody,
  sumEventRow,
  sumRow,
  type SummedRequest,
  type SummedRow,
} from "../../src/store/sqlite/checked-rows.ts";

/** `sum_body(event_seq, body)` in SQL. */
export function addBodySum(db: Database): void {
  db.function("sum_body", {}, (seq: number, body: Uint8Array) => sumBody(seq, body));
}

/**
 * Gives all rows the checksum of what is in them now: the negative control of whoever expects damage to be found.
 */
export function sumAgain(file: string): void {
  const db = new DatabaseSync(file, { timeout: 5000 });
  try {
    addBodySum(db);
    db.function("sum_event", { varargs: true }, (...row: SummedRow) => sumEventRow(row));
    db.function("sum_request", { varargs: true }, (body: Uint8Array | null, ...request: SummedRequest) =>
      sumRow(request, body),
    );
    db.exec(`
      update events as e set checksum = sum_event(${SUMMED_COLUMNS});
      update bodies set checksum = sum_body(event_seq, body);
      update requests set checksum = sum_request(body, id, source, tenant_id, received_at, facts, size)`);
  } finally {
    db.close();
  }
}
