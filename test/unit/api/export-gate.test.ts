import { describe, expect, it } from "vitest";
import { STALLED_MS, createExportGate, createGiveWay } from "../../../src/api/export-gate.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

function open() {
  const time = createVirtualTime(1_750_000_000_000);
  const giveWay = createGiveWay({ isBusy: () => false });
  const gate = createExportGate({ maxExports: 3, maxExportsPerKey: 2, clock: createVirtualClock(time), giveWay });
  return { time, gate };
}
const ignore = () => undefined;

describe("exports", () => {
  it("are bounded for a key and in all, and count until they leave", () => {
    const { gate } = open();
    const first = gate.enter("a", ignore);
    gate.enter("a", ignore);
    expect(() => gate.enter("a", ignore)).toThrow(
      expect.objectContaining({ code: "too_many_requests", retryAfterS: 10 }),
    );
    const other = gate.enter("b", ignore);
    expect(() => gate.enter("c", ignore)).toThrow(/3 exports are already running on this gateway/);
    other.leave();
    other.leave();
    gate.enter("c", ignore);
    expect(() => gate.enter("d", ignore)).toThrow(/on this gateway/);
    first.leave();
    gate.enter("a", ignore);
  });

  it("whose clients take nothing for a while are ended, others are not", () => {
    const { gate, time } = open();
    const ended: string[] = [];
    gate.enter("asleep", () => ended.push("asleep"));
    const awake = gate.enter("awake", () => ended.push("awake"));
    const pass = (ms: number) => {
      const until = time.elapsedMs + ms;
      while ((time.nextAt() ?? Infinity) <= until) time.step();
      time.moveTo(until);
    };
    for (let at = 0; at < STALLED_MS * 3; at += STALLED_MS / 4) {
      pass(STALLED_MS / 4);
      awake.recordTaken();
    }
    expect(ended).toEqual(["asleep"]);
    awake.leave();
    pass(STALLED_MS * 2);
    expect(ended).toEqual(["asleep"]);
  });

  it("read one after the other", async () => {
    const { gate } = open();
    const order: string[] = [];
    let release = ignore as () => void;
    const held = gate.enter("a", ignore).read(async () => {
      order.push("a begins");
      await new Promise<void>((resolve) => (release = resolve));
      order.push("a ends");
    });
    const next = gate.enter("b", ignore).read(async () => void order.push("b"));
    while (order.length === 0) await new Promise((resolve) => setImmediate(resolve));
    release();
    await Promise.all([held, next]);
    expect(order).toEqual(["a begins", "a ends", "b"]);
  });
});

describe("what can wait", () => {
  it("waits while the loop is late, but not for ever", async () => {
    const waits: number[] = [];
    let busyFor = 3;
    const wait = async (ms: number) => void waits.push(ms);
    const giveWay = createGiveWay({ isBusy: () => busyFor-- > 0, wait });
    await giveWay();
    expect(waits).toEqual([20, 20, 20]);
    busyFor = Number.POSITIVE_INFINITY;
    await giveWay();
    expect(waits).toHaveLength(3 + 50);
  });
});
