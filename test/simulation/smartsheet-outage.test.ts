import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import type { HealthCheck } from "../../src/deliver/shared-checks.ts";
import { createChance } from "../support/chance.ts";
import { count, report } from "../support/report.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { createSimulatedSender, type Destination, type Mood } from "../support/simulated-destination.ts";
import { openSimulatedGateway, type SimulatedGateway } from "../support/simulated-gateway.ts";
import { NOON, countOpen, newEvent } from "../support/store-fixtures.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { useFolder } from "../support/store-folder.ts";
import { createVirtualTime, moveClock } from "../support/virtual-clock.ts";
import { settleCalls } from "../support/watched-store.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SHEETS = ["4509506114742148", "6141831453927300", "777", "778", "779", "780"];
const ROWS_PER_SHEET = 150;

/** As the example for Smartsheet declares it. */
const [CORE] = loadConfig({
  file: join(PROJECT_ROOT, "examples/smartsheet-adapter/posthorn.yaml"),
  env: { CORE_FUNCTIONS_BASE_URL: "https://core.example.com" },
  cwd: "/",
}).config.subscriptions;

describe("a core app that is down for hours while sheets change", () => {
  const folder = useFolder(MEMORY_FOLDER);

  async function run(hours: number, mood: Mood, change: { health_url?: null } = {}) {
    const time = createVirtualTime(NOON);
    const chance = createChance(hours);
    const calls = { made: 0, open: 0 };
    const faults: unknown[] = [];
    const destination: Destination = { moods: [{ from: 0, mood: "well" }], latencyMs: 40, chance };
    const isDown = () => destination.moods.at(-1)?.mood !== "well";
    const settle = () => settleCalls(() => calls);
    const move = (byMs: number) => moveClock(time, byMs, settle);
    const accepted = new Map<string, string[]>(SHEETS.map((sheet) => [sheet, []]));
    const taken = new Map<string, Set<string>>(SHEETS.map((sheet) => [sheet, new Set()]));
    const check: HealthCheck = (_, __, done) =>
      void time.after(20, () => done(isDown() ? "health check: 503" : undefined));
    const open = () =>
      openSimulatedGateway({
        folder: join(folder.path, `${hours} ${mood} ${JSON.stringify(change)}`),
        time,
        chance,
        calls,
        check,
        createSender: ({ isAlive }) =>
          createSimulatedSender({
            time,
            isAlive,
            findDestination: () => destination,
            onSend({ attempt: { event }, accepted: isTaken }) {
              if (isTaken) taken.get(event.orderingKey ?? "")?.add(event.id);
            },
          }),
        maxInFlight: 100,
        maxBodyBytes: 64_000_000,
        maxRows: 5000,
        commitMs: 0,
        onFault: (error) => faults.push(error),
      });
    let gateway: SimulatedGateway = await open();
    if (CORE === undefined) throw new Error("the example has no subscription");
    await gateway.subscriptions.create({ ...CORE, ...change });
    const publish = (sheet: string, row: number) => {
      const at = gateway.clock.now();
      const type = "smartsheet.row.updated";
      const event = newEvent({ id: `${sheet}-${row}`, type, orderingKey: sheet, receivedAt: at, dueAt: at });
      gateway.accept(event, ({ kind }) => kind === "stored" && accepted.get(sheet)?.push(event.id));
    };

    await move(5 * MINUTE_MS);
    destination.moods.push({ from: time.elapsedMs, mood });
    for (let row = 0; row < ROWS_PER_SHEET; row++) {
      for (const sheet of SHEETS) publish(sheet, row);
      await move((hours * HOUR_MS) / ROWS_PER_SHEET);
      // In the middle of the outage, too.
      if (row !== Math.floor(ROWS_PER_SHEET / 2)) continue;
      await gateway.kill();
      gateway = await open();
    }
    destination.moods.push({ from: time.elapsedMs, mood: "well" });
    const wellAt = time.elapsedMs;
    while ((await countOpen(gateway.store)) > 0 && time.elapsedMs < wellAt + HOUR_MS) await move(1000);
    const drainedAfterMs = time.elapsedMs - wellAt;
    const { deliveries } = await gateway.store.reads.loadCounters();
    const dead = deliveries.reduce((sum, row) => sum + row.dead, 0);
    const { status } = gateway.subscriptions.list(undefined)[0] ?? {};
    const stopping = gateway.stop(1000);
    await move(2000);
    await stopping;
    expect(faults).toEqual([]);
    const all = [...accepted.values()].flat().length;
    expect(all).toBeGreaterThan(0.98 * SHEETS.length * ROWS_PER_SHEET);
    const inOrder = SHEETS.filter((sheet) => {
      const [sent, got] = [accepted.get(sheet) ?? [], [...(taken.get(sheet) ?? [])]];
      return JSON.stringify(got) === JSON.stringify(sent);
    });
    return { all, dead, status, sheetsInOrder: inOrder.length, drainedAfterMs };
  }

  // shows: A2
  it.each([
    [6, "down"],
    [30, "busy"],
    [4, "hanging"],
  ] as const)("has all of them in the order of each sheet after %i hours of being %s", async (hours, mood) => {
    const { all, dead, status, sheetsInOrder, drainedAfterMs } = await run(hours, mood);
    expect({ dead, status, sheetsInOrder }).toEqual({ dead: 0, status: "active", sheetsInOrder: SHEETS.length });
    report(
      `Smartsheet's core app is back after ${hours} h (${mood}): ${count(all)} changes of ${SHEETS.length} sheets in ` +
        `order, 0 dead, drained in ${Math.round(drainedAfterMs / 1000)} s of virtual time`,
    );
  });

  it("gets dead letters instead when its health is not asked, which the figures show", async () => {
    const { dead, sheetsInOrder } = await run(6, "down", { health_url: null });
    expect(dead).toBeGreaterThan(0);
    expect(sheetsInOrder).toBeLessThan(SHEETS.length);
  });
});
