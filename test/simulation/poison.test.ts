import { afterAll, describe, expect, it } from "vitest";
import type { Attempt } from "../../src/destinations/sender.ts";
import { failedHere } from "../../src/model/outcome.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { timedOut } from "../support/http-outcomes.ts";
import { report } from "../support/report.ts";
import { hanging, ok, openFairWorld, refused, type Answer, type PlannedSubscription } from "./fair-world.ts";

const POISON = ["poison.400", "poison.500", "poison.hangs", "poison.unbuildable"];
const EVERY = 100;
const EVENTS = 6_000;
/** Not a divisor of the above: poison comes to every key. */
const KEYS = 197;
const BURST_MS = 250;
const BURST = 25;
const LOAD_MS = (EVENTS / BURST) * BURST_MS;
/** With nothing but poison left in the end, the subscription would be suspended. */
const LAST_POISON = EVENTS * 0.9;
const MIN_SHARE = 0.95;
const HOUR_MS = 3_600_000;

interface Lane {
  hasPoison: boolean;
  settings: Partial<PlannedSubscription>;
  /** For a negative control: who hangs is never given up. */
  hasDeadline?: boolean;
}

function answerOf({ event, subscription }: Attempt, hasDeadline: boolean): Answer {
  switch (event.type) {
    case "poison.400":
      return { afterMs: 20, outcome: refused(400) };
    case "poison.500":
      return { afterMs: 20, outcome: refused(500) };
    case "poison.hangs":
      return hasDeadline
        ? hanging({ subscription } as Attempt)
        : { afterMs: 1000 * HOUR_MS, outcome: timedOut("never") };
    case "poison.unbuildable":
      return { afterMs: 0, outcome: failedHere("a header could not be made of it") };
    default:
      return { afterMs: 20, outcome: ok() };
  }
}

/** R16 in virtual time: one event in a hundred that its destination, or the sender, cannot bear. */
describe("1 % poison", () => {
  afterAll(collectGarbage);

  async function deliverAll({ hasPoison, settings, hasDeadline = true }: Lane) {
    const world = await openFairWorld({
      maxInFlight: 128,
      subscriptions: [
        {
          name: "lane",
          tenant: "default",
          retry_policy: { delays_s: [1, 2] },
          timeout: 2,
          answer: (attempt) => answerOf(attempt, hasDeadline),
          ...settings,
        },
      ],
    });
    const startedAt = world.time.elapsedMs;
    let poison = 0;
    for (let number = 0; number < EVENTS; number++) {
      const isPoison = hasPoison && number % EVERY === EVERY / 2 && number < LAST_POISON;
      const type = isPoison ? (POISON[poison++ % POISON.length] as string) : "order";
      const publish = () => world.publish("default", type, { orderingKey: `key-${number % KEYS}` });
      world.time.after(Math.floor(number / BURST) * BURST_MS, publish);
    }
    await world.run(HOUR_MS, () => world.endings.length === EVENTS);
    await world.close();
    const good = world.endings.filter(({ type }) => type === "order");
    const inTime = good.filter(({ at }) => at <= startedAt + LOAD_MS);
    const dead = world.endings.filter(({ verdict }) => verdict === "dead");
    return { poison, good: good.length, perS: (inTime.length * 1000) / LOAD_MS, dead };
  }

  async function compare(what: string, lane: Omit<Lane, "hasPoison">) {
    const clean = await deliverAll({ ...lane, hasPoison: false });
    const poisoned = await deliverAll({ ...lane, hasPoison: true });
    const share = poisoned.perS / clean.perS;
    const reasons = [...new Set(poisoned.dead.map(({ type, deadReason }) => `${type} ${deadReason}`))].toSorted();
    report(
      `R16 ${what}: 1 % poison, the rest ${clean.perS.toFixed(0)} → ${poisoned.perS.toFixed(0)}/s = ` +
        `${(share * 100).toFixed(1)} % (target ${MIN_SHARE * 100}), ${poisoned.good} of ${EVENTS - poisoned.poison} delivered, ` +
        `${poisoned.dead.length} of ${poisoned.poison} dead: ${reasons.join(", ")}`,
    );
    return { share, reasons, ...poisoned };
  }

  it.each<[string, Partial<PlannedSubscription>]>([
    ["in any order", {}],
    ["in an ordered lane that skips dead ones", { ordered: true, on_dead_head: "skip" }],
  ])("ends as dead letters with their reasons and stops none of the rest, %s", async (what, settings) => {
    const { share, poison, good, dead, reasons } = await compare(what, { settings });
    expect(share).toBeGreaterThanOrEqual(MIN_SHARE);
    expect(good).toBe(EVENTS - poison);
    expect(dead).toHaveLength(poison);
    expect(reasons).toEqual([
      "poison.400 refused",
      "poison.500 retries_exhausted",
      "poison.hangs retries_exhausted",
      "poison.unbuildable retries_exhausted",
    ]);
  });

  it("would stop the rest, if an ordered lane waited for its dead ones (control)", async () => {
    const settings: Partial<PlannedSubscription> = { ordered: true, on_dead_head: "block" };
    const { good, poison } = await compare("control, dead ones block their key", { settings });
    expect(good).toBeLessThan((EVENTS - poison) * MIN_SHARE);
  });

  it("would stop the rest, if an attempt had no deadline (control)", async () => {
    const { share, good, poison } = await compare("control, no deadline", {
      settings: { concurrency: 8 },
      hasDeadline: false,
    });
    expect(Math.min(share, good / (EVENTS - poison))).toBeLessThan(MIN_SHARE);
  });
});
