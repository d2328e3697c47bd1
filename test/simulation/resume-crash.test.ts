import { describe, expect, it } from "vitest";
import type { Subscription } from "../../src/model/subscription.ts";
import { createResume } from "../../src/replays/resume.ts";
import { createChance } from "../support/chance.ts";
import { createSimulatedSender } from "../support/simulated-destination.ts";
import { openSimulatedGateway, type SimulatedGateway } from "../support/simulated-gateway.ts";
import { NOON, countOpen, newEvent } from "../support/store-fixtures.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { useFolder } from "../support/store-folder.ts";
import { createVirtualTime, moveClock } from "../support/virtual-clock.ts";
import { settleCalls } from "../support/watched-store.ts";
import { withPort } from "../support/with-port.ts";

const HELD = 1200;

describe("a crash while what was held is skipped", () => {
  const folder = useFolder(MEMORY_FOLDER);

  it("leaves the subscription paused with less held; nothing skipped is sent, and the same call goes on", async () => {
    const time = createVirtualTime(NOON);
    const chance = createChance(7);
    const calls = { made: 0, open: 0 };
    const sent: string[] = [];
    const settle = () => settleCalls(() => calls);
    const open = () =>
      openSimulatedGateway({
        folder: folder.path,
        time,
        chance,
        calls,
        createSender: ({ isAlive }) =>
          createSimulatedSender({
            time,
            isAlive,
            findDestination: () => ({ moods: [], latencyMs: 5, chance }),
            onSend: ({ attempt }) => sent.push(attempt.event.id),
          }),
        maxInFlight: 10,
        maxBodyBytes: 1_000_000,
        maxRows: 5000,
        commitMs: 0,
        onFault: (error) => {
          throw error;
        },
      });
    const resumeOf = ({ subscriptions, scheduler }: SimulatedGateway, store: SimulatedGateway["store"]) =>
      createResume({
        store,
        subscriptions,
        findMode: scheduler.findMode,
        failureEvents: { resumed: () => undefined },
        trail: { note: () => Promise.resolve() },
      });
    const only = (gateway: SimulatedGateway) => gateway.subscriptions.list(undefined)[0] as Subscription;

    let gateway = await open();
    await gateway.subscriptions.create({ name: "s", url: "https://example.com", events: ["#"], status: "inactive" });
    for (let n = 0; n < HELD; n++) gateway.accept(newEvent({ id: `held-${n}` }), () => undefined);
    await settle();
    const steps: object[] = [];
    const { store } = gateway;
    // The process dies before it hears of the second step.
    const dying = withPort(store, "lanes", {
      async changeLane(...args) {
        const step = await store.lanes.changeLane(...args);
        return steps.push(step) < 2 ? step : new Promise<never>(() => undefined);
      },
    });
    void resumeOf(gateway, dying).resume(only(gateway), "skip");
    while (steps.length < 2) await settle();
    await gateway.kill();

    gateway = await open();
    await moveClock(time, 60_000, settle);
    const left = await countOpen(gateway.store);
    expect([only(gateway).status, sent, left > 0, left < HELD]).toEqual(["inactive", [], true, true]);
    expect(await resumeOf(gateway, gateway.store).resume(only(gateway), "skip")).toMatchObject({
      subscription: { status: "active" },
      skipped: left,
    });
    gateway.accept(newEvent({ id: "after" }), () => undefined);
    await moveClock(time, 60_000, settle);
    expect([sent, await countOpen(gateway.store)]).toEqual([["after"], 0]);
    const stopping = gateway.stop(1000);
    await moveClock(time, 2000, settle);
    await stopping;
  });
});
