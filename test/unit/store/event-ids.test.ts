import * as fc from "fast-check";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, it } from "vitest";
import { createEventIds } from "../../../src/store/sqlite/event-ids.ts";

function openEvents() {
  const db = new DatabaseSync(":memory:");
  db.exec(`
    create table events (seq integer primary key, id text not null, given_id integer not null) strict;
    create table event_id_marks (id text primary key, event_seq integer not null) strict, without rowid;
    create table event_ids (id text primary key, event_seq integer not null) strict, without rowid;`);
  const insert = db.prepare("insert into events values (?, ?, ?)");
  const count = (table: string) => (db.prepare(`select count(*) as rows from ${table}`).get() as { rows: number }).rows;
  return { db, insert, count };
}

describe("generated ids", () => {
  it("are found whatever their order, over restarts and between ids that senders gave", () => {
    const event = fc.record({ id: fc.integer({ min: 0, max: 5000 }), isGiven: fc.boolean(), restarts: fc.boolean() });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 400 }), (events) => {
        const { db, insert } = openEvents();
        let ids = createEventIds(db);
        const seqs = new Map<string, number>();
        let seq = 0;
        for (const { id: number, isGiven, restarts } of events) {
          const id = `evt_${String(number).padStart(5, "0")}`;
          if (!isGiven && seqs.has(id)) continue;
          insert.run(++seq, id, isGiven ? 1 : 0);
          if (!isGiven) {
            ids.record(seq, id);
            seqs.set(id, seq);
          }
          if (restarts) ids = createEventIds(db);
        }
        for (const [id, expected] of seqs) expect(ids.find(id)).toBe(expected);
        expect(ids.find("evt_99999")).toBeUndefined();
        db.close();
      }),
      { numRuns: 30 },
    );
  });

  it("that grow need one row in 128, and only what is out of order one of its own", () => {
    const { db, insert, count } = openEvents();
    const ids = createEventIds(db);
    for (let seq = 1; seq <= 1280; seq++) {
      const id = seq === 700 ? "evt_00001x" : `evt_${String(seq).padStart(5, "0")}`;
      insert.run(seq, id, 0);
      ids.record(seq, id);
    }
    expect(count("event_id_marks")).toBe(11);
    expect(count("event_ids")).toBe(1);
    expect(ids.find("evt_00001x")).toBe(700);
    db.close();
  });

  it("of a transaction that was undone leave nothing behind", () => {
    const { db, insert } = openEvents();
    const ids = createEventIds(db);
    const add = (seq: number, id: string) => {
      insert.run(seq, id, 0);
      ids.record(seq, id);
    };
    db.exec("begin");
    add(1, "evt_2");
    db.exec("rollback");
    ids.rollback();
    add(1, "evt_1");
    expect(ids.find("evt_1")).toBe(1);
    expect(ids.find("evt_2")).toBeUndefined();
    db.close();
  });
});
