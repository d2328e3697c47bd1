import { describe, expect, it } from "vitest";
import { FOLLOW_EVERY_MS } from "../../src/resources/registry.ts";
import type { Accepted } from "../../src/model/accepted.ts";
import { createChance } from "../support/chance.ts";
import { createSimulatedSender } from "../support/simulated-destination.ts";
import { openSimulatedGateway } from "../support/simulated-gateway.ts";
import { newEvent, NOON } from "../support/store-fixtures.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { useFolder } from "../support/store-folder.ts";
import { createVirtualTime, moveClock } from "../support/virtual-clock.ts";
import { settleCalls } from "../support/watched-store.ts";

describe("two gateways on one store", () => {
  const folder = useFolder(MEMORY_FOLDER);

  async function openTwo(follows: boolean) {
    const time = createVirtualTime(NOON);
    const chance = createChance(1);
    const calls = { made: 0, open: 0 };
    const faults: unknown[] = [];
    const arrived: string[] = [];
    const open = () =>
      openSimulatedGateway({
        folder: folder.path,
        time,
        chance,
        calls,
        follows,
        createSender: ({ isAlive }) =>
          createSimulatedSender({
            time,
            isAlive,
            findDestination: () => ({ moods: [], latencyMs: 1, chance }),
            onSend: ({ attempt }) => arrived.push(attempt.event.id),
          }),
        maxInFlight: 10,
        maxBodyBytes: 1_000_000,
        maxRows: 5000,
        commitMs: 0,
        onFault: (error) => faults.push(error),
      });
    const [one, other] = [await open(), await open()];
    const move = (byMs: number) => moveClock(time, byMs, () => settleCalls(() => calls));
    async function publish(id: string): Promise<Accepted | undefined> {
      let result: Accepted | undefined;
      const at = other.clock.now();
      other.accept(newEvent({ id, receivedAt: at, dueAt: at }), (told) => (result = told));
      await move(10);
      return result;
    }
    folder.onEnd(async () => {
      await Promise.all([one.kill(), other.kill()]);
      expect(faults).toEqual([]);
    });
    return { one, other, arrived, move, publish };
  }

  const INPUT = { name: "a", url: "https://example.com/hook", events: ["#"] };

  it("follow each other's changes within the interval: what is routed, what is held and what is sent again", async () => {
    const { one, other, arrived, move, publish } = await openTwo(true);
    const made = await one.subscriptions.create(INPUT);
    expect(other.subscriptions.find(made.seq)).toBeUndefined();
    await move(FOLLOW_EVERY_MS);
    expect(other.subscriptions.find(made.seq)).toMatchObject({ id: made.id, version: made.version });
    expect(await publish("e1")).toMatchObject({ kind: "stored", deliveries: 1 });
    expect(arrived).toEqual(["e1"]);

    const paused = await one.subscriptions.setStatus(made, "inactive");
    await move(FOLLOW_EVERY_MS);
    expect(await publish("e2")).toMatchObject({ deliveries: 1 });
    expect(arrived).toEqual(["e1"]);
    await one.subscriptions.setStatus(paused, "active");
    expect(arrived).toEqual(["e1"]);
    await move(FOLLOW_EVERY_MS);
    expect(arrived).toContain("e2");

    await one.lanes.remove(made);
    await move(FOLLOW_EVERY_MS);
    expect(await publish("e3")).toMatchObject({ deliveries: 0 });
  });

  it("would not hear of each other without it (control)", async () => {
    const { one, other, move, publish } = await openTwo(false);
    const made = await one.subscriptions.create(INPUT);
    await move(10 * FOLLOW_EVERY_MS);
    expect(other.subscriptions.find(made.seq)).toBeUndefined();
    expect(await publish("e1")).toMatchObject({ deliveries: 0 });
  });
});
