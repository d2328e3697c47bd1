import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createAccept } from "../../../src/store/sqlite/accept.ts";
import { createAuditLog } from "../../../src/store/sqlite/audit.ts";
import { createClaim, createExpire } from "../../../src/store/sqlite/claim.ts";
import { openWriteConnection, type Database } from "../../../src/store/sqlite/connection.ts";
import { createCounterDeltas } from "../../../src/store/sqlite/counters.ts";
import { createDeliveryChanges, createLaneChanges } from "../../../src/store/sqlite/delivery-changes.ts";
import { createMoves, createMoveOver } from "../../../src/store/sqlite/move.ts";
import { createQueries } from "../../../src/store/sqlite/queries.ts";
import { createReplayWrites } from "../../../src/store/sqlite/replays.ts";
import { createRecover, createSendingWalk } from "../../../src/store/sqlite/sending.ts";
import { createRequestRing } from "../../../src/store/sqlite/requests.ts";
import { createSettle } from "../../../src/store/sqlite/settle.ts";
import { createUnreadableRows } from "../../../src/store/sqlite/checked-rows.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

describe("the query plans", () => {
  const folder = useFolder();

  /** Each statement that `prepare` is asked for by the parts of the store, with its plan. */
  function plansOf(use: (db: Database) => void): Map<string, string> {
    const { db } = openWriteConnection({ file: join(folder.path, "posthorn.db") });
    folder.onEnd(() => db.close());
    db.exec("insert into meta (key, value) values ('dedupe_hash_key', '00')");
    const plans = new Map<string, string>();
    const watched = {
      exec: (sql: string) => db.exec(sql),
      prepare(sql: string) {
        const steps = db.prepare(`explain query plan ${sql}`).all() as unknown as { detail: string }[];
        plans.set(sql.replaceAll(/\s+/g, " ").trim(), steps.map(({ detail }) => detail).join("; "));
        return db.prepare(sql);
      },
    } as Database;
    use(watched);
    return plans;
  }

  function useWriter(db: Database): void {
    const at = { now: NOON, wall: NOON };
    const counters = createCounterDeltas(db);
    const unreadable = createUnreadableRows(db);
    const moves = createMoves(db, counters, unreadable, at);
    const sending = createSendingWalk(db);
    const accept = createAccept(db, counters, moves, sending, {
      dedupeHorizonMs: 1,
      hashKey: new Uint8Array(32),
      storeId: "here",
    });
    const claim = createClaim(db, moves, unreadable, createExpire(db, moves).one, sending);
    const moveOver = createMoveOver(moves, accept, at);
    createRecover(db, moves, unreadable, createSettle(db, moves, moveOver, claim, counters), () => undefined, at);
    createRequestRing(db);
    createDeliveryChanges(db, moves, accept, at);
    createLaneChanges(db, { at, moves, moveOver, claim });
    const audit = createAuditLog(db, "str_1", undefined);
    createReplayWrites(db, { moves, accept, audit, at });
  }

  function planOf(plans: Map<string, string>, ...words: readonly string[]): string {
    const found = [...plans].filter(([sql]) => words.every((word) => sql.includes(word)));
    expect(found, `statements with ${words.join(", ")}`).not.toHaveLength(0);
    return found.map(([, plan]) => plan).join("\n");
  }

  it("claim by the index of the lanes alone, in its order", () => {
    const plans = plansOf(useWriter);
    const due = planOf(plans, "order by d.rank limit ?3");
    expect(due).toContain("SEARCH d USING INDEX lanes (subscription_seq=? AND rank");
    expect(due).not.toContain("TEMP B-TREE");
    const next = planOf(plans, "min(next_attempt_at)");
    expect(next).toContain("USING COVERING INDEX lanes");
    const sending = planOf(plans, "union all", "listed = 0 order by event_seq, subscription_seq");
    expect(sending).toMatch(/COVERING INDEX sending[\s\S]*SEARCH deliveries USING PRIMARY KEY \(event_seq>\?\)/);
    expect(sending).not.toContain("TEMP B-TREE");
  });

  it("find the head of a key, what has expired and what to cancel by their own indexes", () => {
    const plans = plansOf(useWriter);
    expect(planOf(plans, "queued_key = ? order by event_seq limit 1")).toContain("INDEX key_queues");
    expect(planOf(plans, "event_seq < ?3 or rank")).toContain("INDEX key_queues (subscription_seq=? AND queued_key=?");
    expect(planOf(plans, "d.state < 2 and d.state = 0 and d.expires_at")).toContain(
      "INDEX expiring (expires_at>? AND expires_at<?)",
    );
    expect(planOf(plans, "union all", "state = 1", "limit 500")).toMatch(
      /INDEX lanes[\s\S]*INDEX sending[\s\S]*PRIMARY KEY \(event_seq>\?\)[\s\S]*INDEX key_queues/,
    );
    const skipped = planOf(plans, "union all", "attempt_count > 0 or");
    expect(skipped).toMatch(/INDEX lanes \(subscription_seq=[\s\S]*INDEX key_queues \(subscription_seq=/);
    const givenUp = planOf(plans, "union all", "'held_too_long' as reason");
    expect(givenUp).toMatch(/INDEX lanes \(subscription_seq=\? AND rank>\? AND rank<[\s\S]*INDEX key_queues/);
  });

  it("never scan a table that grows with the events, on the way of an event", () => {
    const scans = [...plansOf(useWriter)].filter(([, plan]) =>
      // What is being sent is bounded by what may be claimed.
      /SCAN (d|e|deliveries|events|attempts|bodies|dedupe)\b(?! USING (COVERING )?INDEX sending)/.test(plan),
    );
    // The last sequence number is the end of its own table.
    expect(scans.filter(([sql]) => sql !== "select max(seq) as seq from events")).toEqual([]);
  });

  it("read an event, dead letters and what a crash interrupted by index", () => {
    const page = { limit: 10, cursor: undefined };
    const plans = plansOf((db) => {
      const { events, reads } = createQueries(db);
      reads.findEvent("evt_1", "default");
      reads.listDeadLetters({ tenantId: "default" }, page);
      reads.listDeadLetters({}, { limit: 10, cursor: `${NOON}.1.1` });
      reads.listDeliveries({ eventSeq: 1 }, page);
      events.loadUnfinishedFanOuts();
    });
    expect(planOf(plans, "from event_id_marks where id <=")).toContain("PRIMARY KEY (id<?)");
    expect(planOf(plans, "and id = ?2 and given_id = 0")).toContain("PRIMARY KEY (rowid>? AND rowid<?)");
    expect(planOf(plans, "d.state = 3 and (select tenant_id")).toContain("INDEX dead_letters");
    expect(planOf(plans, "d.state = 3 and (d.completed_at")).toContain("INDEX dead_letters (");
    expect(planOf(plans, "d.state = 3 and")).not.toContain("TEMP B-TREE");
    expect(planOf(plans, "d.event_seq = ? order by")).toContain("PRIMARY KEY (event_seq=?)");
    expect(planOf(plans, "fan_out_cursor is not null order by seq")).toContain("INDEX events_fanning_out");
  });

  it("read the dead letters of a subscription and of a time by index, in its order", () => {
    const page = { limit: 10, cursor: undefined };
    const plans = plansOf((db) => {
      const { reads } = createQueries(db);
      reads.listDeadLetters({ subscriptionSeq: 1, reason: "gone" }, page);
      reads.listDeadLetters({ since: NOON, until: NOON + 1, type: "a" }, page);
    });
    expect(planOf(plans, "d.subscription_seq = ?")).toContain(
      "SEARCH d USING INDEX dead_letters_by_subscription (subscription_seq=?)",
    );
    expect(planOf(plans, "d.completed_at >= ?")).toContain("INDEX dead_letters (completed_at>? AND completed_at<?)");
    expect(planOf(plans, "d.state = 3")).not.toContain("TEMP B-TREE");
  });

  it("group the latest dead letters by index, and sort nothing but the groups", () => {
    const plans = plansOf((db) => {
      const { reads } = createQueries(db);
      reads.groupDeadLetters({}, 100);
    });
    const plan = planOf(plans, "group by g.seq");
    expect(plan).toMatch(/SCAN d USING INDEX dead_letters\b/);
    expect(plan.slice(0, plan.indexOf("SCAN g"))).not.toContain("TEMP B-TREE");
  });

  it("group them without the events, which are large, unless a filter asks for these", () => {
    const plans = plansOf((db) => {
      const { reads } = createQueries(db);
      reads.groupDeadLetters({ reason: "gone" }, 100);
      reads.groupDeadLetters({ type: "a" }, 100);
    });
    expect(planOf(plans, "group by g.seq", "d.dead_reason = ?")).not.toContain("SEARCH e");
    expect(planOf(plans, "group by g.seq", "e.type = ?")).toContain("SEARCH e USING INTEGER PRIMARY KEY");
  });

  it("find the counters of a few subscriptions by their key", () => {
    const plans = plansOf((db) => void createQueries(db).reads.loadDeliveryCounters([1, 2]));
    expect(planOf(plans, "join counters c")).toContain(
      "SEARCH c USING PRIMARY KEY (tenant_id=? AND subscription_seq=?)",
    );
  });

  it("search deliveries from the newest down, in steps between two of them", () => {
    const page = { limit: 10, cursor: undefined };
    const plans = plansOf((db) => {
      const { reads } = createQueries(db);
      reads.listDeliveries({ tenantId: "t", state: "pending" }, page);
      reads.listDeliveries({ state: "dead" }, page);
    });
    const step = planOf(plans, "where seq = d.subscription_seq) = ? and d.state = ?");
    expect(step).toContain("SEARCH d USING PRIMARY KEY ((event_seq,subscription_seq)>(?,?) AND");
    expect(planOf(plans, "d.state = 3", "limit 1 offset")).toContain("COVERING INDEX dead_letters_by_event");
    expect(planOf(plans, "d.state = 3", "e.id as eventId")).toContain("INDEX dead_letters_by_event");
    expect(planOf(plans, "from deliveries d")).not.toContain("TEMP B-TREE");
  });

  it("walk over deliveries and events from where they are, without sorting", () => {
    const after = { eventSeq: 5, subscriptionSeq: 1 };
    const page = { limit: 10, maxScanned: 10 };
    const filter = { tenantId: "t", type: "a", since: NOON, upToSeq: 9, now: NOON };
    const plans = plansOf((db) => {
      const { reads } = createQueries(db);
      reads.walk({ over: "dead", ...filter }, after, page);
      reads.walk({ over: "dead", subscriptionSeq: 1, ...filter }, after, page);
      reads.walk({ over: "open", ...filter }, after, page);
      reads.walk({ over: "events", subscriptionSeq: 1, include: "any", ...filter }, after, page);
      reads.countReopened([1], 10);
    });
    expect(planOf(plans, "indexed by dead_letters_by_event")).toContain("INDEX dead_letters_by_event");
    expect(planOf(plans, "d.state < 2 and")).toContain(
      "SEARCH d USING PRIMARY KEY ((event_seq,subscription_seq)>(?,?)",
    );
    expect(planOf(plans, "from events e left join")).toContain(
      "SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
    );
    expect(planOf(plans, "next_trigger = 3 limit")).toContain("COVERING INDEX replays_open (subscription_seq=?");
    expect(planOf(plans, "isWanted")).not.toContain("TEMP B-TREE");
  });

  it("search events by their place in the log, and leap by index", () => {
    const plans = plansOf((db) => {
      db.exec(
        "insert into events select 1, '', 0, '', '', '', '', 0, 0, 0, 0, 0, 0, 0, 0, x'', '', '', '', 0, 0, 0, x'', null, 0",
      );
      const { reads } = createQueries(db);
      for (const status of ["FAILED", "PENDING"] as const) {
        reads.listEvents({ status, type: "a", id: "b" }, { limit: 10, cursor: "5" });
      }
    });
    expect(planOf(plans, "substr(e.id")).toBe("SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    expect(planOf(plans, "state = 3 and event_seq <")).toContain("COVERING INDEX dead_letters_by_event (event_seq<?)");
    expect(planOf(plans, "from event_ids where id")).toContain("PRIMARY KEY (id=?)");
    expect(planOf(plans, "from event_blocks where segment = ? and block between")).toBe(
      "SEARCH event_blocks USING PRIMARY KEY (segment=? AND block>? AND block<?)",
    );
    expect(planOf(plans, "union all select seq from events")).toMatch(
      /COVERING INDEX lanes[\s\S]*COVERING INDEX sending[\s\S]*PRIMARY KEY \(event_seq>\?\)[\s\S]*INDEX key_queues[\s\S]*INDEX events_fanning_out/,
    );
  });
});
