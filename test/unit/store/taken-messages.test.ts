import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { publishKey } from "../../../src/model/ids.ts";
import type { NewEvent } from "../../../src/store/port/event-log.ts";
import type { Store } from "../../../src/store/store.ts";
import { openReadConnection } from "../../../src/store/sqlite/connection.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import {
  NOON,
  change,
  claim,
  commit,
  createStandingClock,
  newDeath,
  newDelivery,
  newEvent,
  newSettlement,
  newSubscription,
  prune,
  settle,
  stored,
} from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

const PLACE = "azure-service-bus:default:queue:event-main";
const SOURCE = { name: "event-main", kind: "azure-service-bus", managedBy: "api", sealed: "", ownQueue: PLACE };

describe("the view event_log, of an event that comes back from a queue", () => {
  const folder = useFolder();

  async function open() {
    const file = join(folder.path, "posthorn.db");
    const store = await openSqliteStore({
      file,
      createClock: () => createStandingClock(),
      dedupeHorizonMs: 1,
      onFatal: () => undefined,
      thread: false,
    });
    folder.onEnd(() => store.close());
    const bus = await write(store, "bus", { kind: "azure-service-bus", destination: { queue: "event-main" } });
    const core = await write(store, "core", {});
    const db = openReadConnection(file);
    folder.onEnd(() => db.close());
    return {
      store,
      bus,
      core,
      declareSource: () =>
        store.records.write({
          changes: [
            {
              kind: "source",
              tenantId: "",
              id: SOURCE.name,
              act: "put",
              expected: "absent",
              format: 1,
              data: JSON.stringify(SOURCE),
              blob: undefined,
            },
          ],
          at: NOON,
        }),
      async lines() {
        await commit(store);
        const rows = db.prepare("select event_id, status, completed_at from event_log order by received_at").all();
        return rows.map((row) => Object.values(row as object));
      },
      plan: () =>
        (
          db
            .prepare("explain query plan select * from event_log where event_id = 'ss_1' and received_at > '2025'")
            .all() as unknown as { detail: string }[]
        ).map(({ detail }) => detail),
    };
  }

  async function write(store: Store, name: string, settings: object): Promise<number> {
    const request = newSubscription(name);
    const changes = request.changes.map((one) => ({ ...one, data: JSON.stringify({ name, settings }) }));
    const result = await store.records.write({ ...request, changes });
    if (result.kind === "rejected") throw new Error(result.why);
    return result.seqs[0] as number;
  }

  const given = (id: string): Partial<NewEvent> => ({ id, givenId: true, dedupeKey: publishKey(id) });
  const returning = (store: Store, originId: string, more: object = {}) => ({
    ...given(`msg_${originId}`),
    receivedAt: NOON + 1000,
    source: "event-main",
    details: JSON.stringify({
      hops: 1,
      origin_event_id: originId,
      origin: store.info.id,
      pulled_from: [PLACE],
      ...more,
    }),
  });
  const at = (ms: number) => new Date(NOON + ms).toISOString();
  const born = (seq: number) => [newDelivery(seq, { claim: true })];

  // shows: A4, Q6, Q57
  it("shows the status of the last hop, and PENDING while it is in the queue", async () => {
    const { store, bus, core, declareSource, lines } = await open();
    await declareSource();
    const first = await stored(store, newEvent(given("ss_1")), born(bus));
    expect(await lines()).toEqual([["ss_1", "PENDING", null]]);
    await settle(store, newSettlement({ eventSeq: first, subscriptionSeq: bus }));
    expect(await lines()).toEqual([["ss_1", "PENDING", null]]);
    const second = await stored(store, newEvent(returning(store, "ss_1")), born(core));
    expect(await lines()).toEqual([["ss_1", "PENDING", null]]);
    await settle(store, newSettlement({ eventSeq: second, subscriptionSeq: core }));
    expect(await lines()).toEqual([["ss_1", "COMPLETED", at(5)]]);
    // A replay puts it into the queue once more.
    await change(
      store,
      { eventSeq: first, subscriptionSeq: bus },
      { act: "replay", ordered: false, expiresAt: undefined },
      NOON,
    );
    const [again] = (await claim(store, bus)).claimed;
    await settle(store, newSettlement({ eventSeq: first, subscriptionSeq: bus, ...again }));
    expect(await lines()).toEqual([["ss_1", "PENDING", null]]);
    const opened = { subscriptionSeq: core, ordered: false, expiresAt: undefined };
    const message = { generation: 2, knownGeneration: 1, isHeld: false };
    expect(await store.events.reopenByMessage(second, message, [opened])).toBe(true);
    expect(await lines()).toEqual([["ss_1", "PENDING", null]]);
    const [last] = (await claim(store, core)).claimed;
    await settle(store, newSettlement({ eventSeq: second, subscriptionSeq: core, ...last }));
    expect(await lines()).toMatchObject([["ss_1", "COMPLETED", expect.any(String)]]);
  });

  it("is FAILED when the last hop is a dead letter", async () => {
    const { store, bus, core, declareSource, lines } = await open();
    await declareSource();
    const origin = newEvent();
    const first = await stored(store, origin, born(bus));
    await settle(store, newSettlement({ eventSeq: first, subscriptionSeq: bus }));
    const second = await stored(store, newEvent(returning(store, origin.id)), born(core));
    await settle(store, newDeath({ eventSeq: second, subscriptionSeq: core }));
    expect(await lines()).toEqual([[origin.id, "FAILED", at(5)]]);
  });

  // shows: Q58
  it("is COMPLETED with the queue where nobody here takes from it, and every event has its line", async () => {
    const { store, bus, core, lines } = await open();
    const first = await stored(store, newEvent(given("ss_1")), born(bus));
    await settle(store, newSettlement({ eventSeq: first, subscriptionSeq: bus }));
    expect(await lines()).toEqual([["ss_1", "COMPLETED", at(5)]]);
    // What another store sent, or what was another tenant's, has nothing to do with it.
    await stored(store, newEvent(returning(store, "ss_1", { origin: "elsewhere" })), born(core));
    await stored(store, newEvent({ ...returning(store, "ss_1"), ...given("msg_acme"), tenantId: "acme" }), born(core));
    await stored(store, newEvent({ ...returning(store, "ss_unknown") }), born(core));
    expect(await lines()).toEqual([
      ["ss_1", "COMPLETED", at(5)],
      ["msg_ss_1", "PENDING", null],
      ["msg_acme", "PENDING", null],
      ["msg_ss_unknown", "PENDING", null],
    ]);
  });

  it("goes on by itself when the first event was deleted after its time, and is deleted after its own", async () => {
    const { store, bus, core, lines } = await open();
    const first = await stored(store, newEvent(given("ss_1")), born(bus));
    await settle(store, newSettlement({ eventSeq: first, subscriptionSeq: bus }));
    const second = await stored(store, newEvent({ ...returning(store, "ss_1"), receivedAt: NOON + 1e9 }), born(core));
    await settle(store, newSettlement({ eventSeq: second, subscriptionSeq: core }));
    const ages = { events: 1e9, deadLetters: 1e9, requests: 1e9, answers: 1e9 };
    const pruneAt = (wall: number) =>
      prune(store, "events", { afterSeq: 0, maxRows: 100, rules: { gateway: ages, tenants: [] }, wall });
    expect((await pruneAt(NOON + 1e9 + 1)).removed).toBe(1);
    expect(await lines()).toMatchObject([["msg_ss_1", "COMPLETED", expect.any(String)]]);
    expect((await pruneAt(NOON + 3e9)).removed).toBe(1);
    expect(await lines()).toEqual([]);
  });

  it("reads by key what belongs to an event, and scans nothing but the events and requests themselves", async () => {
    const { plan } = await open();
    const scans = new Set(plan().filter((detail) => detail.startsWith("SCAN")));
    const whole = ["SCAN e", "SCAN r", "SCAN p VIRTUAL TABLE INDEX 1:", "SCAN event_log", "SCAN CONSTANT ROW"];
    expect([...scans].filter((scan) => !whole.includes(scan))).toEqual([]);
  });
});
