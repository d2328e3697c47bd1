import { afterAll, describe, expect, it } from "vitest";
import { createArrivalOrderSlots } from "../../support/arrival-order-slots.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { sized } from "../../support/proof-size.ts";
import { report } from "../../support/report.ts";
import {
  jainIndex,
  ok,
  openFairWorld,
  percentile,
  prompt,
  type FairWorld,
  type PlannedSubscription,
} from "../../simulation/fair-world.ts";

const TENANTS = 20;
const PER_S = 8;
const FLOOD = 100;
const LOAD_MS = sized({ short: 4_000, middle: 8_000, long: 8_000 });
/** Few, so that they and not the machine are what all compete for; more where each is held for long. */
const SLOTS = 16;
const SLOTS_FOR_SLOW = 64;
const MAX_RATIO = 2;
const MIN_JAIN = 0.95;

const slow: PlannedSubscription["answer"] = (_, chance) => ({ afterMs: chance.between(1_000, 10_000), outcome: ok() });

interface Flood {
  answer: PlannedSubscription["answer"];
  slots: number;
  isFair?: boolean;
}

/** R12 in virtual time. */
describe("a tenant that floods", () => {
  afterAll(collectGarbage);

  async function measureOthers(maxInFlight: number, flood?: Flood) {
    const names = Array.from({ length: TENANTS }, (_, number) => `tenant-${number}`);
    const subscriptions: PlannedSubscription[] = names.map((name) => ({ name, tenant: name, answer: prompt }));
    if (flood !== undefined) {
      const { answer } = flood;
      for (let number = 0; number < FLOOD; number++) {
        const name = `flood-${number}`;
        subscriptions.push({ name, tenant: "flood", events: [name], answer });
      }
    }
    const world = await openFairWorld({
      maxInFlight,
      subscriptions,
      slots: flood?.isFair === false ? createArrivalOrderSlots(maxInFlight) : undefined,
    });
    for (const name of names) world.publishSteadily(name, "order", { perS: PER_S, forMs: LOAD_MS });
    if (flood !== undefined) {
      for (let number = 0; number < FLOOD; number++) {
        world.publishSteadily("flood", `flood-${number}`, { perS: PER_S, forMs: LOAD_MS });
      }
    }
    await world.run(LOAD_MS + 5_000);
    await world.close();
    return tell(world, names);
  }

  function tell({ endings }: FairWorld, names: readonly string[]) {
    const own = endings.filter(({ tenant }) => tenant !== "flood");
    const dwells = own.map(({ dwellMs }) => dwellMs);
    const each = names.map((name) => own.filter(({ tenant }) => tenant === name).length);
    return { p99: percentile(dwells, 0.99), jain: jainIndex(each), flooded: endings.length - own.length };
  }

  const aloneBySlots = new Map<number, ReturnType<typeof measureOthers>>();

  /** The same each time: virtual time has no good and bad days. */
  function measureAlone(slots: number): ReturnType<typeof measureOthers> {
    const known = aloneBySlots.get(slots) ?? measureOthers(slots);
    aloneBySlots.set(slots, known);
    return known;
  }

  async function compare(what: string, flood: Flood) {
    const alone = await measureAlone(flood.slots);
    const beside = await measureOthers(flood.slots, flood);
    const ratio = beside.p99 / alone.p99;
    report(
      `R12 ${what}: one tenant floods ${FLOOD} × (${beside.flooded} delivered meanwhile), the others' p99 ` +
        `${alone.p99.toFixed(1)} → ${beside.p99.toFixed(1)} ms = ${ratio.toFixed(2)} × (target ${MAX_RATIO}), ` +
        `Jain index ${beside.jain.toFixed(3)} (target ${MIN_JAIN})`,
    );
    return { ratio, jain: beside.jain };
  }

  it.each<[string, Flood]>([
    ["quick destinations", { answer: prompt, slots: SLOTS }],
    ["slow destinations", { answer: slow, slots: SLOTS_FOR_SLOW }],
  ])("holds up nobody else: %s", async (what, flood) => {
    const { ratio, jain } = await compare(what, flood);
    expect(ratio).toBeLessThanOrEqual(MAX_RATIO);
    expect(jain).toBeGreaterThanOrEqual(MIN_JAIN);
  });

  it("would hold up all, if slots were given out in order of arrival (control)", async () => {
    const { ratio } = await compare("control, slots in order of arrival", {
      answer: prompt,
      slots: SLOTS,
      isFair: false,
    });
    expect(ratio).toBeGreaterThan(MAX_RATIO);
  });

  /** Tenants with one to ten subscriptions each, all with more to send than there is room for. */
  async function saturate(isFair: boolean): Promise<number> {
    const subscriptions = Array.from({ length: 10 }, (_, tenant) =>
      Array.from({ length: tenant + 1 }, (__, number): PlannedSubscription => {
        const name = `s-${tenant}-${number}`;
        return { name, tenant: `tenant-${tenant}`, events: [name], answer: prompt };
      }),
    ).flat();
    const slots = isFair ? undefined : createArrivalOrderSlots(SLOTS);
    const world = await openFairWorld({ maxInFlight: SLOTS, subscriptions, slots });
    for (const { name, tenant } of subscriptions) world.publishSteadily(tenant, name, { perS: 100, forMs: 3_000 });
    await world.run(3_000);
    await world.close();
    const each = Array.from({ length: 10 }, (_, n) => world.endings.filter(({ tenant }) => tenant === `tenant-${n}`));
    const jain = jainIndex(each.map(({ length }) => length));
    report(
      `R12 ${isFair ? "" : "control, slots in order of arrival: "}ten tenants with 1 to 10 subscriptions beyond ` +
        `saturation: Jain index ${jain.toFixed(3)} (target ${MIN_JAIN}) of ${world.endings.length} deliveries`,
    );
    return jain;
  }

  it("has no more than its share when all do, however many subscriptions it has", async () => {
    expect(await saturate(true)).toBeGreaterThanOrEqual(MIN_JAIN);
    expect(await saturate(false)).toBeLessThan(MIN_JAIN);
  });
});
