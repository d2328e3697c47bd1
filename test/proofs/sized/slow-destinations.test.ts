import { afterAll, describe, expect, it } from "vitest";
import type { Slots } from "../../../src/deliver/slots.ts";
import { createArrivalOrderSlots } from "../../support/arrival-order-slots.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { unreachable } from "../../support/http-outcomes.ts";
import { sized } from "../../support/proof-size.ts";
import { report } from "../../support/report.ts";
import {
  hanging,
  ok,
  openFairWorld,
  percentile,
  prompt,
  refused,
  type FairWorld,
  type PlannedSubscription,
} from "../../simulation/fair-world.ts";

const ENDPOINTS = 60;
const MAX_IN_FLIGHT = 128;
const PER_S = 2;
const LOAD_MS = 40_000;
const MAX_RATIO = 1.2;
const HOUR_MS = 3_600_000;

const FEW_CROWDS: readonly (readonly [string, Crowd])[] = [
  ["all of one tenant", { tenants: 1, badFromMs: 0 }],
  ["spread over six tenants", { tenants: 6, badFromMs: 0 }],
];
const ALL_CROWDS: typeof FEW_CROWDS = [
  ...FEW_CROWDS,
  ["in trouble all at once", { tenants: 1, badFromMs: 10_000 }],
  ["beside more dead ones than slots", { tenants: 2, badFromMs: 0, dead: 400 }],
];
const CROWDS = sized({ short: FEW_CROWDS, middle: ALL_CROWDS, long: ALL_CROWDS });

const TROUBLES: readonly PlannedSubscription["answer"][] = [
  (_, chance) => ({ afterMs: chance.between(5_000, 20_000), outcome: ok() }),
  hanging,
  (_, chance) => ({ afterMs: chance.between(10, 30), outcome: refused(500) }),
  () => ({ afterMs: 1, outcome: unreachable() }),
];

interface Crowd {
  tenants: number;
  /** When three of ten get into trouble; never, when not given. */
  badFromMs?: number;
  /** More that do not answer, and have not for a while: they are only probed. */
  dead?: number;
  slots?: Slots;
}

/** R11 in virtual time: slots, lanes, breakers and retries are real, the destinations are not. */
describe("where 30 % of the destinations are dead or slow, the others", () => {
  afterAll(collectGarbage);

  async function measureOthers({ tenants, badFromMs = Number.POSITIVE_INFINITY, dead = 0, slots }: Crowd) {
    const subscriptions = Array.from({ length: ENDPOINTS }, (_, number): PlannedSubscription => {
      const isBad = number % 10 < 3;
      const trouble = TROUBLES[Math.floor(number / 10) % TROUBLES.length] as PlannedSubscription["answer"];
      const name = `${isBad ? "bad" : "good"}-${number}`;
      const answer: PlannedSubscription["answer"] = (attempt, chance) =>
        isBad && world.time.elapsedMs >= badFromMs ? trouble(attempt, chance) : prompt(attempt, chance);
      return { name, tenant: `tenant-${Math.floor(number / 10) % tenants}`, events: [name], answer };
    });
    for (let number = 0; number < dead; number++) {
      const name = `dead-${number}`;
      subscriptions.push({ name, tenant: `tenant-${number % tenants}`, events: ["dead"], answer: hanging });
    }
    const world = await openFairWorld({ maxInFlight: MAX_IN_FLIGHT, subscriptions, slots });
    if (dead > 0) await lose(world, tenants);
    for (const { name, tenant, events = [] } of subscriptions) {
      if (events[0] === name) world.publishSteadily(tenant, name, { perS: PER_S, forMs: LOAD_MS });
    }
    await world.run(2 * LOAD_MS);
    await world.close();
    const dwells = world.endings
      .filter(({ subscription }) => subscription.startsWith("good"))
      .map((one) => one.dwellMs);
    expect(dwells.length).toBeGreaterThan(ENDPOINTS * 0.7 * PER_S * (LOAD_MS / 1000) * 0.95);
    return { p99: percentile(dwells, 0.99), max: percentile(dwells, 1), slots: world.maxSeenInFlight };
  }

  /** Until the gateway knows that the dead ones are down. */
  async function lose(world: FairWorld, tenants: number): Promise<void> {
    for (let number = 0; number < 4; number++) {
      for (let tenant = 0; tenant < tenants; tenant++) world.publish(`tenant-${tenant}`, "dead");
    }
    const lanes = [...world.gateway.scheduler.lanes()];
    const isLost = () => lanes.every(({ target }) => target.mode.isOpen);
    await world.run(HOUR_MS, isLost);
    expect(isLost()).toBe(true);
  }

  const aloneByTenants = new Map<number, ReturnType<typeof measureOthers>>();

  /** The same each time: virtual time has no good and bad days. */
  function measureAlone(tenants: number): ReturnType<typeof measureOthers> {
    const known = aloneByTenants.get(tenants) ?? measureOthers({ tenants });
    aloneByTenants.set(tenants, known);
    return known;
  }

  async function compare(what: string, crowd: Crowd): Promise<number> {
    const alone = await measureAlone(crowd.tenants);
    const beside = await measureOthers(crowd);
    const ratio = beside.p99 / alone.p99;
    report(
      `R11 ${what}: the others' p99 ${alone.p99.toFixed(1)} → ${beside.p99.toFixed(1)} ms = ${ratio.toFixed(2)} × ` +
        `(target ${MAX_RATIO}), longest ${beside.max.toFixed(0)} ms, at most ${beside.slots} of ${MAX_IN_FLIGHT} slots taken`,
    );
    return ratio;
  }

  it.each(CROWDS)("are delivered to as ever: %s", async (what, crowd) => {
    expect(await compare(what, crowd)).toBeLessThanOrEqual(MAX_RATIO);
  });

  it("would wait for them, if slots were given out in order of arrival (control)", async () => {
    const slots = createArrivalOrderSlots(MAX_IN_FLIGHT);
    const ratio = await compare("control, slots in order of arrival", { tenants: 6, badFromMs: 0, slots });
    expect(ratio).toBeGreaterThan(MAX_RATIO);
  });
});
