import { DatabaseSync } from "@photostructure/sqlite";
import * as fc from "fast-check";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { BatchResult, WriteBatch } from "../../../src/store/commit/batch.ts";
import type { WriteRequest } from "../../../src/store/port/records.ts";
import { openReadConnection } from "../../../src/store/sqlite/connection.ts";
import { openWriter } from "../../../src/store/sqlite/writer.ts";
import { countCommits } from "../../support/log-commits.ts";
import {
  newAttempt,
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  newSubscription,
  NOON,
} from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

const NO_WORK: WriteBatch = {
  at: { now: NOON, wall: NOON },
  rows: 0,
  settles: [],
  accepts: [],
  commands: [],
  requests: [],
  claims: [],
};
/** No column takes half a millisecond. */
const IMPOSSIBLE = NOON + 0.5;
const LANE = 1;
/** Expects what is not there. */
const CHANGE = { act: "put", kind: "tenant", tenantId: "", id: "default", expected: 999, format: 1, data: "{}" };
/** When its own tenant was made is up to each database. */
const TENANTS = "(select id, data from records where kind = 'tenant')";
const TABLES = [
  TENANTS,
  "events",
  "deliveries",
  "attempts",
  "counters",
  "requests",
  "meta",
  "idempotency_keys",
  "jobs",
];

function argsOf({ changes, ...rest }: WriteRequest) {
  return [changes, rest];
}

describe("a batch in which items cannot be written", () => {
  const folder = useFolder();

  function open(name = "one") {
    const file = join(folder.path, `${name}.db`);
    const writer = openWriter({
      file,
      dedupeHorizonMs: 1000,
      hashKeyHex: "ab".repeat(32),
      storeId: "str_1",
      synchronous: "OFF",
    });
    folder.onEnd(() => writer.close());
    const db = openReadConnection(file);
    folder.onEnd(() => db.close());
    const commitTogether = (batches: readonly Partial<WriteBatch>[]) =>
      writer.commit(batches.map((batch) => ({ ...NO_WORK, ...batch })));
    const commit = (batch: Partial<WriteBatch>) => commitTogether([batch])[0] as BatchResult;
    commit({ commands: [{ port: "records", name: "write", args: argsOf(newSubscription("one")) }] });
    const dump = () =>
      Object.fromEntries(TABLES.map((table) => [table, db.prepare(`select * from ${table} order by 1, 2`).all()]));
    return { file, commit, commitTogether, dump };
  }

  /** Another program changes the file: the next write by the writer sees it. */
  function change(file: string, sql: string): void {
    const db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
  }

  const impossibleFanOut = () => ({
    port: "events",
    name: "fanOut",
    args: [1, [newDelivery(LANE + 1, { expiresAt: IMPOSSIBLE })], undefined],
  });
  const acceptOf = (id: string, dueAt = NOON, tenantId = "default") => ({
    event: newEvent({ id, dueAt, tenantId }),
    deliveries: [newDelivery(LANE, { claim: true })],
  });

  it("is one commit, whatever kinds of items they are and however many batches were joined", () => {
    const { file, commit, commitTogether } = open();
    commit({ accepts: ["a", "b"].map((id) => acceptOf(id)) });
    const settle = (eventSeq: number, startedAt: number) =>
      newSettlement({ eventSeq, subscriptionSeq: LANE }, { attempt: newAttempt({ startedAt }) });
    const before = countCommits(file);
    const results = commitTogether([
      { settles: [settle(1, IMPOSSIBLE), settle(2, NOON)], accepts: [acceptOf("c"), acceptOf("d", IMPOSSIBLE)] },
      {
        commands: [impossibleFanOut()],
        requests: [{ ...newRequest("req_1"), size: 0.5 }],
      },
      { accepts: [acceptOf("e")], requests: [newRequest("req_2")] },
    ]);
    expect(countCommits(file) - before).toBe(1);
    expect(results).toMatchObject([
      { settles: [{ failed: { fault: "item" } }, { applied: true }], accepts: [{ eventSeq: 3 }, { failed: {} }] },
      { commands: [{ failed: { fault: "item" } }] },
      { accepts: [{ eventSeq: 4 }] },
    ]);
    // The count sees what it is to see: as many transactions are as many commits.
    for (const id of ["f", "g", "h"]) commit({ accepts: [acceptOf(id)] });
    expect(countCommits(file) - before).toBe(4);
  });

  it("leaves what it would leave without them: numbers, counters, rings and tenants too", () => {
    const step = fc.record({
      kind: fc.constantFrom("accept", "settle", "request", "fan-out", "refused record", "job"),
      isBad: fc.boolean(),
      tenant: fc.constantFrom("default", "acme", "globex"),
    });
    let runs = 0;
    fc.assert(
      fc.property(fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 3 }), (plan) => {
        runs++;
        const [mixed, clean] = [open(`mixed-${runs}`), open(`clean-${runs}`)];
        let last = 0;
        for (const steps of [[{ kind: "accept", isBad: false, tenant: "default" }], ...plan]) {
          const [all, good] = [true, false].map((withBad) => {
            const batch = { ...NO_WORK, settles: [], accepts: [], commands: [], requests: [] } as WriteBatch;
            steps.forEach(({ kind, isBad, tenant }, i) => {
              if (isBad && !withBad && kind !== "job") return;
              const id = `${last}-${i}`;
              const at = isBad ? IMPOSSIBLE : NOON;
              if (kind === "accept") batch.accepts.push(acceptOf(id, at, tenant));
              else if (kind === "request") batch.requests.push(newRequest(id, { size: isBad ? 0.5 : 1, ring: tenant }));
              else if (kind === "job")
                batch.commands.push({ port: "jobs", name: "schedule", args: [`job-${i}`, NOON + i] });
              else if (kind === "settle") {
                const of = { eventSeq: i + 1, subscriptionSeq: LANE };
                batch.settles.push(newSettlement(of, { attempt: newAttempt({ startedAt: at }) }));
              } else if (withBad) {
                const mark = { scope: "s", key: id, fingerprint: "f", madeId: id, madeAt: NOON };
                const refused = { port: "records", name: "write", args: [[CHANGE], { mark }] };
                batch.commands.push(kind === "fan-out" ? impossibleFanOut() : refused);
              }
            });
            return batch;
          }) as [WriteBatch, WriteBatch];
          last++;
          mixed.commit(all);
          clean.commit(good);
        }
        expect(mixed.dump()).toEqual(clean.dump());
      }),
      { numRuns: 15 },
    );
  });

  it("is written item by item when one of them ends every transaction that it is in", () => {
    const { file, commit, dump } = open();
    change(
      file,
      "create trigger no before insert on events when new.type = 'bad' begin select raise(rollback, 'not today'); end",
    );
    const bad = { event: newEvent({ type: "bad" }), deliveries: [] };
    const { accepts, fatal } = commit({ accepts: [acceptOf("a"), bad, acceptOf("b")] });
    expect(fatal).toBeUndefined();
    expect(accepts).toMatchObject([{ eventSeq: 1 }, { failed: { message: "not today" } }, { eventSeq: 2 }]);
    expect(dump()["counters"]).toContainEqual(expect.objectContaining({ subscription_seq: 0, accepted: 2 }));
  });
});
