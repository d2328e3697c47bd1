import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { createTransactions } from "../../../src/store/sqlite/writer.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";

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
