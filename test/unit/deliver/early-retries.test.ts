import { describe, expect, it } from "vitest";
import { createTarget, createTargetCondition } from "../../../src/deliver/target.ts";
import { DOWN, OK, refused, useDeliveryBench, type DeliveryBench } from "../../support/delivery-bench.ts";
import { NOON, countOpen } from "../../support/store-fixtures.ts";

const open = useDeliveryBench();
const ids = (count: number, name = "e") => Array.from({ length: count }, (_, i) => `${name}-${i}`);
/** As `standard` begins. */
const SLOW = { retryPolicy: { delays_s: [5, 300, 1800, 7200] }, concurrency: 20 };

function countSent({ sent }: DeliveryBench, name: string): number {
  return sent.filter((id) => id.startsWith(name)).length;
}

describe("what waits for a later try", () => {
  it("goes soon after its destination takes something again, though it was never in QUEUE", async () => {
    const bench = await open();
    await bench.subscribe(SLOW);
    bench.answerWith(() => DOWN);
    await bench.publish({ id: "missed" });
    await bench.move(10_000);
    expect(bench.sent).toEqual(["missed", "missed"]);
    bench.answerWith(() => OK);
    await bench.publish({ id: "arrives" });
    await bench.move(1000);
    expect(bench.sent).toEqual(["missed", "missed", "arrives", "missed"]);
    expect(bench.told).toEqual([]);
    expect(await countOpen(bench.store)).toBe(0);
  });

  it("goes soon also when the gateway was started anew in between", async () => {
    const bench = await open();
    await bench.subscribe(SLOW);
    bench.answerWith(() => DOWN);
    await bench.publish({ id: "missed" });
    await bench.move(10_000);
    for (const lane of bench.scheduler.lanes()) {
      Object.assign(lane, { hasWaitingRetries: false });
      Object.assign(lane.target, { hasWaitingRetries: false });
    }
    await bench.scheduler.start();
    bench.answerWith(() => OK);
    await bench.publish({ id: "arrives" });
    await bench.move(1000);
    expect(bench.sent.at(-1)).toBe("missed");
  });

  it("comes little by little", async () => {
    const bench = await open();
    await bench.subscribe({ ...SLOW, retryPolicy: { delays_s: [300, 300] } });
    bench.answerWith(({ eventId }) => (eventId.startsWith("missed") ? DOWN : OK));
    await bench.publish({ id: "fine" });
    await bench.publishAll(ids(40, "missed"));
    await bench.move(100);
    expect(bench.told).toEqual([]);
    bench.answerWith(() => OK);
    await bench.publish({ id: "again" });
    await bench.move(100);
    expect(countSent(bench, "missed")).toBe(40 + 10);
    await bench.move(10_000);
    expect(await countOpen(bench.store)).toBe(0);
  });

  it("is tried early once, and then by its schedule, when it fails however often it is tried", async () => {
    const bench = await open();
    await bench.subscribe(SLOW);
    bench.answerWith(({ eventId }) => (eventId === "poison" ? refused(503) : OK));
    await bench.publish({ id: "poison" });
    for (let second = 0; second < 200; second++) {
      await bench.publish({ id: `fine-${second}` });
      await bench.move(1000);
    }
    // At once, early, and 300 s after that.
    expect(countSent(bench, "poison")).toBe(2);
    for (let second = 0; second < 200; second++) {
      await bench.publish({ id: `more-${second}` });
      await bench.move(1000);
    }
    expect(countSent(bench, "poison")).toBe(4);
  });

  it("is not brought forward against what the destination asked for", async () => {
    const bench = await open();
    await bench.subscribe(SLOW);
    const later = { ...refused(503), retryAfterMs: 600_000 };
    bench.answerWith(({ eventId }) => (eventId === "told" ? later : OK));
    await bench.publish({ id: "told" });
    for (let second = 0; second < 60; second++) {
      await bench.publish({ id: `fine-${second}` });
      await bench.move(1000);
    }
    expect(countSent(bench, "told")).toBe(1);
  });

  it("goes also when it was another subscription of the same target whose delivery was taken", async () => {
    const shared = createTarget(createTargetCondition(NOON));
    const bench = await open({ findSharedTarget: () => shared });
    await bench.subscribe({ ...SLOW, name: "a", events: ["a"] });
    await bench.subscribe({ ...SLOW, name: "b", events: ["b"] });
    bench.answerWith(() => DOWN);
    await bench.publish({ id: "missed", type: "a" });
    await bench.move(10_000);
    bench.answerWith(() => OK);
    await bench.publish({ id: "arrives", type: "b" });
    await bench.move(1000);
    expect(bench.sent.at(-1)).toBe("missed");
  });
});
