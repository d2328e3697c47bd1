import * as fc from "fast-check";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Tenant } from "../../../src/model/tenant.ts";
import { createQuotaGate } from "../../../src/accept/quotas.ts";
import type { Meter, MeteredEvent } from "../../../src/accept/ingest.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import {
  newDelivery,
  newEvent,
  newSettlement,
  insertSubscription,
  NOON,
  settle,
  stored,
} from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

function newTenant(quotas: Partial<Tenant["quotas"]>, status: Tenant["status"] = "active"): Tenant {
  const rest = {
    name: "a",
    contactEmail: undefined,
    isErasing: false,
    contacts: [],
    retention: {},
    managedBy: "api",
    createdAt: 0,
    updatedAt: 0,
  } as const;
  return { id: "a", quotas, status, ...rest };
}

const folder = useFolder();
let places = 0;

async function open() {
  const time = createVirtualTime(NOON);
  const onFatal = (error: unknown) => {
    throw error;
  };
  const file = join(folder.path, `${places++}`, "posthorn.db");
  const store = await openSqliteStore({
    file,
    createClock: () => createVirtualClock(time),
    dedupeHorizonMs: 1000,
    thread: false,
    onFatal,
  });
  const gate = createQuotaGate({ clock: store.clock, store, onFault: onFatal });
  folder.onEnd(() => {
    gate.stop();
    return store.close();
  });
  return { time, store, gate, set: (tenant: Tenant | undefined) => gate.update([{ id: "a", tenant }]) };
}

const arrival = (size = 2, origin: MeteredEvent["origin"] = "publish"): MeteredEvent => ({
  origin,
  body: { length: size },
});

function take(meter: Meter | undefined, event: MeteredEvent, deliveries = 0): string {
  const rejection = meter?.begin(event);
  if (rejection === undefined) meter?.end(event, { deliveries });
  return rejection?.code ?? "taken";
}

describe("the gate of quotas", () => {
  it("knows nothing of a tenant without limits", async () => {
    const { gate, set, time } = await open();
    await set(newTenant({ subscriptions: 1 }));
    expect(gate.find("a")).toBeUndefined();
    await set(newTenant({ eventsPerMinute: 1 }));
    expect(gate.find("a")).toBeDefined();
    await set(newTenant({}));
    expect(gate.find("a")).toBeUndefined();
    await set(newTenant({}, "inactive"));
    expect(take(gate.find("a"), arrival())).toBe("tenant_inactive");
    await set(undefined);
    expect(gate.find("a")).toBeUndefined();
    // Nothing of this needs to know what is stored.
    expect(time.nextAt()).toBeUndefined();
  });

  it("gives a minute's worth at once, then one each time it has grown again, and says when", async () => {
    const { gate, set, time } = await open();
    await set(newTenant({ eventsPerMinute: 30 }));
    const meter = gate.find("a");
    for (let n = 0; n < 30; n++) expect(take(meter, arrival())).toBe("taken");
    expect(meter?.begin(arrival())).toMatchObject({ code: "too_many_requests", retryAfterS: 2 });
    expect(meter?.begin(arrival(2, "webhook"))).toMatchObject({ code: "tenant_throttled", retryAfterS: 2 });
    time.moveTo(time.elapsedMs + 2000);
    expect([take(meter, arrival()), take(meter, arrival())]).toEqual(["taken", "too_many_requests"]);
    await set(newTenant({ eventsPerMinute: 30, subscriptions: 7 }));
    expect(take(gate.find("a"), arrival())).toBe("too_many_requests");
    await set(newTenant({ eventsPerMinute: 31 }));
    expect(take(gate.find("a"), arrival())).toBe("taken");
  });

  it("never gives more than the rate and one minute's worth, whenever they come", async () => {
    const arrivals = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), arrivals, async (perMinute, waits) => {
        const { gate, set, time } = await open();
        await set(newTenant({ eventsPerMinute: perMinute }));
        const startedAt = time.elapsedMs;
        let taken = 0;
        for (const wait of waits) {
          time.moveTo(time.elapsedMs + wait);
          if (take(gate.find("a"), arrival()) === "taken") taken++;
        }
        const minutes = (time.elapsedMs - startedAt) / 60_000;
        expect(taken).toBeLessThanOrEqual(perMinute + minutes * perMinute + 1);
      }),
      { numRuns: 20 },
    );
  });

  it("counts bytes from the moment they come, and gives back what was not stored", async () => {
    const { gate, set, store } = await open();
    await stored(store, newEvent({ tenantId: "a", body: Buffer.alloc(90) }));
    await set(newTenant({ storedBytes: 100 }));
    const meter = gate.find("a");
    const first = arrival(6);
    expect(meter?.begin(first)).toBeUndefined();
    expect(take(meter, arrival(5))).toBe("quota_exceeded");
    meter?.end(first, undefined);
    expect([take(meter, arrival(5)), take(meter, arrival(5)), take(meter, arrival(0))]).toEqual([
      "taken",
      "taken",
      "taken",
    ]);
    expect(take(meter, arrival(1, "webhook"))).toBe("tenant_over_quota");
  });

  it("sees within two seconds that deliveries have ended", async () => {
    const { gate, set, store, time } = await open();
    const lane = await insertSubscription(store, "s", { tenantId: "a" });
    const accepting = () => stored(store, newEvent({ tenantId: "a" }), [newDelivery(lane, { claim: true })]);
    const eventSeq = await accepting();
    await set(newTenant({ openDeliveries: 3 }));
    const meter = gate.find("a");
    expect(take(meter, arrival(), 1)).toBe("taken");
    expect(take(meter, arrival(), 1)).toBe("taken");
    expect(meter?.begin(arrival())).toMatchObject({ code: "quota_exceeded", details: { quota: "open_deliveries" } });
    await accepting();
    await accepting();
    await settle(store, newSettlement({ eventSeq, subscriptionSeq: lane }));
    expect(time.nextAt()).toBe(time.elapsedMs + 2000);
    time.step();
    await new Promise((resolve) => setImmediate(resolve));
    expect(take(meter, arrival())).toBe("taken");
  });

  it("stops looking when nobody has such a quota any more, and at the end", async () => {
    const { gate, set, time } = await open();
    await set(newTenant({ openDeliveries: 3 }));
    await set(newTenant({}));
    time.step();
    await new Promise((resolve) => setImmediate(resolve));
    expect(time.nextAt()).toBeUndefined();
    await set(newTenant({ storedBytes: 3 }));
    expect(time.nextAt()).toBeDefined();
    gate.stop();
    expect(time.nextAt()).toBeUndefined();
  });
});
