import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { damageLeaves } from "../../support/damage-pages.ts";
import {
  claim,
  createStandingClock,
  insertSubscription,
  newDelivery,
  newEvent,
  newRetry,
  newSettlement,
  NOON,
  offer,
  settle,
  stored,
} from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

const EVENTS = 300;
const KEYS = 100;
/** SQLite reaches the rows before and behind a page of deliveries by way of this page. */
const BESIDE = 2;

describe("rows on a page that cannot be read", () => {
  const folder = useFolder();

  async function open(): Promise<Store> {
    const store = await openSqliteStore({
      file: join(folder.path, "posthorn.db"),
      createClock: () => createStandingClock(),
      dedupeHorizonMs: 1000,
      onFatal: (error) => expect.unreachable(error.message),
      thread: false,
    });
    folder.onEnd(() => store.close());
    return store;
  }

  /** Their numbers begin at 1. The first of each ordering key lie on the first pages. */
  async function fill(store: Store, ordered: boolean): Promise<number> {
    const lane = await insertSubscription(store, "one");
    for (let n = 0; n < EVENTS; n++) {
      const event = newEvent({ orderingKey: `key-${n % KEYS}`, body: Buffer.from("-".repeat(100)) });
      await stored(store, event, [newDelivery(lane, { ordered })]);
    }
    return lane;
  }

  async function damage(store: Store, table: string): Promise<{ next: Store; rows: number }> {
    await store.close();
    const rows = damageLeaves(join(folder.path, "posthorn.db"), table);
    return { next: await open(), rows };
  }

  /** The numbers of the events whose delivery was recorded, in their order. */
  async function deliverAll(store: Store, lane: number): Promise<number[]> {
    const delivered: number[] = [];
    for (let idle = 0; idle < 3; idle++) {
      const { claimed } = await claim(store, lane, { limit: 40 });
      for (const delivery of claimed) {
        idle = 0;
        const result = await offer(store, newSettlement(delivery));
        if (!("failed" in result)) delivered.push(delivery.eventSeq);
      }
    }
    return delivered;
  }

  const described = async (store: Store) => (await store.reads.listDamages()).map(({ description }) => description);

  it("of events: they become dead letters, and those behind them in their ordering keys go on", async () => {
    const store = await open();
    const lane = await fill(store, true);
    const { next, rows } = await damage(store, "events");
    const sent = await deliverAll(next, lane);
    expect(sent).toHaveLength(EVENTS - rows);
    const [counters] = (await next.reads.loadCounters()).deliveries;
    expect(counters).toMatchObject({ delivered: EVENTS - rows, dead: rows });
    for (const seq of sent) expect(sent.indexOf(seq - KEYS)).toBeLessThan(sent.indexOf(seq));
  });

  it("of deliveries: their ordering keys wait, and all others go on", async () => {
    const store = await open();
    const lane = await fill(store, true);
    const { next, rows } = await damage(store, "deliveries");
    const delivered = new Set(await deliverAll(next, lane));
    const named = (await described(next)).filter((text) => /^delivery dlv_\w+ cannot be read/.test(text));
    expect(named.length).toBeGreaterThan(0);
    const undelivered = Array.from({ length: EVENTS }, (_, n) => n + 1).filter((seq) => !delivered.has(seq));
    expect(undelivered.length).toBeGreaterThanOrEqual(rows);
    // Those behind them may lie on the next page, which SQLite cannot split without this one.
    expect(undelivered.filter((seq) => seq <= KEYS)).toEqual([]);
    for (const seq of undelivered) expect(delivered).not.toContain(seq + KEYS);
  });

  it("of deliveries: the others that were being sent are recovered at the next start", async () => {
    const store = await open();
    const lane = await fill(store, false);
    const { claimed } = await claim(store, lane, { limit: EVENTS });
    expect(claimed).toHaveLength(EVENTS);
    const { next, rows } = await damage(store, "deliveries");
    const { released } = await next.lanes.recover([]);
    expect(released).toBe(EVENTS - rows - BESIDE);
    expect(await described(next)).toContainEqual(expect.stringMatching(/^deliveries of the events \d+ to \d+ cannot/));
    expect(await deliverAll(next, lane)).toHaveLength(released);
  });

  it("of events: what was being sent is recovered, and then a dead letter", async () => {
    const store = await open();
    const lane = await fill(store, false);
    const { claimed } = await claim(store, lane, { limit: EVENTS });
    const { next, rows } = await damage(store, "events");
    expect(await next.lanes.recover(claimed.map(toMark))).toMatchObject({ interrupted: EVENTS, released: 0 });
    expect(await deliverAll(next, lane)).toHaveLength(EVENTS - rows);
  });

  it("of events: the result of an attempt is recorded all the same", async () => {
    const store = await open();
    const lane = await fill(store, false);
    const { claimed } = await claim(store, lane, { limit: EVENTS });
    const { next, rows } = await damage(store, "events");
    for (const delivery of claimed) await settle(next, newRetry(delivery, NOON));
    expect(await deliverAll(next, lane)).toHaveLength(EVENTS - rows);
  });
});

function toMark({ eventSeq, subscriptionSeq, generation, attemptCount }: ClaimedDelivery) {
  return { eventSeq, subscriptionSeq, generation, attemptNumber: attemptCount + 1 };
}
