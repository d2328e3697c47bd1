import { describe, expect, it } from "vitest";
import { HEALTH } from "../../../src/deliver/target-health.ts";
import { createTarget, createTargetCondition, forceMode } from "../../../src/deliver/target.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import { DEFAULT_RULES, type TargetRules } from "../../../src/model/target.ts";
import { DOWN, OK, refused, useDeliveryBench, type DeliveryBench } from "../../support/delivery-bench.ts";
import { NOON, countOpen } from "../../support/store-fixtures.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const RULES: TargetRules = { ...DEFAULT_RULES, health: { kind: "http", url: "https://example.com/healthz" } };
const open = useDeliveryBench();
const ids = (count: number, name = "e") => Array.from({ length: count }, (_, i) => `${name}-${i}`);
/** One try a minute, for ever: what fails is not due again within a round. */
const SLOW_RETRIES = { delays_s: Array.from({ length: 1000 }, () => 60) };

/** A far end whose health and answers the test sets, with a note of every check. */
async function openChecked(rules: Partial<TargetRules> = {}, change: Partial<Subscription> = {}) {
  const state = { health: undefined as string | undefined, checks: [] as number[] };
  const bench: DeliveryBench = await open({
    maxInFlight: 1000,
    check(_, __, done) {
      state.checks.push(bench.time.elapsedMs);
      const error = state.health;
      bench.time.after(1, () => done(error));
    },
  });
  const subscription = await bench.subscribe({
    name: "n8n",
    concurrency: 32,
    retryPolicy: SLOW_RETRIES,
    targetRules: { ...RULES, ...rules },
    ...change,
  });
  const target = bench.scheduler.targetOf(subscription);
  const watch = () => bench.health.watch(new Map([[target, "default"]]));
  watch();
  await bench.move(10);
  const ill = (error = "health check: answered 503") => {
    state.health = error;
    bench.answerWith(() => DOWN);
  };
  const well = () => {
    state.health = undefined;
    bench.answerWith(() => OK);
  };
  well();
  return { bench, subscription, target, state, ill, well, watch };
}

/** Into QUEUE, found out by checks alone. */
async function goDown(far: Awaited<ReturnType<typeof openChecked>>): Promise<void> {
  far.ill();
  await far.bench.move(3 * far.target.rules.checkEveryMs + SECOND_MS);
  expect(far.target.mode.isOpen).toBe(true);
}

describe("a health check", () => {
  // shows: B15, B31
  it("comes at once and then every 60 seconds, and three that fail in a row lead to QUEUE", async () => {
    const far = await openChecked();
    expect(far.state.checks).toHaveLength(1);
    await far.bench.move(3 * MINUTE_MS);
    const gaps = far.state.checks.slice(1).map((at, i) => at - (far.state.checks[i] ?? 0));
    expect(gaps).toEqual([60_001, 60_001, 60_001].slice(0, gaps.length));
    far.ill();
    await far.bench.move(2 * MINUTE_MS);
    expect(far.bench.told).toEqual([]);
    await far.bench.move(MINUTE_MS);
    expect(far.bench.told).toEqual(["health opened"]);
    expect(far.target.mode).toMatchObject({ isOpen: true, reason: "health check: answered 503", failures: 3 });
  });

  // shows: B15
  it("comes as often as the rules say", async () => {
    const far = await openChecked({ checkEveryMs: 5 * SECOND_MS });
    await far.bench.move(MINUTE_MS);
    expect(far.state.checks.length).toBeGreaterThanOrEqual(12);
  });

  it("does not wait when a delivery fails, and one is enough for failures that come together", async () => {
    const far = await openChecked();
    await far.bench.move(10 * SECOND_MS);
    far.bench.answerWith(() => DOWN);
    const before = far.state.checks.length;
    await far.bench.publishAll(ids(2));
    await far.bench.move(SECOND_MS);
    expect(far.state.checks).toHaveLength(before + 1);
    expect(far.target.mode).toMatchObject({ isOpen: false, failures: 2 });
  });

  // shows: B32
  it("is the probe in QUEUE: no delivery is risked", async () => {
    const far = await openChecked();
    await goDown(far);
    const checks = far.state.checks.length;
    await far.bench.publishAll(ids(50));
    await far.bench.move(10 * MINUTE_MS);
    expect(far.bench.sent).toEqual([]);
    const waits = (10 * MINUTE_MS) / HEALTH.maxMs;
    expect(far.state.checks.length - checks).toBeGreaterThan(0.9 * waits);
    expect(far.state.checks.length - checks).toBeLessThanOrEqual(waits + 3);
  });

  it("is not made any more when nobody sends there", async () => {
    const far = await openChecked();
    const before = far.state.checks.length;
    far.bench.health.watch(new Map());
    await far.bench.move(10 * MINUTE_MS);
    expect(far.state.checks).toHaveLength(before);
    far.watch();
    await far.bench.move(10);
    expect(far.state.checks).toHaveLength(before + 1);
  });

  it("suspends a subscription with something to send after its time without a success", async () => {
    const suspension = { afterDead: undefined, afterMs: 72 * 60 * MINUTE_MS, resumesWhenHealthy: true };
    const far = await openChecked({ checkEveryMs: 10 * MINUTE_MS }, { suspension });
    await goDown(far);
    await far.bench.publish({ id: "waits" });
    await far.bench.move(suspension.afterMs + 10 * MINUTE_MS);
    expect(far.bench.told).toEqual([
      "health opened",
      "n8n failing",
      expect.stringMatching(/^n8n suspended: it could not be reached for 72 h: health check/),
    ]);
    expect(await countOpen(far.bench.store)).toBe(1);
  });
});

describe("a target that is back", () => {
  // shows: B20
  it("gets what waited in batches, and is in NORMAL after three checks", async () => {
    const far = await openChecked();
    await goDown(far);
    await far.bench.publishAll(ids(100));
    far.well();
    far.bench.answerWith(undefined);
    await far.bench.move(HEALTH.maxMs + SECOND_MS);
    // One alone is risked; the next batch is as large as it may be, and the one after waits for all of it.
    expect(far.bench.flights).toHaveLength(1);
    await far.bench.flights[0]?.answer();
    await far.bench.move(5 * SECOND_MS);
    expect(far.bench.flights).toHaveLength(32);
    for (const flight of far.bench.flights.slice(1)) await flight.answer();
    await far.bench.move(5 * SECOND_MS);
    expect(far.bench.flights).toHaveLength(1);
    expect(far.bench.told).toEqual(["health opened"]);
    far.bench.answerWith(() => OK);
    await far.bench.flights[0]?.answer();
    await far.bench.move(20 * SECOND_MS);
    expect(far.bench.sent).toHaveLength(100);
    expect(far.bench.told).toEqual(["health opened", "health closed"]);
    expect(await countOpen(far.bench.store)).toBe(0);
  });

  it("stays in QUEUE, with nothing waiting, until its health was good three times", async () => {
    const far = await openChecked();
    await goDown(far);
    far.well();
    const checks = far.state.checks.length;
    while (far.target.mode.isOpen) await far.bench.move(100);
    expect(far.state.checks.length - checks).toBe(3);
    const [first = 0, , third = 0] = far.state.checks.slice(checks);
    expect(third - first).toBeLessThanOrEqual(2 * HEALTH.firstMs + 10);
  });

  it("does not send more than a batch a second at first, when nothing is known of its rate", async () => {
    const far = await openChecked();
    await goDown(far);
    await far.bench.publishAll(ids(1500));
    far.well();
    while (far.target.successes === 0) await far.bench.move(100);
    const before = far.bench.sent.length;
    await far.bench.move(10 * SECOND_MS);
    const perS = (far.bench.sent.length - before) / 10;
    expect(perS).toBeGreaterThan(25);
    expect(perS).toBeLessThanOrEqual(34);
    await far.bench.move(40 * SECOND_MS);
    expect(far.bench.told.at(-1)).toBe("health closed");
  });

  it("is sent hardly more than twice what it is used to, for a minute", async () => {
    const far = await openChecked();
    for (let second = 0; second < 180; second++) {
      await far.bench.publishAll(ids(50, `s${second}`));
      await far.bench.move(SECOND_MS);
    }
    await goDown(far);
    await far.bench.publishAll(ids(6000, "waits"));
    far.well();
    while (far.target.successes === 0) await far.bench.move(100);
    const atFirst = far.bench.sent.length;
    await far.bench.move(SECOND_MS);
    expect(far.bench.sent.length - atFirst).toBeLessThan(20);
    await far.bench.move(5 * SECOND_MS);
    const before = far.bench.sent.length;
    await far.bench.move(10 * SECOND_MS);
    const perS = (far.bench.sent.length - before) / 10;
    expect(perS).toBeGreaterThan(70);
    expect(perS).toBeLessThanOrEqual(100);
  });

  it("ends the round with a failure, and goes on after the next check with what was not tried", async () => {
    const far = await openChecked({ batchSize: 4 });
    await goDown(far);
    await far.bench.publishAll(ids(20));
    far.well();
    far.bench.answerWith(({ eventId }) => (eventId === "e-5" ? DOWN : OK));
    while (!far.bench.sent.includes("e-5")) await far.bench.move(50);
    await far.bench.move(SECOND_MS);
    expect(far.bench.sent.length).toBeLessThanOrEqual(12);
    expect(far.target.mode.isOpen).toBe(true);
    await far.bench.move(MINUTE_MS / 2);
    expect(new Set(far.bench.sent).size).toBe(20);
    // One that fails whenever it is tried does not hold the others.
    expect(far.bench.told).toEqual(["health opened", "health closed"]);
    expect(await countOpen(far.bench.store)).toBe(1);
  });

  it("brings later tries forward, and stays in QUEUE where all of them fail", async () => {
    const far = await openChecked({}, { retryPolicy: { delays_s: [3600, 3600] } });
    far.ill();
    await far.bench.publishAll(ids(3));
    await far.bench.move(SECOND_MS);
    expect(far.target.mode.isOpen).toBe(true);
    await far.bench.move(MINUTE_MS);
    far.well();
    await far.bench.move(MINUTE_MS);
    expect(await countOpen(far.bench.store)).toBe(0);

    // Its health is good all the time.
    const other = await openChecked({}, { retryPolicy: { delays_s: [3600, 3600] } });
    const counted: number[] = [];
    other.bench.answerWith(({ delivery: { attemptCount, uncountedAttempts } }) => {
      if (attemptCount > 0) counted.push(attemptCount - uncountedAttempts);
      return refused(500);
    });
    await other.bench.publishAll(ids(3));
    await other.bench.move(2 * MINUTE_MS);
    expect(other.bench.told).toEqual(["n8n opened"]);
    expect(new Set(other.bench.sent.slice(3)).size).toBe(3);
    // It is not asked more often than every 30 seconds meanwhile.
    const sent = other.bench.sent.length;
    await other.bench.move(10 * MINUTE_MS);
    expect(other.bench.sent.length - sent).toBeLessThanOrEqual(20);
    // Trying them before their time has used up no retry.
    expect(new Set(counted)).toEqual(new Set([1]));
    other.bench.answerWith(() => OK);
    await other.bench.move(MINUTE_MS);
    expect(other.bench.told).toEqual(["n8n opened", "health closed"]);
    expect(await countOpen(other.bench.store)).toBe(0);
  });

  it("is back once those that always fail have died, although nothing else ever came", async () => {
    const far = await openChecked({}, { retryPolicy: "short" });
    far.bench.answerWith(() => refused(500));
    await far.bench.publishAll(ids(3));
    await far.bench.move(2 * MINUTE_MS);
    expect(far.bench.told).toEqual(["n8n opened"]);
    await far.bench.move(120 * MINUTE_MS);
    expect(await countOpen(far.bench.store)).toBe(0);
    expect(far.bench.told).toEqual(["n8n opened", "health closed"]);
  });

  it("is back although one event fails again and again", async () => {
    const far = await openChecked();
    await goDown(far);
    await far.bench.publish({ id: "poison" });
    far.well();
    far.bench.answerWith(() => refused(500));
    await far.bench.move(5 * MINUTE_MS);
    expect(far.bench.told).toEqual(["health opened", "health closed"]);
    expect(await countOpen(far.bench.store)).toBe(1);
  });

  it("is back soon although many fail again and again, as long as it accepts others", async () => {
    const far = await openChecked({}, { retryPolicy: { delays_s: [3600, 3600] } });
    const poisoned = ids(700, "poison");
    far.bench.answerWith(({ eventId }) => (eventId.startsWith("poison") ? refused(500) : OK));
    // Among others, so that they are no outage.
    for (const id of poisoned) await far.bench.publishAll([id, `good-${id}`]);
    await far.bench.move(MINUTE_MS);
    expect(new Set(far.bench.sent).size).toBe(1400);
    await goDown(far);
    await far.bench.publish({ id: "new" });
    far.state.health = undefined;
    far.bench.answerWith(({ eventId }) => (eventId.startsWith("poison") ? refused(500) : OK));
    const before = far.bench.sent.length;
    await far.bench.move(2 * MINUTE_MS);
    expect(new Set(far.bench.sent.slice(before)).size).toBe(701);
    expect(far.bench.told).toEqual(["health opened", "health closed"]);
  });

  it("stops a round when a check fails, and what is left waits unspent", async () => {
    const far = await openChecked({ batchSize: 1 });
    await goDown(far);
    await far.bench.publishAll(ids(50));
    far.well();
    while (far.bench.sent.length < 5) await far.bench.move(50);
    far.state.health = "health check: answered 500";
    far.bench.answerWith(undefined);
    await far.bench.move(20 * SECOND_MS);
    const sent = far.bench.sent.length;
    for (const flight of far.bench.flights.slice()) await flight.answer();
    await far.bench.move(5 * MINUTE_MS);
    expect(far.bench.sent).toHaveLength(sent);
    expect(far.target.mode.isOpen).toBe(true);
  });

  it("goes back to NORMAL although more comes than it can take", async () => {
    const far = await openChecked({ batchSize: 2 });
    await goDown(far);
    await far.bench.publishAll(ids(20, "old"));
    far.well();
    far.bench.answerWith(() => OK, 500);
    let n = 0;
    for (let second = 0; second < 300 && far.target.mode.isOpen; second++) {
      await far.bench.publishAll(ids(6, `s${n++}`));
      await far.bench.move(SECOND_MS);
    }
    expect(far.bench.told).toEqual(["health opened", "health closed"]);
    expect(ids(20, "old").filter((id) => !far.bench.sent.includes(id))).toEqual([]);
    expect(await countOpen(far.bench.store)).toBeGreaterThan(0);
  });

  // shows: B19
  it("waits 30 seconds between rounds", async () => {
    const far = await openChecked({ successesToClose: 100 });
    await goDown(far);
    far.well();
    while (far.target.successes < 2) await far.bench.move(100);
    const from = far.bench.time.elapsedMs;
    const waits: number[] = [];
    for (let n = 0; n < 3; n++) {
      await far.bench.publish({ id: `late-${n}` });
      while (!far.bench.sent.includes(`late-${n}`)) await far.bench.move(100);
      waits.push(far.bench.time.elapsedMs - from);
    }
    const gaps = waits.slice(1).map((at, i) => at - (waits[i] ?? 0));
    for (const gap of gaps) expect(Math.abs(gap - 30_000)).toBeLessThanOrEqual(HEALTH.firstMs + SECOND_MS);
    expect(far.target.mode.isOpen).toBe(true);
  });
});

describe("the retry policy for proxies", () => {
  // shows: B34, B35
  it("makes five tries half a minute apart, and then a dead letter", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ retryPolicy: "short" });
    const sentAt: number[] = [];
    bench.answerWith(({ startedAt }) => {
      sentAt.push(startedAt);
      return refused(500);
    });
    await bench.publish({ id: "poison" });
    await bench.move(10 * MINUTE_MS);
    const gaps = sentAt.slice(1).map((at, i) => at - (sentAt[i] ?? 0));
    expect(gaps).toHaveLength(4);
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(30_000);
      expect(gap).toBeLessThanOrEqual(37_000);
    }
    const key = { eventSeq: 1, subscriptionSeq: subscription.seq };
    expect(await bench.store.reads.findDelivery(key)).toMatchObject({ state: "dead", deadReason: "retries_exhausted" });
  });
});

describe("a mode that an operator sets", () => {
  it("holds everything in QUEUE, until a drain asks for one round", async () => {
    const far = await openChecked();
    forceMode(far.target, "QUEUE", far.bench.clock.now());
    far.bench.scheduler.targets.refresh(far.target);
    await far.bench.publishAll(ids(40));
    await far.bench.move(10 * MINUTE_MS);
    expect(far.bench.sent).toEqual([]);
    far.bench.scheduler.targets.drain(far.subscription);
    await far.bench.move(SECOND_MS);
    expect(far.bench.sent).toHaveLength(40);
    await far.bench.publish({ id: "after" });
    await far.bench.move(10 * MINUTE_MS);
    expect(far.bench.sent).toHaveLength(40);
    expect(far.target.mode.isOpen).toBe(true);
    forceMode(far.target, "auto", far.bench.clock.now());
    far.bench.scheduler.targets.refresh(far.target);
    await far.bench.move(SECOND_MS);
    expect(far.bench.sent).toHaveLength(41);
  });

  it("sends in NORMAL however often it fails", async () => {
    const far = await openChecked({}, { retryPolicy: { delays_s: [1] } });
    far.ill();
    forceMode(far.target, "NORMAL", far.bench.clock.now());
    await far.bench.publishAll(ids(8));
    await far.bench.move(5 * SECOND_MS);
    expect(far.bench.sent).toHaveLength(16);
    expect(far.target.mode.isOpen).toBe(false);
  });

  it("is drained without a health check too: a failure ends the round", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ name: "shop", concurrency: 1, retryPolicy: SLOW_RETRIES });
    const target = bench.scheduler.targetOf(subscription);
    forceMode(target, "QUEUE", bench.clock.now());
    bench.answerWith(({ eventId }) => (eventId === "e-7" ? DOWN : OK));
    await bench.publishAll(ids(20));
    bench.scheduler.targets.drain(subscription);
    await bench.move(SECOND_MS);
    expect(bench.sent).toEqual(ids(8));
    await bench.move(10 * MINUTE_MS);
    expect(bench.sent).toHaveLength(8);
  });

  it("is drained in NORMAL too: later tries are made now", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ retryPolicy: { delays_s: [3600] } });
    bench.answerWith(() => refused(500));
    await bench.publishAll(ids(3));
    await bench.move(SECOND_MS);
    bench.answerWith(() => OK);
    bench.scheduler.targets.drain(subscription);
    await bench.move(SECOND_MS);
    expect(await countOpen(bench.store)).toBe(0);
  });
});

describe("a target that several subscriptions share", () => {
  async function openShared(rules: Partial<TargetRules> = {}) {
    const state = { health: undefined as string | undefined };
    const target = createTarget(createTargetCondition(NOON), { ...DEFAULT_RULES, ...rules });
    const bench: DeliveryBench = await open({
      findSharedTarget: ({ sharedTarget }) => (sharedTarget === undefined ? undefined : target),
      check: (_, __, done) => void bench.time.after(1, () => done(state.health)),
    });
    const share = { sharedTarget: "n8n", concurrency: 1, retryPolicy: SLOW_RETRIES };
    const a = await bench.subscribe({ name: "a", events: ["a"], ...share });
    const b = await bench.subscribe({ name: "b", events: ["b"], ...share });
    const other = await bench.subscribe({ name: "other", events: ["b"], concurrency: 1 });
    return { bench, target, state, a, b, other };
  }

  it("is in QUEUE for all of them when the deliveries of one fail", async () => {
    const { bench, target, a, b, other } = await openShared();
    bench.answerWith(({ subscription }) => (subscription.name === "other" ? OK : DOWN));
    await bench.publishAll(ids(3, "a"), { type: "a" });
    await bench.move(100);
    expect(target.mode.isOpen).toBe(true);
    expect(bench.told).toEqual(["a opened"]);
    await bench.publishAll(ids(3, "b"), { type: "b" });
    await bench.move(100);
    expect(bench.sent.filter((id) => id.startsWith("b"))).toHaveLength(3);
    expect(bench.scheduler.findMode(a.seq)).toBe(bench.scheduler.findMode(b.seq));
    expect(bench.scheduler.findMode(other.seq)?.isOpen).toBe(false);
  });

  it("is probed by one delivery at a time, and all flow again when it succeeds", async () => {
    const { bench, target } = await openShared();
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(5, "a"), { type: "a" });
    await bench.move(100);
    await bench.publishAll(ids(5, "b"), { type: "b" });
    bench.answerWith(undefined);
    await bench.move(10 * MINUTE_MS);
    expect(bench.flights.filter(({ subscription }) => subscription.name !== "other")).toHaveLength(1);
    bench.answerWith(() => OK);
    for (const flight of bench.flights.slice()) await flight.answer();
    await bench.move(5 * SECOND_MS);
    expect(target.mode.isOpen).toBe(false);
    expect(await countOpen(bench.store)).toBe(0);
  });

  it("goes on being probed when the one that probed has nothing left", async () => {
    const { bench, target } = await openShared();
    bench.answerWith(({ subscription }) => (subscription.name === "other" ? OK : DOWN));
    await bench.publishAll(ids(3, "a"), { type: "a" });
    await bench.publishAll(ids(1, "b"), { type: "b" });
    await bench.move(5 * MINUTE_MS);
    bench.answerWith(() => OK);
    await bench.move(3 * MINUTE_MS);
    expect(target.mode.isOpen).toBe(false);
    expect(await countOpen(bench.store)).toBe(0);
  });

  it("does not suspend one for what died of another", async () => {
    const { bench } = await openShared();
    bench.answerWith(() => refused(400));
    await bench.publishAll(ids(8, "a"), { type: "a" });
    await bench.publishAll(ids(8, "b"), { type: "b" });
    await bench.move(SECOND_MS);
    expect(bench.told.filter((line) => line.includes("suspended"))).toEqual([]);
    await bench.publishAll(ids(4, "more"), { type: "a" });
    await bench.move(SECOND_MS);
    expect(bench.told.filter((line) => line.includes("suspended"))).toEqual([expect.stringMatching(/^a suspended/)]);
  });

  it("is drained over all of them in common batches", async () => {
    const rules = { health: RULES.health, batchSize: 4 };
    const { bench, target, state } = await openShared(rules);
    state.health = "down";
    bench.health.watch(new Map([[target, "default"]]));
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(3, "first"), { type: "a" });
    await bench.move(SECOND_MS);
    expect(target.mode.isOpen).toBe(true);
    await bench.publishAll(ids(10, "a"), { type: "a" });
    await bench.publishAll(ids(10, "b"), { type: "b" });
    await bench.move(MINUTE_MS);
    state.health = undefined;
    bench.answerWith(() => OK);
    await bench.move(MINUTE_MS);
    expect(target.mode.isOpen).toBe(false);
    expect(await countOpen(bench.store)).toBe(0);
  });

  it("is left by a subscription that gets another, and the rules of its own hold again", async () => {
    const { bench, target, b } = await openShared();
    bench.answerWith(({ subscription }) => (subscription.name === "a" ? DOWN : OK));
    await bench.publishAll(ids(3, "a"), { type: "a" });
    await bench.move(100);
    await bench.publish({ id: "b", type: "b" });
    await bench.move(100);
    expect(target.mode.isOpen).toBe(true);
    expect(await bench.stateOf(4, b)).toBe("pending");
    await bench.change(b, { sharedTarget: undefined });
    await bench.move(100);
    expect(await bench.stateOf(4, b)).toBe("delivered");
    expect(target.mode.isOpen).toBe(true);
  });
});
