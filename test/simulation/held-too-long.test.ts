import { describe, expect, it } from "vitest";
import type { Subscription, SubscriptionInput } from "../../src/model/subscription.ts";
import { createHeldJob } from "../../src/jobs/upkeep.ts";
import { createJobs } from "../../src/jobs/jobs.ts";
import type { DeadDelivery } from "../../src/store/port/lanes.ts";
import { createChance } from "../support/chance.ts";
import { createSimulatedSender, type Mood } from "../support/simulated-destination.ts";
import { openSimulatedGateway } from "../support/simulated-gateway.ts";
import { NOON } from "../support/store-fixtures.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { useFolder } from "../support/store-folder.ts";
import { createVirtualTime, moveClock } from "../support/virtual-clock.ts";
import { settleCalls, watchCalls } from "../support/watched-store.ts";

const DAY_MS = 86_400_000;
const MAX_DAYS = 30;

describe("weeks on hold", () => {
  const folder = useFolder(MEMORY_FOLDER);

  async function open() {
    const time = createVirtualTime(NOON);
    const chance = createChance(5);
    const calls = { made: 0, open: 0 };
    const faults: unknown[] = [];
    const onFault = (error: unknown) => void faults.push(error);
    const moods = new Map<string, Mood>();
    const sent: string[] = [];
    const died: { id: string; reason: string; day: number }[] = [];
    const daysSince = () => (time.wall() - NOON) / DAY_MS;

    async function start() {
      const gateway = await openSimulatedGateway({
        folder: folder.path,
        time,
        chance,
        calls,
        createSender: ({ isAlive }) =>
          createSimulatedSender({
            time,
            isAlive,
            onSend: ({ attempt }) => sent.push(attempt.event.id),
            findDestination: ({ subscription }) => ({
              moods: [{ from: 0, mood: moods.get(subscription.name) ?? "well" }],
              latencyMs: 5,
              chance,
            }),
          }),
        maxInFlight: 10,
        maxBodyBytes: 1_000_000,
        maxRows: 1000,
        commitMs: 0,
        onFault,
      });
      const { clock, subscriptions, scheduler } = gateway;
      const store = watchCalls(gateway.store, { state: "alive", calls, tell: (run) => run() });
      const job = createHeldJob({
        store,
        subscriptions,
        findMode: scheduler.findMode,
        clock,
        maxHeldMs: MAX_DAYS * DAY_MS,
        onDead: (dead: readonly DeadDelivery[]) =>
          dead.forEach(({ eventId, reason }) => died.push({ id: eventId, reason, day: daysSince() })),
        onMovedUp: scheduler.refresh,
      });
      const jobs = createJobs({ store, clock, runner: String(time.elapsedMs), jobs: [job], onFault });
      await jobs.start();
      return { gateway, jobs };
    }

    let world = await start();
    const settle = () => settleCalls(() => calls);
    return {
      faults,
      sent,
      died,
      moods,
      get gateway() {
        return world.gateway;
      },
      async subscribe(input: Partial<SubscriptionInput> & { name: string }): Promise<Subscription> {
        const given = { url: "https://example.com/hook", events: [input.name], ...input };
        return world.gateway.subscriptions.create(given);
      },
      publish(type: string, id: string, deliverOnDay?: number): Promise<void> {
        const at = deliverOnDay === undefined ? undefined : new Date(NOON + deliverOnDay * DAY_MS).toISOString();
        const body = { event_type: type, event_id: id, payload: {}, ...(at !== undefined && { deliver_at: at }) };
        return new Promise((resolve) => {
          world.gateway.publisher.publish(Buffer.from(JSON.stringify(body)), {}, () => resolve());
        });
      },
      moveToDay: (day: number) => moveClock(time, (day - daysSince()) * DAY_MS, settle),
      async restart() {
        await world.jobs.stop();
        const stopping = world.gateway.stop(1000);
        await moveClock(time, 2000, settle);
        await stopping;
        world = await start();
      },
      async stop() {
        await world.jobs.stop();
        const stopping = world.gateway.stop(1000);
        await moveClock(time, 2000, settle);
        await stopping;
      },
    };
  }

  it("make dead letters of what was due and held for as long as is allowed, over restarts, and of nothing else", async () => {
    const world = await open();
    await world.subscribe({ name: "paused", status: "inactive" });
    const resumed = await world.subscribe({ name: "resumed", status: "inactive" });
    for (const type of ["paused", "resumed"]) await world.publish(type, `${type}-0`);
    await world.publish("paused", "later", 25);
    await world.moveToDay(10);
    await world.publish("paused", "paused-10");
    await world.moveToDay(15);
    await world.restart();
    await world.moveToDay(29.9);
    expect(world.died).toEqual([]);
    await world.gateway.subscriptions.setStatus(resumed, "active");
    await world.moveToDay(60);
    await world.stop();
    expect(world.faults).toEqual([]);
    expect(world.sent).toEqual(["resumed-0"]);
    expect(world.died.map(({ id, reason, day }) => [id, reason, Math.floor(day)])).toEqual([
      ["paused-0", "held_too_long", 30],
      ["paused-10", "held_too_long", 40],
      ["later", "held_too_long", 55],
    ]);
    for (const { day } of world.died) expect(day % 1).toBeLessThan(0.05);
  });

  it("count from the suspension and not from before it, where a destination was down first", async () => {
    const world = await open();
    world.moods.set("down", "down");
    const retry_policy = { delays_s: Array.from({ length: 100 }, () => 12 * 3600) };
    await world.subscribe({ name: "down", retry_policy });
    for (const id of ["a", "b", "c"]) await world.publish("down", id);
    await world.moveToDay(3.6);
    expect(world.gateway.subscriptions.list(undefined)[0]?.status).toBe("suspended");
    await world.moveToDay(32.9);
    expect(world.died).toEqual([]);
    await world.moveToDay(36);
    await world.stop();
    expect(world.died.map(({ id }) => id).toSorted()).toEqual(["a", "b", "c"]);
  });
});
