import { afterEach, describe, expect, it } from "vitest";
import { writeMessage } from "../../src/queues/message.ts";
import { createHeaderSeal } from "../../src/queues/sealed-headers.ts";
import { until } from "../support/api-client.ts";
import { createMemoryBroker } from "../support/memory-queue.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

const ENV = { AMQP_URL: "amqp://127.0.0.1:1/" };
const KEY = "0123456789abcdef0123456789abcdef";
const QUEUE = { name: "far", kind: "amqp", events: ["*"], destination: { queue: "q", format: "message" } };

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

async function open(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({ env: ENV, ...options });
  opened.push(gateway);
  return gateway;
}

const warned = ({ log }: TestGateway) => log.filter(({ msg }) => msg === "a subscription was saved with a warning");

describe("a subscription whose messages carry no credentials", () => {
  // shows: Q47
  it("says so in its answer and in the log, and what to do", async () => {
    const gateway = await open();
    const { status, json } = await gateway.post("/api/v1/subscriptions", QUEUE);
    expect([status, json["warnings"]]).toEqual([201, [expect.stringMatching(/no credentials.*message_key/s)]]);
    expect(warned(gateway)).toMatchObject([{ subscription: "far", warnings: json["warnings"] }]);
    expect((await gateway.get(`/api/v1/subscriptions/${String(json["id"])}`)).json["warnings"]).toBeUndefined();
  });

  it("says nothing where they go along, where it chose the headers itself, or where no request goes along", async () => {
    const gateway = await open();
    const warningsOf = async (name: string, destination: object) => {
      const settings = { ...QUEUE, name, destination: { ...QUEUE.destination, ...destination } };
      const { status, json } = await gateway.post("/api/v1/subscriptions", settings);
      return [status, json["warnings"]];
    };
    expect(await warningsOf("sealed", { message_key: KEY })).toEqual([201, undefined]);
    expect(await warningsOf("chosen", { forward_headers: ["x-github-event"] })).toEqual([201, undefined]);
    expect(await warningsOf("raw", { format: "raw" })).toEqual([201, undefined]);
    expect(await warningsOf("all", { forward_headers: ["*", "x-one"] })).toEqual([201, [expect.any(String)]]);
    const own = await open({ env: { ...ENV, MESSAGE_KEY: KEY } });
    expect((await own.post("/api/v1/subscriptions", QUEUE)).json["warnings"]).toBeUndefined();
  });

  it("says so when the file declares it", async () => {
    const gateway = await open({ yaml: JSON.stringify({ subscriptions: [QUEUE] }) });
    expect(warned(gateway)).toMatchObject([
      { subscription: "far", warnings: [expect.stringContaining("message_key")] },
    ]);
  });
});

describe("a source", () => {
  const toMessage = (n: number, sealedHeaders = "AAAA") =>
    writeMessage({
      eventId: `evt_${n}`,
      eventType: "webhook.orders",
      eventVersion: "1.0",
      source: "orders",
      tenantId: "default",
      priority: "normal",
      generation: 1,
      origin: "elsewhere",
      hops: 1,
      occurredAt: 0,
      receivedAt: 0,
      sealedHeaders,
      content: { body: Buffer.from("{}") },
    });
  const told = ({ log }: TestGateway, text: string) => log.filter(({ msg }) => msg.includes(text));

  // shows: Q47
  it("without a key tells once that it leaves credentials out, and takes the rest", async () => {
    const broker = createMemoryBroker({ limits: { holdMs: 30_000, canRenew: true }, now: Date.now });
    const gateway = await open({ sourceKinds: [broker.kind] });
    const options = { queue: "vps", body: "message" };
    await gateway.post("/api/v1/sources", { name: "vps", kind: "memory", options });
    for (const n of [1, 2]) broker.queue("vps").send(toMessage(n), { id: String(n) });
    await until(() => broker.queue("vps").countLeft() === 0);
    expect(told(gateway, "no message_key")).toMatchObject([{ level: "warn", source: "vps" }]);
    expect((await gateway.get("/api/v1/events")).json["data"]).toHaveLength(2);
  });

  it("without a key opens credentials with the gateway's, and its own comes first", async () => {
    const broker = createMemoryBroker({ limits: { holdMs: 30_000, canRenew: true }, now: Date.now });
    const gateway = await open({ sourceKinds: [broker.kind], env: { ...ENV, MESSAGE_KEY: KEY } });
    const another = `another ${KEY}`;
    for (const [name, key] of [
      ["vps", undefined],
      ["own", another],
    ] as const) {
      const options = { queue: name, body: "message", ...(key !== undefined && { message_key: key }) };
      await gateway.post("/api/v1/sources", { name, kind: "memory", options });
      const sealed = [KEY, another].map((one) => createHeaderSeal(one).seal({ authorization: "Bearer x" }, "evt_1"));
      for (const [index, headers] of sealed.entries()) {
        broker.queue(name).send(toMessage(1, headers), { id: `m-${index}` });
      }
      await until(() => broker.queue(name).countLeft() === 0);
      expect(broker.queue(name).parked).toMatchObject([{ reason: { code: "sealed_otherwise" } }]);
      const [parked] = broker.queue(name).parked;
      expect(parked?.body.includes(sealed[name === "vps" ? 1 : 0] ?? "?")).toBe(true);
    }
    expect(told(gateway, "no message_key")).toEqual([]);
    expect((await gateway.get("/api/v1/events")).json["data"]).toHaveLength(2);
  });

  it("tells which of its options do nothing with its kind of body", async () => {
    const broker = createMemoryBroker({ limits: { holdMs: 30_000, canRenew: true }, now: Date.now });
    const gateway = await open({ sourceKinds: [broker.kind] });
    const declare = (name: string, options: object) =>
      gateway.post("/api/v1/sources", { name, kind: "memory", options: { queue: name, ...options } });
    await declare("raw", { trust_tenant: true, message_key: KEY });
    await declare("whole", { body: "message", message_key: KEY, trust_tenant: false });
    await declare("bus", { body: "event", trust_tenant: true });
    expect(told(gateway, "does nothing").map(({ source, msg }) => [source, msg.split(" ")[0]])).toEqual([
      ["raw", "trust_tenant"],
      ["raw", "message_key"],
    ]);
  });

  // shows: Q10, Q73
  it("that waits for deliveries tells once that a message without an id cannot", async () => {
    const broker = createMemoryBroker({ limits: { holdMs: 30_000, canRenew: true }, now: Date.now });
    const gateway = await open({ sourceKinds: [broker.kind] });
    const options = { queue: "raw", acknowledge: "delivered" };
    await gateway.post("/api/v1/sources", { name: "raw", kind: "memory", options });
    for (const body of ["{}", '{"n":2}']) {
      broker.queue("raw").send(body, { headers: { "content-type": "application/json" } });
    }
    await until(() => broker.queue("raw").countLeft() === 0);
    expect(told(gateway, "without an id")).toMatchObject([{ level: "warn", source: "raw" }]);
  });
});
