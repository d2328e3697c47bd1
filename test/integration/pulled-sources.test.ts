import { afterEach, describe, expect, it } from "vitest";
import type { PulledSourceKind } from "../../src/sources/source-kind.ts";
import { until } from "../support/api-client.ts";
import { createMemoryBroker } from "../support/memory-queue.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const LIMITS = { holdMs: 30_000, canRenew: true };
const JSON_TYPE = { "content-type": "application/json" };
const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

async function open(...more: readonly PulledSourceKind[]) {
  const broker = createMemoryBroker({ limits: LIMITS, now: Date.now });
  const gateway = await startTestGateway({ sourceKinds: [broker.kind, ...more] });
  opened.push(gateway);
  const declare = (name: string, options: object, kind = "memory") =>
    gateway.post("/api/v1/sources", { name, kind, options });
  return { broker, gateway, declare };
}

describe("a source that takes messages from a queue", () => {
  it("takes no webhooks", async () => {
    const { gateway, declare } = await open();
    expect((await declare("orders", { queue: "orders" })).status).toBe(201);
    expect(await gateway.webhook("orders", "{}")).toMatchObject({ status: 404, json: { code: "unknown_source" } });
  });

  it("is listed with its queue, how much waits there, and what is wrong with it", async () => {
    const { broker, gateway, declare } = await open();
    await declare("orders", { queue: "orders" });
    const load = async () => (await gateway.get("/api/v1/source-queues")).json["data"] as Record<string, unknown>[];
    await until(async () => (await load())[0]?.["depth"] === 0);
    expect(await load()).toMatchObject([{ source: "orders", trouble: null }]);
    await gateway.post("/api/v1/sources/orders/pause");
    await until(async () => (await load()).length === 0);
    expect(broker.queue("orders").countLeft()).toBe(0);
  });

  it("is rejected when its kind or an option is not known, and says which", async () => {
    const { declare } = await open();
    const refusals: [object, string | undefined, string][] = [
      [{ queue: "a" }, "no-broker", "kind"],
      [{}, undefined, "options.queue"],
      [{ queue: "a", acknowledge: "never" }, undefined, "options.acknowledge"],
      [{ queue: "a", max_unacknowledged: 0 }, undefined, "options.max_unacknowledged"],
      [{ queue: "a", prefetch: 1 }, undefined, "options.prefetch"],
    ];
    for (const [options, kind, field] of refusals) {
      expect(await declare("orders", options, kind)).toMatchObject({ status: 422, json: { field } });
    }
  });

  it("whose queue cannot be opened, or taken from, says so and tries again, and concerns no other", async () => {
    let isAway = true;
    const unsteady = createMemoryBroker({ limits: LIMITS, now: Date.now });
    const { openTaker } = unsteady.kind;
    const away: PulledSourceKind = {
      ...unsteady.kind,
      name: "away",
      openTaker: (given) => (isAway ? Promise.reject(new Error("no broker")) : openTaker(given)),
    };
    const deaf: PulledSourceKind = {
      ...unsteady.kind,
      name: "deaf",
      async openTaker(given) {
        const taker = await openTaker(given);
        return { ...taker, take: (...args) => (isAway ? Promise.reject(new Error("cut off")) : taker.take(...args)) };
      },
    };
    const { broker, gateway, declare } = await open(away, deaf);
    await declare("good", { queue: "good" });
    await declare("away", { queue: "away" }, "away");
    await declare("deaf", { queue: "deaf" }, "deaf");
    const told = () =>
      gateway.log.filter(({ level }) => level === "warn").map(({ source, msg }) => `${String(source)}: ${msg}`);
    await until(() => told().some((line) => /^away: .*cannot be opened/.test(line)));
    await until(() => told().some((line) => line.startsWith("deaf: no messages")));
    broker.queue("good").send("{}", { id: "a", headers: JSON_TYPE });
    await until(() => broker.queue("good").countLeft() === 0);
    for (const name of ["away", "deaf"]) unsteady.queue(name).send("{}", { id: "a", headers: JSON_TYPE });
    isAway = false;
    await until(() => {
      gateway.moveClock(1000);
      return unsteady.queue("away").countLeft() + unsteady.queue("deaf").countLeft() === 0;
    });
    expect(told().filter((line) => line.startsWith("away"))).toHaveLength(1);
  });

  it("waits for no forward: nobody else does", async () => {
    const { broker, gateway, declare } = await open();
    const sink = await openSinkServer({ answer: "hang" });
    await gateway.subscribe({ name: "forward", url: sink.url, mode: "forward" });
    await declare("orders", { queue: "orders" });
    const goOn = gateway.holdClock();
    broker.queue("orders").send("{}", { id: "a", headers: JSON_TYPE });
    await until(() => broker.queue("orders").countLeft() === 0);
    expect(await sink.received(1)).toHaveLength(1);
    goOn();
    await sink.close();
  });

  it("is another when it is changed: it takes from its new queue, and no more from the old one", async () => {
    const { broker, gateway, declare } = await open();
    await declare("orders", { queue: "old" });
    broker.queue("old").send("{}", { id: "a", headers: JSON_TYPE });
    await until(() => broker.queue("old").countLeft() === 0);
    const change = { body: JSON.stringify({ options: { queue: "new" } }), headers: JSON_TYPE };
    await gateway.request("PATCH", "/api/v1/sources/orders", change);
    broker.queue("new").send("{}", { id: "b", headers: JSON_TYPE });
    await until(() => broker.queue("new").countLeft() === 0);
    broker.queue("old").send("{}", { id: "c", headers: JSON_TYPE });
    broker.queue("new").send("{}", { id: "d", headers: JSON_TYPE });
    await until(() => broker.queue("new").countLeft() === 0);
    expect([broker.queue("old").countLeft(), broker.queue("old").countHeld()]).toEqual([1, 0]);
  });
});
