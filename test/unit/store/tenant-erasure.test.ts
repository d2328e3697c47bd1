import { DatabaseSync } from "@photostructure/sqlite";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { AuditNote } from "../../../src/store/port/audit.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { useFolder } from "../../support/store-folder.ts";
import {
  NOON,
  claim,
  commit,
  createStandingClock,
  insertSubscription,
  newAttempt,
  newDelivery,
  newEvent,
  newRequest,
  newRetry,
  newSettlement,
  settle,
  stored,
} from "../../support/store-fixtures.ts";

const TENANT = "acme";
const MAX_ROWS = 40;
const MAX_BYTES = 1024 * 1024;
const folder = useFolder();

afterAll(collectGarbage);

const note = (act: string, more: Partial<AuditNote> = {}): AuditNote => ({
  actor: "key:key_1",
  act,
  kind: "tenant",
  id: TENANT,
  tenantId: TENANT,
  ...more,
});

function open(file: string): Promise<Store> {
  const onFatal = (error: unknown) => {
    throw error;
  };
  const createClock = () => createStandingClock();
  return openSqliteStore({ file, dedupeHorizonMs: 86_400_000, thread: false, createClock, onFatal });
}

/** Much of everything: large bodies and answers, many attempts at one delivery, and others between all of it. */
async function fill(store: Store): Promise<void> {
  const lanes: number[] = [];
  for (let i = 0; i < 100; i++) lanes.push(await insertSubscription(store, `own-${i}`, { tenantId: TENANT }));
  const [lane] = lanes as [number];
  const other = await insertSubscription(store, "other", { tenantId: "other" });
  const answer = { sent: "User-Agent: Posthorn/1.0\r\n", facts: "{}", answer: Buffer.alloc(8 * 1024, "a") };
  for (let i = 0; i < 300; i++) {
    const [tenantId, subscriptionSeq] = i % 4 === 3 ? ["other", other] : [TENANT, lane];
    const body = Buffer.alloc(i % 7 === 0 ? 300_000 : 100, "b");
    const eventSeq = await stored(store, newEvent({ tenantId, body }), [newDelivery(subscriptionSeq, { claim: true })]);
    await settle(store, newSettlement({ eventSeq, subscriptionSeq }, { attempt: newAttempt({}, answer) }));
  }
  // Wanted by all, and tried again and again.
  const wide = await stored(
    store,
    newEvent({ tenantId: TENANT }),
    lanes.map((seq) => newDelivery(seq)),
  );
  for (let tries = 0; tries < 30; tries++) {
    for (const subscriptionSeq of lanes.slice(0, 4)) {
      await claim(store, subscriptionSeq);
      const of = { eventSeq: wide, subscriptionSeq, attemptCount: tries };
      await settle(store, newRetry(of, NOON, { attempt: newAttempt({ result: "failed" }, answer) }));
    }
  }
  for (let i = 0; i < 120; i++) {
    store.events.logRequest(newRequest(`req_${i}`, { tenantId: TENANT, body: Buffer.alloc(60_000) }));
    if (i % 10 === 0) await commit(store);
  }
  const notes = Array.from({ length: 300 }, () => note("tenant.update", { after: { name: "private" } }));
  await store.audit.note(notes, NOON);
}

/** What of the tenant is there, looked at with SQL and not with the code under test. */
const OWN_ROWS = {
  records: `select count(*) as rows, 0 as bytes from records where tenant_id = '${TENANT}' and deleted_at is null`,
  events: `select count(*) as rows, coalesce(sum(size), 0) as bytes from events where tenant_id = '${TENANT}'`,
  deliveries: `select count(*) as rows, 0 as bytes from deliveries join events on seq = event_seq where tenant_id = '${TENANT}'`,
  open: `select count(*) as rows, 0 as bytes from deliveries join events on seq = event_seq
    where tenant_id = '${TENANT}' and state < 2`,
  attempts: `select count(*) as rows, coalesce(sum(length(response_body)), 0) as bytes
    from attempts where event_seq in (select seq from events where tenant_id = '${TENANT}')`,
  forms: `select count(*) as rows, 0 as bytes from attempt_forms join records r on r.seq = subscription_seq
    where r.tenant_id = '${TENANT}'`,
  requests: `select count(*) as rows, coalesce(sum(length(body)), 0) as bytes from requests where tenant_id = '${TENANT}'`,
  names: `select count(*) as rows, 0 as bytes from records where tenant_id = '${TENANT}' and id not like 'erased-%'`,
  audit: `select count(*) as rows, 0 as bytes from audit where entry ->> '$.tenant_id' = '${TENANT}' and data is not null`,
};

interface Change {
  stage: string;
  rows: number;
  bytes: number;
  events: number;
}

/** How much each step of a whole erasure has changed. */
async function erase(file: string, maxRows: number): Promise<Change[]> {
  const store = await open(file);
  await fill(store);
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const selects = Object.values(OWN_ROWS).map((sql) => db.prepare(sql));
    const look = () => {
      const counts = selects.map((select) => select.get() as { rows: number; bytes: number });
      const sum = (of: "rows" | "bytes") => counts.reduce((all, one) => all + one[of], 0);
      return { rows: sum("rows"), bytes: sum("bytes") };
    };
    await store.jobs.beginErasure(TENANT, note("tenant.begin_erasure"));
    const changes: Change[] = [];
    let [before, stage, events] = [look(), "records", 0];
    while (stage !== "done") {
      const { row } = await store.jobs.stepErasure(TENANT, maxRows);
      const now = look();
      const done = { rows: before.rows - now.rows, bytes: before.bytes - now.bytes, events: row.events - events };
      changes.push({ stage, ...done });
      [before, stage, events] = [now, row.stage, row.events];
    }
    // Of the entry that tells of it.
    expect(before).toEqual({ rows: 1, bytes: 0 });
    return changes;
  } finally {
    db.close();
    await store.close();
  }
}

const isTooLarge = ({ rows, bytes, events }: Change) => rows > MAX_ROWS || (bytes > MAX_BYTES && events > 1);

describe("the steps of a tenant's erasure", () => {
  it("change no more rows than they may, and no more than 1 MB, so that nobody waits long", async () => {
    const changes = await erase(join(folder.path, "steps.db"), MAX_ROWS);
    expect(changes.filter(isTooLarge)).toEqual([]);
    expect(Math.max(...changes.map(({ bytes }) => bytes))).toBeGreaterThan(MAX_BYTES / 2);
  });

  it("is a test that can fail: steps that may do more are found", async () => {
    const changes = await erase(join(folder.path, "long-steps.db"), 400);
    expect(changes.filter(isTooLarge).map(({ stage }) => stage)).toEqual(
      expect.arrayContaining(["records", "events", "names", "audit"]),
    );
  });
});
