import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MODE } from "../../../src/deliver/mode.ts";
import { createPace } from "../../../src/deliver/pace.ts";
import type { Target } from "../../../src/deliver/target.ts";
import { resolveRetryPolicy } from "../../../src/model/retry-policy.ts";
import type { SubscriptionInput } from "../../../src/model/subscription.ts";
import { createChance } from "../../support/chance.ts";
import { sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { createSimulatedSender, type Destination, type Mood } from "../../support/simulated-destination.ts";
import { openSimulatedGateway } from "../../support/simulated-gateway.ts";
import { NOON, countOpen, newEvent } from "../../support/store-fixtures.ts";
import { MEMORY_FOLDER } from "../../support/memory-folder.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualTime, moveClock } from "../../support/virtual-clock.ts";
import { settleCalls } from "../../support/watched-store.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DUE = sized({ short: 8_000, middle: 100_000, long: 100_000 });
const MANY = sized({ short: 200, middle: 1000, long: 1000 });

type BreakPromise = (target: Target, change: string) => void;

describe("a destination that goes down and comes back", () => {
  const folder = useFolder(MEMORY_FOLDER);
  let opened = 0;

  async function open(settings: Partial<SubscriptionInput>, breakPromise?: BreakPromise) {
    const time = createVirtualTime(NOON);
    const chance = createChance(11);
    const calls = { made: 0, open: 0 };
    const faults: unknown[] = [];
    const destination: Destination = { moods: [], latencyMs: 40, chance };
    const sentAt: number[] = [];
    const changes: { change: string; at: number }[] = [];
    const gateway = await openSimulatedGateway({
      folder: join(folder.path, String(++opened)),
      time,
      chance,
      calls,
      createSender: ({ isAlive }) =>
        createSimulatedSender({
          time,
          isAlive,
          findDestination: () => destination,
          onSend: () => sentAt.push(time.elapsedMs),
        }),
      maxInFlight: 100,
      maxBodyBytes: 64_000_000,
      maxRows: 5000,
      commitMs: 0,
      onFault: (error) => faults.push(error),
      onMode(_subscription, change, target) {
        changes.push({ change, at: time.elapsedMs });
        breakPromise?.(target, change);
      },
    });
    await gateway.subscriptions.create({ name: "shop", url: "https://example.com/hook", events: ["#"], ...settings });
    const settle = () => settleCalls(() => calls);
    const publish = (events: number) => {
      for (let n = 0; n < events; n++) {
        const at = gateway.clock.now();
        gateway.accept(newEvent({ receivedAt: at, dueAt: at }), () => undefined);
      }
    };
    return {
      time,
      changes,
      faults,
      store: gateway.store,
      publish,
      /** Events come in evenly, `perStep` of them every `stepMs`. */
      async flow(durationMs: number, perStep: number, stepMs: number) {
        for (let at = 0; at < durationMs; at += stepMs) {
          publish(perStep);
          await moveClock(time, stepMs, settle);
        }
      },
      move: (byMs: number) => moveClock(time, byMs, settle),
      turn: (mood: Mood) => destination.moods.push({ from: time.elapsedMs, mood }),
      sentBetween: (from: number, to: number) => sentAt.filter((at) => at >= from && at < to).length,
      async stop() {
        const stopping = gateway.stop(SECOND_MS);
        await moveClock(time, 2 * SECOND_MS, settle);
        await stopping;
      },
    };
  }

  /** How often it is sent to in the first minute after an hour, as a multiple of what is usual. */
  async function returnAfterAnHour(breakPromise?: BreakPromise) {
    const perS = 20;
    const world = await open({ concurrency: 16 }, breakPromise);
    await world.flow(10 * MINUTE_MS, perS / 5, SECOND_MS / 5);
    world.turn("down");
    await world.flow(HOUR_MS, DUE / 360, 10 * SECOND_MS);
    const waiting = await countOpen(world.store);
    world.turn("well");
    while (world.changes.at(-1)?.change !== "closed") await world.move(SECOND_MS);
    await world.move(MINUTE_MS);
    const backAt = world.changes.at(-1)?.at ?? 0;
    const sent = world.sentBetween(backAt, backAt + MINUTE_MS);
    await world.stop();
    expect(world.faults).toEqual([]);
    expect(waiting).toBeGreaterThan(0.99 * DUE);
    return { waiting, sent, perMinute: perS * 60, ratio: sent / (perS * 60) };
  }

  it(`is sent at most twice its normal rate in the first minute, with ${count(DUE)} due`, async () => {
    const { waiting, sent, perMinute, ratio } = await returnAfterAnHour();
    const facts = `${count(waiting)} due, normally ${count(perMinute)} a minute`;
    report(`R14 first minute after 1 h down: ${count(sent)} deliveries, ${ratio.toFixed(2)} x (${facts}; target 2)`);
    expect(ratio).toBeLessThanOrEqual(2);
    // It does flow.
    expect(ratio).toBeGreaterThan(1.5);
  });

  it("is sent far more without the slow start, which the figure shows (control)", async () => {
    const { ratio } = await returnAfterAnHour(({ pace }, change) => {
      if (change === "closed") Object.assign(pace, createPace(0));
    });
    report(`R14 control, without a slow start: ${ratio.toFixed(2)} x`);
    expect(ratio).toBeGreaterThan(4);
  });

  /** Attempts in a day of being down, beside what the schedules allow: those of the deliveries, or the probes'. */
  async function countAttempts(events: number, concurrency: number, mood: Mood, breakPromise?: BreakPromise) {
    const world = await open({ concurrency, retry_policy: "standard", timeout: 10 }, breakPromise);
    world.turn(mood);
    const from = world.time.elapsedMs;
    world.publish(events);
    await world.move(24 * HOUR_MS);
    const made = world.sentBetween(from, world.time.elapsedMs);
    await world.stop();
    expect(world.faults).toEqual([]);
    const byRetries = events * countWaits(resolveRetryPolicy("standard").delaysMs, 24 * HOUR_MS);
    // Those that were in flight when it was found to be down are spent, too.
    const byProbes = Math.min(events, MODE.failuresToOpen + concurrency - 1) + countProbes(24 * HOUR_MS);
    return { made, allowed: Math.min(byRetries, byProbes), ratio: made / Math.min(byRetries, byProbes) };
  }

  it("gets no more attempts while it is down than the schedule allows", async () => {
    const moods: Mood[] = ["down", "hanging", "bad gateway", "limited"];
    const sizes = [
      { events: 1, concurrency: 32 },
      { events: MANY, concurrency: 1 },
      { events: MANY, concurrency: 32 },
    ];
    const total = { made: 0, allowed: 0 };
    let worst = 0;
    for (const mood of moods) {
      for (const { events, concurrency } of sizes) {
        const { made, allowed, ratio } = await countAttempts(events, concurrency, mood);
        total.made += made;
        total.allowed += allowed;
        worst = Math.max(worst, ratio);
        expect(made, `${mood}, ${events}`).toBeGreaterThan(1);
      }
    }
    report(
      `R15 attempts in 24 h down: ${count(total.made)} of ${count(total.allowed)} that the schedule allows, ` +
        `at worst ${worst.toFixed(2)} x (target 1.2)`,
    );
    expect(worst).toBeLessThanOrEqual(1.2);
  });

  it("gets far more without a breaker, which the figure shows (control)", async () => {
    const { ratio } = await countAttempts(1000, 32, "down", ({ mode }, change) => {
      if (change !== "opened") return;
      Object.assign(mode, { isOpen: false, failures: 0 });
    });
    report(`R15 control, without a breaker: ${ratio.toFixed(2)} x`);
    expect(ratio).toBeGreaterThan(1.2);
  });
});

/** The first try, and those that follow one after the other within the time. */
function countWaits(delaysMs: readonly number[], withinMs: number): number {
  let at = 0;
  return 1 + delaysMs.filter((delayMs) => (at += delayMs) < withinMs).length;
}

/** A second after it was found to be down, then after twice the wait, up to a minute. */
function countProbes(withinMs: number): number {
  let probes = 0;
  let waitMs: number = MODE.firstProbeMs;
  for (let at = waitMs; at < withinMs; at += waitMs) {
    probes++;
    waitMs = Math.min(MODE.maxProbeMs, waitMs * 2);
  }
  return probes;
}
