import { describe, expect, it } from "vitest";
import { createDispatch } from "../../../src/deliver/attempt.ts";
import type { Attempt, AttemptReport, Sender } from "../../../src/destinations/sender.ts";
import { DELIVERED } from "../../../src/model/outcome.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";
import type { LoadedEvent } from "../../../src/store/port/reads.ts";
import type { Store } from "../../../src/store/store.ts";
import { recordOf } from "../../support/http-outcomes.ts";

const SUBSCRIPTION = { seq: 1, kind: "batching", place: "batching:orders", mode: "queue" } as Subscription;
const INLINE = Buffer.from("inline");

function claimed(eventSeq: number, body: Uint8Array | undefined = INLINE): ClaimedDelivery {
  const event = { id: `e${eventSeq}`, origin: "publish", body } as ClaimedDelivery["event"];
  return { eventSeq, subscriptionSeq: 1, attemptCount: 4, event } as ClaimedDelivery;
}

describe("sending from this process", () => {
  function open(
    report: (attempts: readonly Attempt[]) => readonly AttemptReport[] = reportAll,
    loadEvent: Store["reads"]["loadEvent"] = () => expect.unreachable("all is at hand"),
  ) {
    const batches: (readonly Attempt[])[] = [];
    const sender: Sender = {
      limitsOf: () => ({ maxBatch: 8, lingerMs: 20 }),
      send(attempts, done) {
        batches.push(attempts);
        done(report(attempts));
      },
      close: () => Promise.resolve(),
    };
    const dispatch = createDispatch({
      senders: { find: (kind) => (kind === "batching" ? sender : undefined), close: sender.close },
      store: { reads: { loadEvent } as Store["reads"] },
      clock: createSystemClock(),
    });
    const send = (deliveries: readonly ClaimedDelivery[], subscription = SUBSCRIPTION) =>
      new Promise<readonly AttemptReport[]>((resolve) => dispatch.send(deliveries, subscription, resolve));
    return { dispatch, send, batches };
  }

  const reportAll = (attempts: readonly Attempt[]): AttemptReport[] =>
    attempts.map(({ event }) => {
      const record = { ...recordOf(SUBSCRIPTION), facts: JSON.stringify({ id: event.id }) };
      return { outcome: DELIVERED, startedAt: 1, durationMs: 2, record };
    });
  const idsOf = (reports: readonly AttemptReport[]) =>
    reports.map(({ outcome, record }) => outcome.error ?? record.facts);

  it("makes one attempt of a batch, and reports on each in the order given", async () => {
    const { send, batches } = open();
    const reports = await send([claimed(3), claimed(1), claimed(2)]);
    expect(idsOf(reports)).toEqual(['{"id":"e3"}', '{"id":"e1"}', '{"id":"e2"}']);
    expect(batches.map((batch) => batch.map(({ number, event }) => [number, event.id]))).toEqual([
      [
        [5, "e3"],
        [5, "e1"],
        [5, "e2"],
      ],
    ]);
  });

  it("loads large bodies first; what cannot be loaded fails alone", async () => {
    const loadedSeqs: number[] = [];
    const loadEvent = (eventSeq: number) => {
      loadedSeqs.push(eventSeq);
      if (eventSeq === 2) return Promise.resolve(undefined);
      const loaded = { body: Buffer.from("large") } as unknown as LoadedEvent;
      return eventSeq === 3 ? Promise.reject(new Error("the disk")) : Promise.resolve(loaded);
    };
    const { send, batches } = open(reportAll, loadEvent);
    const unloaded = (seq: number) => ({ ...claimed(seq), event: { ...claimed(seq).event, body: undefined } });
    const reports = await send([unloaded(1), unloaded(2), unloaded(3), claimed(4)]);
    expect(idsOf(reports)).toEqual([
      '{"id":"e1"}',
      "the event's body was erased",
      "the event could not be loaded: Error: the disk",
      '{"id":"e4"}',
    ]);
    expect(batches.map((batch) => batch.map(({ event }) => String(event.body)))).toEqual([["large", "inline"]]);
    expect(loadedSeqs).toEqual([1, 2, 3]);
    expect(reports[1]?.outcome).toMatchObject({ kind: "refused", deadReason: "erased", says: "nothing" });
    expect(reports[2]?.outcome).toMatchObject({ kind: "failed", result: "error", says: "nothing" });
  });

  it("tells of a sender that reports on too few, for those alone", async () => {
    const { send } = open((attempts) => reportAll(attempts).slice(0, 1));
    expect(idsOf(await send([claimed(1), claimed(2)]))).toEqual(['{"id":"e1"}', "the sender reported nothing"]);
  });

  it("sends nothing to a kind that nobody knows, and says so", async () => {
    const { dispatch, send, batches } = open();
    const unknown = { ...SUBSCRIPTION, kind: "sms" };
    const [report] = await send([claimed(1)], unknown);
    expect(report?.outcome).toMatchObject({ kind: "failed", error: expect.stringContaining("sms"), says: "nothing" });
    expect(batches).toEqual([]);
    expect(dispatch.limitsOf(unknown)).toEqual({ maxBatch: 1, lingerMs: 0 });
    expect(dispatch.limitsOf(SUBSCRIPTION)).toEqual({ maxBatch: 8, lingerMs: 20 });
  });
});
