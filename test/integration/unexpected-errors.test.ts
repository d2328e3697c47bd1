import { describe, expect, it } from "vitest";
import type { PartMakers } from "../../src/gateway/start.ts";
import type { SourceKind } from "../../src/sources/source-kind.ts";
import { until } from "../support/api-client.ts";
import { createBatchingKind } from "../support/batching-kind.ts";
import { createMemoryBroker } from "../support/memory-queue.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** As if a filter had a bug that one body meets. */
const BROKEN_FILTER: PartMakers["createIngest"] = (create) => (options) =>
  create({
    ...options,
    fanOut: {
      ...options.fanOut,
      accept(event, done) {
        if (Buffer.from(event.body).includes("boom")) throw new TypeError("a bug in a filter");
        options.fanOut.accept(event, done);
      },
    },
  });

/** As if the quotas of two tenants had bugs. */
const BROKEN_QUOTA: PartMakers["createIngest"] = (create) => (options) =>
  create({
    ...options,
    quotas: {
      find(tenantId) {
        const fail = () => {
          throw new TypeError("a bug in a quota");
        };
        if (tenantId === "find") fail();
        return tenantId === "begin" ? { begin: fail, end: () => undefined } : undefined;
      },
    },
  });

const isLogged = (gateway: TestGateway, text: string) =>
  gateway.log.filter(({ level, error }) => level === "error" && JSON.stringify(error).includes(text));

describe("an error that nobody expects", () => {
  it("fails the webhook that it happens to, with an id that the log has too, and no other", async () => {
    const gateway = await startTestGateway({
      makers: { createIngest: BROKEN_FILTER },
      env: { MAX_UNANSWERED_BYTES: 2_000_000 },
    });
    const answers = await Promise.all(
      ["boom", "fine", "boom", "fine"].map((name) => gateway.webhook("shop", JSON.stringify({ name }))),
    );
    expect(answers.map(({ status }) => status)).toEqual([500, 202, 500, 202]);
    const { json } = answers[0] as (typeof answers)[0];
    expect(json).toMatchObject({ code: "internal_error", request_id: expect.stringMatching(/^req_/) });
    // What waits for an answer is no longer counted, or this would be too much.
    const large = JSON.stringify({ boom: "x".repeat(500_000) });
    for (let n = 0; n < 5; n++) expect((await gateway.webhook("shop", large)).status).toBe(500);
    const [line] = isLogged(gateway, "a bug in a filter");
    expect(line).toMatchObject({ msg: "request failed", status: 500, path: "/webhook/shop" });
    expect(answers.map((answer) => answer.json["request_id"])).toContain(line?.["request_id"]);
    expect(JSON.stringify(line)).toContain("unexpected-errors.test.ts");
    await gateway.close();
  });

  it("fails the webhook also in a later turn, and after its event was stored", async () => {
    let isBroken = true;
    const fragile: SourceKind = {
      name: "fragile",
      needsSecret: false,
      verify: () => Promise.resolve(),
      answer() {
        if (isBroken) throw new TypeError("a bug in an answer");
        return { status: 200, body: "fine" };
      },
    };
    const yaml = "sources: [{ name: odd, kind: fragile, id_from: body:/id }]";
    const makers = { createIngest: BROKEN_FILTER };
    const gateway = await startTestGateway({ sourceKinds: [fragile], yaml, makers });
    const answer = await gateway.webhook("odd", '{"id":1}');
    expect([answer.status, answer.json["code"]]).toEqual([500, "internal_error"]);
    isBroken = false;
    expect((await gateway.webhook("odd", '{"boom":1}')).status).toBe(500);
    expect((await gateway.webhook("odd", '{"id":1}')).text).toBe("fine");
    const { data } = (await gateway.get("/api/v1/events")).json as { data: unknown[] };
    expect(data).toHaveLength(1);
    expect(isLogged(gateway, "a bug in an answer")).toHaveLength(1);
    await gateway.close();
  });

  it("fails the webhook also where it is one of so many events that they take several turns", async () => {
    const several: SourceKind = {
      name: "several",
      needsSecret: false,
      events: () => ({
        events: Array.from({ length: 500 }, (_, n) => ({
          type: "several.one",
          identity: undefined,
          get body() {
            if (n === 3) throw new TypeError("a bug in an event");
            return undefined;
          },
        })),
      }),
    };
    const gateway = await startTestGateway({
      sourceKinds: [several],
      yaml: "sources: [{ name: many, kind: several }]",
    });
    const answer = await gateway.webhook("many", "{}");
    expect([answer.status, answer.json["code"]]).toEqual([500, "internal_error"]);
    expect(isLogged(gateway, "a bug in an event")).toHaveLength(1);
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    await gateway.close();
  });

  it("fails the published event that it happens to, and no other of its batch", async () => {
    const gateway = await startTestGateway({
      makers: { createIngest: BROKEN_FILTER },
      yaml: "event_types: [{ name: slow.one, versions: [{ version: '1.0', schema: { type: object } }] }]",
    });
    const one = (name: string) => ({ event_type: "slow.one", payload: { name } });
    expect((await gateway.publish(one("boom"))).json["code"]).toBe("internal_error");
    const batch = await gateway.post("/api/v1/events", [one("a"), one("boom"), one("b")]);
    expect([batch.status, batch.json["events"]]).toEqual([
      202,
      [
        { event_id: expect.any(String), deliveries: 0, duplicate: false },
        expect.objectContaining({ status: 500, code: "internal_error" }),
        { event_id: expect.any(String), deliveries: 0, duplicate: false },
      ],
    ]);
    expect(isLogged(gateway, "a bug in a filter").length).toBeGreaterThan(0);
    await gateway.close();
  });

  it("fails the published event also where quotas are checked, in a later turn than the schema", async () => {
    const gateway = await startTestGateway({
      makers: { createIngest: BROKEN_QUOTA },
      yaml: "event_types: [{ name: slow.one, versions: [{ version: '1.0', schema: { type: object } }] }]",
    });
    // So much is checked in a thread.
    const one = (tenant_id: string) => ({ event_type: "slow.one", tenant_id, payload: { text: "x".repeat(200_000) } });
    for (const [tenantId, status] of [
      ["find", 500],
      ["begin", 500],
      ["fine", 202],
    ] as const) {
      expect([tenantId, (await gateway.publish(one(tenantId))).status]).toEqual([tenantId, status]);
    }
    const batch = await gateway.post("/api/v1/events", [one("fine"), one("find"), one("begin"), one("fine")]);
    const { events } = batch.json as { events: { status?: number }[] };
    expect(events.map(({ status }) => status)).toEqual([undefined, 500, 500, undefined]);
    expect(isLogged(gateway, "a bug in a quota").length).toBeGreaterThan(0);
    await gateway.close();
  });

  it("returns the message that it happens to to its queue, and takes the others", async () => {
    let isBroken = true;
    const broker = createMemoryBroker({ limits: { holdMs: 30_000, canRenew: true }, now: Date.now });
    const createIngest: PartMakers["createIngest"] = (create) => (options) => {
      const broken = BROKEN_FILTER?.(create)(options);
      const whole = create(options);
      return { ...whole, accept: (...args) => (isBroken ? broken : whole)?.accept(...args) };
    };
    const gateway = await startTestGateway({ sourceKinds: [broker.kind], makers: { createIngest } });
    await gateway.post("/api/v1/sources", { name: "orders", kind: "memory", options: { queue: "orders" } });
    const orders = broker.queue("orders");
    for (const id of ["boom", "fine"]) {
      orders.send(JSON.stringify({ id }), { id, headers: { "content-type": "application/json" } });
    }
    await until(() => orders.countLeft() === 1);
    const isTold = () => gateway.log.some(({ msg }) => msg.includes("is returned to its queue"));
    await until(isTold);
    isBroken = false;
    await gateway.moveClockUntil(() => orders.countLeft() === 0);
    expect(orders.parked).toEqual([]);
    const { data } = (await gateway.get("/api/v1/events")).json as { data: unknown[] };
    expect(data).toHaveLength(2);
    await gateway.close();
  });

  it("fails the attempt that it happens to, and delivers the rest", async () => {
    const { kind, queue } = createBatchingKind();
    let isBroken = true;
    const fragile: typeof kind = {
      ...kind,
      open(services) {
        const sender = kind.open(services);
        return {
          ...sender,
          send(attempts, done) {
            if (isBroken) throw new TypeError("a bug in a sender");
            sender.send(attempts, done);
          },
        };
      },
    };
    const sink = await openSinkServer();
    const gateway = await startTestGateway({ destinationKinds: [fragile] });
    const settings = { name: "odd", kind: "batching", destination: { queue: "orders" }, events: ["#"] };
    const odd = await gateway.post("/api/v1/subscriptions", settings);
    await gateway.subscribe({ name: "plain", url: sink.url });
    const id = String((await gateway.webhook("shop", "{}")).json["event_id"]);
    await sink.received(1);
    isBroken = false;
    await gateway.moveClockUntil(() => queue.batches.length === 1);
    await gateway.settled();
    const { deliveries } = await gateway.event(id);
    const failed = deliveries.find((one) => one.subscription_id === odd.json["id"]);
    const { attempts } = await gateway.delivery(failed?.id ?? "");
    expect(attempts).toMatchObject([
      { result: "error", error: expect.stringContaining("a bug in a sender") },
      { result: "success" },
    ]);
    await Promise.all([gateway.close(), sink.close()]);
  });
});
