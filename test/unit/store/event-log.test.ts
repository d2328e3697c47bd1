import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openReadConnection } from "../../../src/store/sqlite/connection.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import {
  NOON,
  change,
  commit,
  createStandingClock,
  insertSubscription,
  newAttempt,
  newDeath,
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  settle,
  stored,
} from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

describe("the view event_log", () => {
  const folder = useFolder();

  // shows: A4
  it("has one line for each event, each that came again and each ignored request, by the names of the specification", async () => {
    const file = join(folder.path, "posthorn.db");
    const options = {
      file,
      createClock: () => createStandingClock(),
      dedupeHorizonMs: 1,
      onFatal: () => undefined,
      thread: false,
    };
    const store = await openSqliteStore(options);
    folder.onEnd(() => store.close());
    const lanes = [await insertSubscription(store, "a"), await insertSubscription(store, "b")];
    const born = lanes.map((lane) => newDelivery(lane, { claim: true }));
    const [a = 0, b = 0] = lanes;
    const settleAt = (eventSeq: number, lane: number, startedAt: number) =>
      settle(
        store,
        newSettlement({ eventSeq, subscriptionSeq: lane }, { attempt: newAttempt({ startedAt, durationMs: 0 }) }),
      );

    const pending = await stored(store, newEvent({ id: "pending" }), born);
    await settleAt(pending, a, NOON);
    const failed = await stored(store, newEvent({ id: "failed" }), born);
    await settleAt(failed, a, NOON);
    await settle(store, newDeath({ eventSeq: failed, subscriptionSeq: b }));
    const completed = await stored(store, newEvent({ id: "completed", receivedAt: NOON + 1 }), born);
    await settleAt(completed, a, NOON + 1234);
    await change(store, { eventSeq: completed, subscriptionSeq: b }, { act: "cancel" }, NOON + 7);
    await stored(store, newEvent({ id: "unmatched" }));
    await stored(store, newEvent({ id: "fanning", fanOutCursor: 1 }));
    store.events.logRequest(newRequest("req_1", { outcome: "ignored", cause: "duplicate", eventId: "completed" }));
    store.events.logRequest(newRequest("req_2", { outcome: "ignored", cause: "filtered" }));
    store.events.logRequest(newRequest("req_3", { outcome: "rejected" }));
    const part = (event_id: string | null, cause: string | null) => ({
      event_id,
      outcome: cause === null ? "accepted" : "ignored",
      cause,
    });
    const split = [
      part("failed", "duplicate"),
      part("pending", "duplicate"),
      part("completed", null),
      part(null, "filtered"),
    ];
    const parts = (list: object[]) => ({ outcome: "ignored" as const, parts: JSON.stringify(list) });
    store.events.logRequest(newRequest("req_4", { ...parts(split), cause: "duplicate", eventId: "failed" }));
    const filtered = [part(null, "filtered"), part(null, "own_change")];
    store.events.logRequest(newRequest("req_5", { ...parts(filtered), cause: "filtered" }));
    await commit(store);

    const db = openReadConnection(file);
    folder.onEnd(() => db.close());
    const at = (time: number) => new Date(time).toISOString();
    const line = (
      event_id: string,
      status: string,
      received: number,
      done: number | null,
      event_type: string | null,
    ) => ({
      event_id,
      source: "shop",
      event_type,
      status,
      received_at: at(received),
      completed_at: done === null ? null : at(done),
    });
    const type = "order.created";
    expect(db.prepare("select * from event_log order by event_id, status").all()).toEqual([
      line("completed", "COMPLETED", NOON + 1, NOON + 1234, type),
      line("completed", "DUPLICATE", NOON, null, null),
      line("failed", "DUPLICATE", NOON, null, null),
      line("failed", "FAILED", NOON, NOON + 5, type),
      line("fanning", "PENDING", NOON, null, type),
      line("pending", "DUPLICATE", NOON, null, null),
      line("pending", "PENDING", NOON, null, type),
      line("req_2", "IGNORED", NOON, null, null),
      line("req_5", "IGNORED", NOON, null, null),
      line("unmatched", "COMPLETED", NOON, NOON + 7, type),
    ]);
  });
});
