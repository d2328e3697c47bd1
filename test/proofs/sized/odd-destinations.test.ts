import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HealthCheck } from "../../../src/deliver/shared-checks.ts";
import { ONE_BY_ONE, type Sender } from "../../../src/destinations/sender.ts";
import type { Outcome } from "../../../src/model/outcome.ts";
import type { SubscriptionInput } from "../../../src/model/subscription.ts";
import { createRetentionTimes, reportRetention } from "../../../src/jobs/retention.ts";
import { createStatus, type StatusOptions } from "../../../src/api/status.ts";
import { createChance } from "../../support/chance.ts";
import { DOWN, OK, refused } from "../../support/delivery-bench.ts";
import { recordOf } from "../../support/http-outcomes.ts";
import { sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { openSimulatedGateway } from "../../support/simulated-gateway.ts";
import { newEvent, NOON } from "../../support/store-fixtures.ts";
import { MEMORY_FOLDER } from "../../support/memory-folder.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualTime, moveClock } from "../../support/virtual-clock.ts";
import { settleCalls } from "../../support/watched-store.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const LATENCY_MS = 20;
/** For so long events come in for one that is away for three days: more than twice what one minute brings. */
const FLOW_MS = sized({ short: 6 * MINUTE_MS, middle: 10 * MINUTE_MS, long: 10 * MINUTE_MS });
const HEALTH_URL = "https://example.com/healthz";

interface ShownStatus {
  mode: string;
  health: string;
  queue_length: number;
  last_error: string | null;
  targets: { mode: string; health: string; reason: string | null; failures: number; rate_per_s: number | null }[];
  suspended: { reason: string }[];
}

/** The whole engine in virtual time, before a destination that behaves in some odd way; and what an operator reads. */
describe("a destination that behaves oddly", () => {
  const folder = useFolder(MEMORY_FOLDER);
  let opened = 0;

  async function open(answer: (elapsedMs: number) => Outcome, settings: Partial<SubscriptionInput> = {}) {
    const time = createVirtualTime(NOON);
    const chance = createChance(5);
    const calls = { made: 0, open: 0 };
    const faults: unknown[] = [];
    const sentAt: number[] = [];
    const changes: string[] = [];
    let good = 0;
    const far = { answer, isHealthy: () => true };
    const sender: Sender = {
      limitsOf: () => ONE_BY_ONE,
      send([attempt], done) {
        const startedAt = time.wall();
        sentAt.push(time.elapsedMs);
        const outcome = far.answer(time.elapsedMs);
        if (outcome.kind === "delivered") good++;
        const record = recordOf(attempt?.subscription ?? { place: "" });
        time.after(LATENCY_MS, () => done([{ outcome, startedAt, durationMs: LATENCY_MS, record }]));
      },
      close: () => Promise.resolve(),
    };
    const check: HealthCheck = (_, __, done) =>
      void time.after(LATENCY_MS, () => done(far.isHealthy() ? undefined : "health check: answered 503"));
    const gateway = await openSimulatedGateway({
      folder: join(folder.path, String(++opened)),
      time,
      chance,
      calls,
      check,
      createSender: () => sender,
      maxInFlight: 100,
      maxBodyBytes: 64_000_000,
      maxRows: 5000,
      commitMs: 0,
      onFault: (error) => faults.push(error),
      onMode: (_, change) => changes.push(change),
    });
    const { id } = await gateway.subscriptions.create({
      name: "shop",
      url: "https://example.com/hook",
      events: ["#"],
      ...settings,
    });
    const settle = () => settleCalls(() => calls);
    const { store, scheduler, subscriptions, targets } = gateway;
    // What a disk, a loop or a scrape have to say is asked for elsewhere.
    const sources = { list: () => [] };
    const retention = { store, jobs: { list: async () => [] }, times: createRetentionTimes({}), clock: gateway.clock };
    const parts: Partial<StatusOptions> = {
      store,
      scheduler,
      subscriptions,
      targets,
      sources,
      fallbackDepths: { sum: async () => 0 },
      connections: { list: () => [] },
      pullers: { list: () => [] },
      alerts: { countActive: () => 0, listRules: () => [] },
      reportRetention: (tenantId) => reportRetention(retention, tenantId),
    };
    const status = createStatus(parts as StatusOptions);
    return {
      time,
      changes,
      store,
      far,
      move: (byMs: number) => moveClock(time, byMs, settle),
      async flow(durationMs: number, perS: number) {
        for (let at = 0; at < durationMs; at += SECOND_MS / perS) {
          const now = gateway.clock.now();
          gateway.accept(newEvent({ receivedAt: now, dueAt: now }), () => undefined);
          await moveClock(time, SECOND_MS / perS, settle);
        }
      },
      good: () => good,
      sentBetween: (from: number, to: number) => sentAt.filter((at) => at >= from && at < to).length,
      status: async () => (await status.status(undefined)) as ShownStatus,
      async resume() {
        const subscription = subscriptions.getById(id, undefined);
        await subscriptions.setStatus(subscription, "active");
      },
      async stop() {
        const stopping = gateway.stop(SECOND_MS);
        await moveClock(time, 2 * SECOND_MS, settle);
        await stopping;
        expect(faults).toEqual([]);
      },
    };
  }

  it("and flaps every second is hardly ever in QUEUE, and gets in the first try or the second what comes", async () => {
    const world = await open((at) => (Math.floor(at / SECOND_MS) % 2 === 0 ? OK : DOWN), { concurrency: 32 });
    await world.flow(2 * MINUTE_MS, 50);
    const atOnce = world.good();
    // What failed twice waits for its third try, five minutes later.
    await world.move(40 * MINUTE_MS);
    const sent = world.sentBetween(0, world.time.elapsedMs);
    const facts = `${count(atOnce)} of 6,000 arrived in 2 minutes, ${count(world.good())} within 40`;
    report(`flapping every second: ${facts}, with ${count(sent)} attempts`);
    expect(atOnce).toBeGreaterThan(4_200);
    expect(world.good()).toBeGreaterThan(5_800);
    expect(sent).toBeLessThan(3 * 6000);
    // A hundred retries of one moment may all fall into one second in which it is away; the next second it is back.
    expect(world.changes.filter((change) => change === "opened").length).toBeLessThan(5);
    expect(await world.status()).toMatchObject({ mode: "NORMAL", health: "ok" });
    await world.stop();
  });

  it("and answers 429 for ever is asked once a minute, in NORMAL, and gets all when it takes something", async () => {
    const world = await open(() => refused(429), { suspend_after_dead: null });
    await world.flow(MINUTE_MS, 5);
    await world.move(HOUR_MS);
    const from = world.time.elapsedMs - HOUR_MS / 2;
    const perHour = 2 * world.sentBetween(from, world.time.elapsedMs);
    report(`429 for ever: ${perHour} attempts an hour`);
    expect(perHour).toBeGreaterThan(50);
    expect(perHour).toBeLessThanOrEqual(62);
    const shown = await world.status();
    expect(shown).toMatchObject({ mode: "NORMAL", last_error: "429", queue_length: 300 });
    expect(shown.targets[0]?.rate_per_s).toBeCloseTo(1 / 60, 2);
    world.far.answer = () => OK;
    await world.move(24 * HOUR_MS);
    expect(world.good()).toBe(300);
    expect((await world.status()).targets[0]).toMatchObject({ rate_per_s: null });
    await world.stop();
  });

  it("and is well by its health check but answers 500 to all else is in QUEUE, and shown as ill", async () => {
    const world = await open(() => refused(500), { health_url: HEALTH_URL, concurrency: 8 });
    await world.flow(MINUTE_MS, 2);
    await world.move(HOUR_MS);
    expect(world.changes).toEqual(["opened"]);
    expect(await world.status()).toMatchObject({
      mode: "QUEUE",
      health: "error",
      last_error: "500",
      targets: [{ mode: "QUEUE", health: "error", reason: "500" }],
      suspended: [],
    });
    const sent = world.sentBetween(0, world.time.elapsedMs);
    report(`500 to everything, with good health: ${sent} attempts in an hour, 120 events`);
    expect(sent).toBeLessThan(200);
    world.far.answer = () => OK;
    await world.move(10 * MINUTE_MS);
    expect(await world.status()).toMatchObject({ mode: "NORMAL", health: "ok", queue_length: 0 });
    expect(world.good()).toBe(120);
    await world.stop();
  });

  /** As a multiple of what is usual. */
  async function firstMinute(world: Awaited<ReturnType<typeof open>>, perS: number): Promise<number> {
    const before = world.good();
    while (world.good() < before + 2) await world.move(SECOND_MS);
    const from = world.time.elapsedMs;
    await world.move(MINUTE_MS);
    return world.sentBetween(from, from + MINUTE_MS) / (perS * 60);
  }

  it("and comes back after three days is suspended and says so, and flows slowly when it is resumed", async () => {
    const world = await open(() => OK, { concurrency: 16 });
    await world.flow(FLOW_MS, 10);
    world.far.answer = () => DOWN;
    await world.flow(FLOW_MS, 10);
    await world.move(72 * HOUR_MS);
    const shown = await world.status();
    expect(shown).toMatchObject({ mode: "QUEUE", health: "error" });
    expect(shown.suspended).toMatchObject([{ reason: "it could not be reached for 72 h: connection refused" }]);
    world.far.answer = () => OK;
    await world.move(HOUR_MS);
    expect((await world.status()).suspended).toHaveLength(1);
    await world.resume();
    const ratio = await firstMinute(world, 10);
    report(`back after 3 days, resumed: ${ratio.toFixed(2)} x the usual rate in the first minute (target 2)`);
    expect(ratio).toBeLessThanOrEqual(2);
    await world.move(30 * MINUTE_MS);
    expect(await world.status()).toMatchObject({ mode: "NORMAL", health: "ok", queue_length: 0, suspended: [] });
    await world.stop();
  });

  it("and comes back after three days goes on by itself where its health is checked", async () => {
    const world = await open(() => OK, { concurrency: 16, health_url: HEALTH_URL });
    await world.flow(FLOW_MS / 2, 40);
    world.far.answer = () => DOWN;
    world.far.isHealthy = () => false;
    await world.flow(FLOW_MS / 2, 40);
    await world.move(73 * HOUR_MS);
    expect(await world.status()).toMatchObject({ mode: "QUEUE", health: "error", suspended: [] });
    expect(world.sentBetween(world.time.elapsedMs - 72 * HOUR_MS, world.time.elapsedMs)).toBe(0);
    world.far.answer = () => OK;
    world.far.isHealthy = () => true;
    const ratio = await firstMinute(world, 40);
    report(
      `back after 3 days, by its health check: ${ratio.toFixed(2)} x the usual rate in the first minute (target 2)`,
    );
    expect(ratio).toBeLessThanOrEqual(2);
    await world.move(30 * MINUTE_MS);
    expect(await world.status()).toMatchObject({ mode: "NORMAL", health: "ok", queue_length: 0 });
    await world.stop();
  });
});
