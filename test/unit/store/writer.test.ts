import { stored } from "../../../src/model/accepted.ts";
import { publishKey } from "../../../src/model/ids.ts";
import { PosthornError } from "../../../src/model/errors.ts";
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, afterAll } from "vitest";
import { hashKey } from "../../../src/store/sqlite/event-ids.ts";
import type { BatchResult, Command, WriteBatch } from "../../../src/store/commit/batch.ts";
import type { WriteRequest } from "../../../src/store/port/records.ts";
import { openReadConnection } from "../../../src/store/sqlite/connection.ts";
import { createQueries } from "../../../src/store/sqlite/queries.ts";
import { openWriter, createTransactions } from "../../../src/store/sqlite/writer.ts";
import { DatabaseSync } from "@photostructure/sqlite";
import {
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  newSubscription,
  NOON,
} from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";

const HASH_KEY = "ab".repeat(32);
const NO_WORK: WriteBatch = {
  at: { now: NOON, wall: NOON },
  rows: 0,
  settles: [],
  accepts: [],
  commands: [],
  requests: [],
  claims: [],
};

function writeOf({ changes, ...rest }: WriteRequest): Command {
  return { port: "records", name: "write", args: [changes, rest] };
}

describe("the writer", () => {
  const folder = useFolder();

  function openBoth() {
    const file = join(folder.path, "posthorn.db");
    const writer = openWriter({ file, dedupeHorizonMs: 1000, hashKeyHex: HASH_KEY, storeId: "str_1" });
    const db = openReadConnection(file);
    const end = { close: () => writer.close() };
    folder.onEnd(() => end.close());
    folder.onEnd(() => db.close());
    const commitTogether = (batches: readonly Partial<WriteBatch>[]) =>
      writer.commit(batches.map((batch) => ({ ...NO_WORK, ...batch })));
    const commit = (batch: Partial<WriteBatch>) => commitTogether([batch])[0] as BatchResult;
    const lane = (name: string) => {
      const [result] = commit({ commands: [writeOf(newSubscription(name))] }).commands;
      return (result as { value: { seqs: number[] } }).value.seqs[0] as number;
    };
    return { writer, commit, commitTogether, lane, reads: createQueries(db).reads, db, file, end };
  }

  it("answers before it moves the log into the database", () => {
    const { writer, commit, lane, db } = openBoth();
    const event = () => ({ event: newEvent({ body: Buffer.alloc(100_000) }), deliveries: [] });
    const seq = lane("a");
    const read = db.prepare("pragma wal_checkpoint(noop)");
    const look = () => read.get() as { log: number; checkpointed: number };
    while (look().log < 2000) commit({ accepts: Array.from({ length: 20 }, event) });
    expect(commit({ accepts: [event()] }).accepts).toHaveLength(1);
    expect(look().checkpointed).toBe(0);
    expect(writer.checkpoint()).toBeUndefined();
    expect(look().checkpointed).toBeGreaterThan(2000);
    expect(commit({ claims: [{ subscriptionSeq: seq, limit: 1 }] }).fatal).toBeUndefined();
  });

  /** Another program changes the file: the next write by the writer sees it. */
  function change(file: string, sql: string): void {
    const db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
  }

  it("stores the neighbours of each kind of item that fails, and counts only what it stored", () => {
    const { commit, lane, reads } = openBoth();
    const seq = lane("one");
    commit({ accepts: [1, 2].map(() => ({ event: newEvent(), deliveries: [newDelivery(seq, { claim: true })] })) });
    const good = () => ({ event: newEvent(), deliveries: [newDelivery(seq)] });
    const settle = (eventSeq: number, startedAt: number) => {
      const settlement = newSettlement({ eventSeq, subscriptionSeq: seq });
      return { ...settlement, attempt: { ...settlement.attempt, startedAt } };
    };
    const result = commit({
      settles: [settle(1, NOON + 0.5), settle(2, NOON)],
      accepts: [good(), { ...good(), event: newEvent({ dueAt: NOON + 0.5 }) }, good()],
      commands: [
        { port: "events", name: "fanOut", args: [1, [newDelivery(seq + 1, { expiresAt: NOON + 0.5 })], undefined] },
        writeOf(newSubscription("two")),
      ],
      requests: [newRequest("req_1"), { ...newRequest("req_2"), size: 0.5 }, newRequest("req_3")],
      claims: [{ subscriptionSeq: seq, limit: 9 }],
    });
    expect(result.fatal).toBeUndefined();
    expect(result.settles).toEqual([{ failed: expect.anything() }, { applied: true, next: undefined, movedUp: false }]);
    expect(result.accepts).toMatchObject([{ eventSeq: 3 }, { failed: { fault: "item" } }, { eventSeq: 4 }]);
    expect(result.commands).toMatchObject([{ failed: { fault: "item" } }, { value: { kind: "written" } }]);
    expect(result.claims).toMatchObject([{ claimed: [{ eventSeq: 3 }, { eventSeq: 4 }] }]);
    expect(reads.loadCounters().deliveries).toMatchObject([{ created: 4, delivered: 1, attempts: 1 }]);
    expect(reads.loadCounters().events).toMatchObject([{ accepted: 4 }]);
    const { rows } = reads.listRequests({}, { limit: 9, cursor: undefined });
    expect(rows.map(({ id }) => id)).toEqual(["req_3", "req_1"]);
  });

  it("takes several batches into one transaction, and an item that fails fails alone", () => {
    const { commitTogether, lane, reads } = openBoth();
    const seq = lane("one");
    const batch = (dueAt: number) => ({ accepts: [{ event: newEvent({ dueAt }), deliveries: [newDelivery(seq)] }] });
    const stored = commitTogether([batch(NOON), batch(NOON)]).flatMap(({ accepts }) => accepts);
    expect(stored).toMatchObject([{ eventSeq: 1 }, { eventSeq: 2 }]);
    const mixed = commitTogether([batch(NOON), batch(NOON + 0.5), batch(NOON)]).flatMap(({ accepts }) => accepts);
    expect(mixed).toMatchObject([{ eventSeq: 3 }, { failed: { fault: "item" } }, { eventSeq: 4 }]);
    expect(reads.loadCounters()).toMatchObject({ events: [{ accepted: 4 }] });
  });

  it("leaves nothing of a batch behind that fails whole", () => {
    const { commit, lane, reads, file } = openBoth();
    const seq = lane("one");
    change(file, "create trigger no before insert on events begin select raise(abort, 'not today'); end");
    const accepts = [1, 2].map(() => ({ event: newEvent(), deliveries: [newDelivery(seq)] }));
    expect(commit({ accepts }).accepts).toMatchObject([{ failed: { message: "not today" } }, { failed: {} }]);
    expect(reads.loadCounters()).toEqual({ events: [], deliveries: [] });
    change(file, "drop trigger no");
    expect(commit({ accepts }).accepts).toMatchObject([{ eventSeq: 1 }, { eventSeq: 2 }]);
  });

  it("stops at a fault that leaves the disk unknown, and says so", () => {
    const { commit, file, end } = openBoth();
    // Another program's write makes the writer read again what it had in memory, and there it is gone.
    change(file, "insert into meta (key, value) values ('x', 1)");
    const log = readFileSync(`${file}-wal`);
    truncateSync(`${file}-wal`);
    const accepts = [1, 2].map(() => ({ event: newEvent(), deliveries: [] }));
    const { accepts: results, fatal } = commit({ accepts });
    expect(fatal).toMatchObject({ fault: "fatal" });
    expect(results).toEqual([{ failed: fatal }, { failed: fatal }]);
    // Nothing is written any more, whatever was under way.
    expect(commit({ accepts })).toMatchObject({ accepts: [{ failed: fatal }, { failed: fatal }], fatal });
    // Not even when the disk seems well again, and not by the last checkpoint.
    writeFileSync(`${file}-wal`, log);
    const database = readFileSync(file);
    end.close();
    expect(readFileSync(file).equals(database)).toBe(true);
    expect(statSync(`${file}-wal`).size).toBe(log.length);
    end.close = () => undefined;
  });

  it("steps on when the place of a dedupe key is taken by another key", () => {
    const { commit, reads, file } = openBoth();
    const key = publishKey("order-1");
    const place = hashKey(Buffer.from(HASH_KEY, "hex"), "default", key);
    commit({ accepts: [{ event: newEvent({ id: "a", givenId: true, dedupeKey: publishKey("a") }), deliveries: [] }] });
    change(file, `insert into dedupe (hash, event_seq) values (${place}, 1), (${place + 1n}, 1)`);
    const event = newEvent({ id: "order-1", givenId: true, dedupeKey: key });
    const twice = commit({ accepts: [event, { ...event }].map((one) => ({ event: one, deliveries: [] })) });
    expect(twice.accepts).toEqual([stored("order-1", 2, []), { kind: "duplicate", eventId: "order-1" }]);
    expect(reads.findEvent("order-1", "default")).toMatchObject({ seq: 2 });
    expect(reads.findEvent("a", "default")).toMatchObject({ seq: 1 });
  });

  it("keeps dedupe keys whole that hold NUL", () => {
    const { commit } = openBoth();
    const accepts = ["shop\0a\0b", "shop\0a\0c", "shop\0a\0b"].map((dedupeKey) => ({
      event: newEvent({ dedupeKey }),
      deliveries: [],
    }));
    const kinds = commit({ accepts }).accepts.map((one) => "kind" in one && one.kind);
    expect(kinds).toEqual(["stored", "stored", "duplicate"]);
  });

  it("keeps the newest 1000 rejected requests of each ring", () => {
    const { commit, db } = openBoth();
    for (let batch = 0; batch < 3; batch++) {
      commit({ requests: Array.from({ length: 500 }, (_, i) => newRequest(`req_${batch * 500 + i}`)) });
    }
    commit({ requests: [newRequest("req_other", { ring: "other" })] });
    const rings = db
      .prepare("select ring, count(*) as rows, min(id) as first from requests group by ring order by ring")
      .all();
    expect(rings).toEqual([
      { ring: "other", rows: 1, first: "req_other" },
      { ring: "shop", rows: 1000, first: "req_1000" },
    ]);
  });

  it("keeps at most 64 MB of rejected requests in a ring, and always the newest", () => {
    const { commit, db } = openBoth();
    const total = () =>
      (db.prepare("select sum(length(body)) as bytes from requests").get() as { bytes: number }).bytes;
    const body = new Uint8Array(4 * 1024 * 1024);
    for (let i = 0; i < 18; i++) commit({ requests: [newRequest(`req_${i}`, { body })] });
    expect(total()).toBe(15 * body.length);
    commit({ requests: [newRequest("req_huge", { body: new Uint8Array(65 * 1024 * 1024) })] });
    expect(db.prepare("select id from requests").all()).toEqual([{ id: "req_huge" }]);
  });
});

describe("a transaction", () => {
  afterAll(collectGarbage);

  /** A table with what was written, and a part that notes what it will write and counts what it has. */
  function open(maxPages = 1000) {
    const db = new DatabaseSync(":memory:");
    db.exec(`create table t (name text primary key, body blob) strict; pragma max_page_count = ${maxPages}`);
    const insert = db.prepare("insert into t (name, body) values (?, ?)");
    const list = db.prepare("select name from t order by rowid");
    const names = () => list.all().map(({ name }) => name);
    let notes: string[] = [];
    let known = 0;
    const memory = {
      write() {
        for (const name of notes) insert.run(name, null);
        notes = [];
      },
      rollback() {
        notes = [];
        known = names().length;
      },
    };
    const add = (name: string, bytes = 0) => {
      insert.run(name, new Uint8Array(bytes));
      known = names().length;
    };
    const { commit, attempt } = createTransactions(db, [memory]);
    return { db, commit, attempt, add, note: (name: string) => void notes.push(name), names, known: () => known };
  }

  const fail = (error: Error): never => {
    throw error;
  };

  it("goes on without an attempt that failed, whose notes are forgotten and those of others kept", () => {
    const { db, commit, attempt, add, note, names, known } = open();
    const answers = commit(() => {
      add("a");
      note("noted by a");
      const failed = attempt(() => {
        add("b");
        note("noted by b");
        return fail(new PosthornError("conflict", "no", { details: { a: 1 } }));
      });
      expect(known()).toBe(2);
      const taken = attempt(() => add("a") as never);
      const kept = attempt(() => {
        note("noted by c");
        return { ok: true };
      });
      return [failed, taken, kept];
    });
    expect(answers).toMatchObject([
      { failed: { fault: "item", code: "conflict", message: "no", details: { a: 1 } } },
      { failed: { fault: "item" } },
      { ok: true },
    ]);
    expect(names()).toEqual(["a", "noted by a", "noted by c"]);
    db.close();
  });

  it("is undone whole when one attempt finds no room, because SQLite has undone the others with it", () => {
    const { db, commit, attempt, add, note, names, known } = open(8);
    const full = () =>
      commit(() => {
        add("a");
        note("noted");
        attempt(() => add("b", 100_000) as never);
        expect.fail("an attempt without room was answered");
      });
    expect(full).toThrow("database or disk is full");
    expect([names(), known(), db.isTransaction]).toEqual([[], 0, false]);
    commit(() => add("c"));
    expect(names()).toEqual(["c"]);
    db.close();
  });

  it("is undone whole when an attempt in an attempt cannot go on", () => {
    const { db, commit, attempt, add, names } = open(8);
    const nest = (inner: () => never) =>
      commit(() =>
        attempt(() => {
          add("a");
          return attempt(inner);
        }),
      );
    expect(() => nest(() => add("b", 100_000) as never)).toThrow("database or disk is full");
    expect(names()).toEqual([]);
    const kept = nest(() => fail(new Error("only the inner one")));
    expect(kept).toMatchObject({ failed: { message: "only the inner one" } });
    expect(names()).toEqual(["a"]);
    db.close();
  });
});
