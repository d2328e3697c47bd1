import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { DELIVERY_STATES, STATE } from "../../../src/model/delivery.ts";
import { openWriteConnection } from "../../../src/store/sqlite/connection.ts";
import { createCounterDeltas } from "../../../src/store/sqlite/counters.ts";
import { createMoves, type DeliveryRow } from "../../../src/store/sqlite/move.ts";
import { createUnreadableRows } from "../../../src/store/sqlite/checked-rows.ts";
import { useFolder } from "../../support/store-folder.ts";

function codeOf(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

describe("a move of a delivery", () => {
  const folder = useFolder();

  it("is rejected when its state does not allow the act, and then nothing is written", () => {
    const { db } = openWriteConnection({ file: join(folder.path, "posthorn.db") });
    folder.onEnd(() => db.close());
    const moves = createMoves(db, createCounterDeltas(db), createUnreadableRows(db), { now: 1, wall: 1 });
    db.exec(`
      insert into events (seq, id, given_id, type, version, source, tenant_id, priority, origin, occurred_at, received_at,
        published_at, due_at, delivery_count, size, checksum)
      values (1, 'e', 0, 'a', '1', 's', 'default', 2, 0, 1, 1, 1, 1, 1, 0, 0)`);
    const end = { endedAt: 1, attemptCount: 1, leavesKeyQueue: true };
    const due = { attemptCount: 1, uncountedAttempts: 0, recoveries: 0 };
    const acts: Record<string, { allowed: readonly string[]; run: (row: DeliveryRow) => unknown }> = {
      succeed: { allowed: ["sending"], run: (row) => moves.end(row, "delivered", end) },
      giveUp: { allowed: ["pending", "sending"], run: (row) => moves.end(row, "dead", end) },
      cancel: { allowed: ["pending", "sending", "dead"], run: (row) => moves.end(row, "cancelled", end) },
      retry: { allowed: ["sending"], run: (row) => moves.makeDue(row, 1, { ...due, act: "retry" }) },
      bringForward: {
        allowed: ["pending"],
        run: (row) => moves.makeDue(row, 1, { ...due, act: "bring_forward" }),
      },
      replay: {
        allowed: ["delivered", "dead", "cancelled"],
        run: (row) => moves.reopen(row, "replay", { ordered: false, expiresAt: undefined }),
      },
    };
    let subscriptionSeq = 0;
    for (const state of DELIVERY_STATES) {
      for (const { allowed, run } of Object.values(acts)) {
        db.prepare(`insert into deliveries (event_seq, subscription_seq, state, ordered, generation, attempt_count,
          uncounted_attempts, recoveries, next_trigger, created_at) values (1, ?, ?, 0, 1, 0, 0, 0, 0, 1)`).run(
          ++subscriptionSeq,
          STATE[state],
        );
        const row = moves.find(1, subscriptionSeq) as DeliveryRow;
        const after = { code: codeOf(() => run(row)), row: moves.find(1, subscriptionSeq) };
        const isAllowed = allowed.includes(state);
        expect(after.code).toBe(isAllowed ? undefined : "illegal_transition");
        expect(isAllowed || isDeepStrictEqual(after.row, row)).toBe(true);
      }
    }
  });
});
