import { createHash, randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { createClaimCheck, type BodyOwner } from "../../src/queues/claim-check.ts";
import { writeMessage, type Claim } from "../../src/queues/message.ts";
import type { PulledSourceKind } from "../../src/sources/source-kind.ts";
import { until } from "../support/api-client.ts";
import { createMemoryBroker, type MemoryBroker } from "../support/memory-queue.ts";
import { readStoreId } from "../support/read-store-id.ts";
import { useAzurite } from "../support/services/shared.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const ANOTHER_STORE = "str_0123456789abcdef0123456789abcdef";
const OWNER: BodyOwner = {
  origin: ANOTHER_STORE,
  deliveryId: "dlv_1",
  broker: "azure-storage-queue",
  connection: "default",
  queue: "elsewhere",
};
const JSON_TYPE = { "content-type": "application/json" };
const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

interface World {
  broker: MemoryBroker;
  gateway: TestGateway;
  sink: SinkServer;
  addSource(name: string, options?: object): Promise<void>;
  isEmpty(name: string): Promise<void>;
  listEvents(): Promise<Record<string, unknown>[]>;
}

async function openWorld(toKind = (kind: PulledSourceKind) => kind): Promise<World> {
  const broker = createMemoryBroker({ limits: { holdMs: 30_000, canRenew: true }, now: Date.now });
  const sink = await openSinkServer();
  opened.push(sink);
  const gateway = await startTestGateway({ sourceKinds: [toKind(broker.kind)] });
  opened.push(gateway);
  return {
    broker,
    gateway,
    sink,
    async addSource(name, options = {}) {
      const source = { name, kind: "memory", options: { queue: name, ...options } };
      expect(await gateway.post("/api/v1/sources", source)).toMatchObject({ status: 201 });
    },
    isEmpty: (name) => until(() => broker.queue(name).countLeft() === 0, undefined, `an empty queue ${name}`),
    listEvents: async () => (await gateway.get("/api/v1/events")).json["data"] as Record<string, unknown>[],
  };
}

function toMessage(eventId: string, content: { body: Buffer } | { claim: Claim }): Buffer {
  return writeMessage({
    eventId,
    eventType: "order.created",
    eventVersion: "1.0",
    source: "shop",
    tenantId: "elsewhere",
    priority: "normal",
    generation: 1,
    origin: ANOTHER_STORE,
    hops: 1,
    occurredAt: 0,
    receivedAt: 0,
    method: "POST",
    contentType: "application/json",
    content,
  });
}

describe("an event that came by a queue", () => {
  // shows: Q7
  it("has the id of its origin in webhook-id, whichever way it came", async () => {
    const { broker, gateway, sink, addSource, listEvents } = await openWorld();
    await gateway.subscribe({ name: "all", url: sink.url, format: "raw" });
    await addSource("whole", { body: "message" });
    await addSource("raw");
    broker.queue("whole").send(toMessage("evt_first", { body: Buffer.from('{"n":1}') }), { id: "m1" });
    // As another gateway sends it with `format: raw`: what it is stands in the properties.
    const headers = { ...JSON_TYPE, origin: ANOTHER_STORE, event_id: "evt_second", hops: "1" };
    broker.queue("raw").send('{"n":2}', { id: "m2", headers });
    // The control: what no gateway sent goes by the id that it has here.
    broker.queue("raw").send('{"n":3}', { id: "m3", headers: JSON_TYPE });
    await sink.received(3);
    const idOf = (body: string) =>
      sink.requests.find((request) => request.body.toString() === body)?.headers["webhook-id"];
    const own = (await listEvents()).find(({ origin_event_id: origin }) => origin === undefined);
    expect([idOf('{"n":1}'), idOf('{"n":2}')]).toEqual(["evt_first", "evt_second"]);
    expect([idOf('{"n":3}'), own]).toEqual([own?.["event_id"], expect.anything()]);
  });

  it("is a new event that names its origin, where it is an Event that this gateway itself has sent", async () => {
    const { broker, gateway, sink, addSource, isEmpty, listEvents } = await openWorld();
    await addSource("bus", { body: "event", own: "take" });
    const event = { event_id: "evt-1", event_type: "milk.collected", source: "iot", payload: { litres: 1 } };
    expect((await gateway.post("/api/v1/events", event)).status).toBe(202);
    await gateway.subscribe({ name: "all", url: sink.url, format: "raw" });
    const headers = { ...JSON_TYPE, origin: readStoreId(gateway.dataDir), event_id: "evt-1", hops: "1" };
    // Another message with it is the same: it came before.
    for (const id of ["m-1", "m-2"]) broker.queue("bus").send(JSON.stringify(event), { id, headers });
    await isEmpty("bus");
    const [request] = await sink.received(1);
    expect([request?.headers["webhook-id"], sink.requests.length]).toEqual(["evt-1", 1]);
    const ids = (await listEvents()).map(({ event_id: id }) => String(id));
    expect(ids.sort()).toEqual(["evt-1", expect.stringMatching(/^msg_/)]);
  });

  // shows: Q8, Q9
  it("is one event for two queues of one exchange, where it is an Event, and one for each where it is raw", async () => {
    const { broker, addSource, isEmpty, listEvents } = await openWorld();
    const event = '{"event_id":"evt-1","event_type":"milk.collected","source":"iot","payload":{"litres":1}}';
    for (const name of ["north", "south"]) {
      await addSource(name, { body: "event" });
      broker.queue(name).send(event, { id: `m-${name}` });
      await isEmpty(name);
    }
    expect(await listEvents()).toMatchObject([{ event_id: "evt-1", event_type: "milk.collected" }]);
    for (const name of ["east", "west"]) {
      await addSource(name);
      broker.queue(name).send("{}", { id: "the-same", headers: JSON_TYPE });
      await isEmpty(name);
    }
    expect((await listEvents()).map(({ source }) => String(source)).sort()).toEqual(["east", "iot", "west"]);
  });

  // shows: Q5
  it("is skipped where this very gateway sent it, also in a format that the source does not understand", async () => {
    const { broker, gateway, addSource, isEmpty, listEvents } = await openWorld();
    const headers = { ...JSON_TYPE, origin: readStoreId(gateway.dataDir), event_id: "evt_1", hops: "1" };
    for (const body of ["event", "message"]) {
      await addSource(body, { body });
      broker.queue(body).send('{"n":1}', { id: "m1", headers });
      await isEmpty(body);
      expect(broker.queue(body).parked).toEqual([]);
      // The control: from another gateway it is parked, for whoever can mend it.
      broker.queue(body).send('{"n":1}', { id: "m2", headers: { ...headers, origin: ANOTHER_STORE } });
      await isEmpty(body);
      expect(broker.queue(body).parked).toHaveLength(1);
    }
    expect(await listEvents()).toEqual([]);
  });

  // shows: Q45
  it("is not validated a second time where a gateway has taken it in, and is where nobody has", async () => {
    const { broker, gateway, addSource, isEmpty, listEvents } = await openWorld();
    const schema = { type: "object", required: ["id"] };
    const versions = [{ version: "1.0", schema }];
    expect((await gateway.post("/api/v1/event-types", { name: "order.created", versions })).status).toBe(201);
    for (const name of ["whole", "raw", "shop"]) {
      const validation = { body: JSON.stringify(schema), headers: JSON_TYPE };
      expect((await gateway.request("PUT", `/validations/${name}`, validation)).status).toBe(200);
    }
    await addSource("whole", { body: "message" });
    await addSource("raw");
    broker.queue("whole").send(toMessage("evt_1", { body: Buffer.from("{}") }), { id: "m1" });
    broker.queue("raw").send("{}", { id: "m2", headers: JSON_TYPE });
    await isEmpty("whole");
    await isEmpty("raw");
    expect(await listEvents()).toMatchObject([{ event_type: "order.created", source: "shop" }]);
    expect(broker.queue("raw").parked).toMatchObject([{ reason: { code: "validation_failed" } }]);
  });
});

describe("a message that comes again", () => {
  // shows: Q26
  it("is acknowledged where nobody wanted its event, or a filter rejected it", async () => {
    const { broker, gateway, sink, addSource, isEmpty, listEvents } = await openWorld();
    await gateway.subscribe({
      name: "some",
      url: sink.url,
      events: ["webhook.filtered"],
      event_filter: { data: { n: 5 } },
      retry_policy: "short",
    });
    for (const name of ["unmatched", "filtered"]) {
      await addSource(name, { acknowledge: "delivered" });
      for (let time = 0; time < 2; time++) {
        broker.queue(name).send('{"n":1}', { id: "m1", headers: JSON_TYPE });
        await isEmpty(name);
      }
      expect(broker.queue(name).parked).toEqual([]);
    }
    expect((await listEvents()).map(({ source }) => String(source)).sort()).toEqual(["filtered", "unmatched"]);
    expect(sink.requests).toEqual([]);
  });

  it("does not overtake one before it whose body has to be fetched first", async () => {
    const body = Buffer.from('{"n":1}');
    const sha256 = createHash("sha256").update(body).digest("hex");
    let give: (() => void) | undefined;
    const isGiven = new Promise<void>((resolve) => (give = resolve));
    const claims = {
      read: () => isGiven.then(() => ({ body, etag: "first" })),
      removeUnchanged: () => Promise.resolve(true),
    };
    const { broker, gateway, sink, addSource, isEmpty } = await openWorld((kind) => ({
      ...kind,
      findClaims: () => claims,
    }));
    await gateway.subscribe({ name: "all", url: sink.url, format: "raw", ordered: true });
    const queue = broker.queue("whole");
    const claim = { container: "bodies", blob: "one", size: body.length, sha256 };
    queue.send(toMessage("evt_1", { claim }), { id: "m1" });
    queue.send(toMessage("evt_2", { body: Buffer.from('{"n":2}') }), { id: "m2" });
    await addSource("whole", { body: "message" });
    await until(() => queue.countHeld() === 2);
    give?.();
    await isEmpty("whole");
    await until(() => sink.requests.length === 2);
    expect(sink.requests.map((request) => request.body.toString())).toEqual(['{"n":1}', '{"n":2}']);
  });

  // shows: Q51
  it("is known before its body is fetched; a parked one keeps its body", async () => {
    const body = Buffer.from('{"n":1}');
    const claim = (blob: string): Claim => ({
      container: "bodies",
      blob,
      size: body.length,
      sha256: createHash("sha256").update(body).digest("hex"),
    });
    const blobs = new Map([["good", body]]);
    const reads: string[] = [];
    const claims = {
      async read({ blob, size }: Claim) {
        reads.push(blob);
        const found = blobs.get(blob);
        return found?.length !== size
          ? { problem: "The body that the message claims does not exist." }
          : { body: found, etag: "first" };
      },
      removeUnchanged: async ({ name }: { name: string }) => blobs.delete(name),
    };
    const { broker, gateway, sink, addSource, isEmpty, listEvents } = await openWorld((kind) => ({
      ...kind,
      findClaims: () => claims,
    }));
    await gateway.subscribe({ name: "all", url: sink.url, format: "raw" });
    await addSource("whole", { body: "message" });
    const queue = broker.queue("whole");
    for (let time = 0; time < 2; time++) {
      queue.send(toMessage("evt_1", { claim: claim("good") }), { id: "m1" });
      await isEmpty("whole");
    }
    expect(sink.requests.map((request) => request.body.toString())).toEqual(['{"n":1}']);
    // The second one was settled before its body was looked for, to delete it.
    await until(() => reads.length === 2);
    expect([reads, blobs.size, queue.parked.length]).toEqual([["good", "good"], 0, 0]);
    // The control: whose event nobody knows needs its body, and is parked with what is left of it.
    blobs.set("kept", body);
    queue.send(toMessage("evt_2", { claim: claim("gone") }), { id: "m2" });
    queue.send(toMessage("evt_3", { claim: { ...claim("kept"), size: 99_000_000 } }), { id: "m3" });
    await until(() => queue.parked.length === 2);
    expect([reads, [...blobs.keys()]]).toEqual([["good", "good", "gone", "kept"], ["kept"]]);
    expect(await listEvents()).toHaveLength(1);
  });

  // shows: Q49
  it("does not delete the body of another message by a false claim", async (context) => {
    const account = { connectionString: await useAzurite(context) };
    const claims = createClaimCheck({ account, container: `claims-${randomUUID()}`, maxBytes: 1_000_000 });
    const put = (name: string, text: string) => claims.put(name, Buffer.from(text), OWNER);
    const { broker, addSource, isEmpty, listEvents } = await openWorld((kind) => ({
      ...kind,
      findClaims: () => claims,
    }));
    await addSource("whole", { body: "message" });
    const send = (eventId: string, claim: Claim) =>
      broker.queue("whole").send(toMessage(eventId, { claim }), { id: randomUUID() });
    const left = async () => (await claims.list(10)).bodies.map(({ name }) => name);

    const victim = await put("victim", '{"waits":"elsewhere"}');
    send("evt_known", await put("own", '{"n":1}'));
    await until(async () => (await listEvents()).length === 1 && (await left()).length === 1);
    // Its event is stored already, so it is settled without its body.
    send("evt_known", { ...victim, size: 7 });
    send("evt_known", { ...victim, sha256: "0".repeat(64) });
    send("evt_known", { ...victim, container: "another" });
    await isEmpty("whole");
    // The control: a true claim of a message that comes again is deleted, after all that came before it.
    send("evt_known", await put("again", '{"n":1}'));
    await until(async () => !(await left()).includes("again"));
    expect(await left()).toEqual(["victim"]);
    expect(await claims.read(victim)).toMatchObject({ body: Buffer.from('{"waits":"elsewhere"}') });
  });
});

/** How many of five are held then, at most and in the end. */
async function countHeldInQueue(isChecked: boolean): Promise<{ most: number; held: number; left: number }> {
  const { broker, gateway, sink, addSource } = await openWorld();
  sink.answerWith({ status: 503 });
  const health = isChecked ? { health_url: `${sink.url}/healthz`, health_interval_s: 0.1 } : {};
  await gateway.subscribe({ name: "home", url: sink.url, retry_policy: "short", failures_to_open: 1, ...health });
  if (!isChecked) await gateway.webhook("shop", "{}");
  await until(async () => {
    gateway.moveClock(1000);
    return (await gateway.get("/status")).json["mode"] === "QUEUE";
  });
  for (let n = 0; n < 5; n++) broker.queue("vps").send("{}", { id: `m${n}`, headers: JSON_TYPE });
  await addSource("vps", { acknowledge: "delivered", target: "home" });
  await until(async () => (await gateway.get("/metrics")).text.includes('posthorn_source_queue_depth{source="vps"}'));
  const held: number[] = [];
  for (let look = 0; look < 5; look++) {
    gateway.moveClock(1000);
    await gateway.get("/status");
    held.push(broker.queue("vps").countHeld());
  }
  return { most: Math.max(...held), held: held.at(-1) ?? 0, left: broker.queue("vps").countLeft() };
}

describe("a source whose target is in QUEUE", () => {
  // shows: Q33
  it("takes nothing where a health check finds out when it is back", async () => {
    expect(await countHeldInQueue(true)).toEqual({ most: 0, held: 0, left: 5 });
  });

  it("takes nothing after one check that failed, and goes on after the next good one", async () => {
    const { broker, gateway, sink, addSource, isEmpty } = await openWorld();
    const far = { health: { status: 503, body: "" } };
    sink.answerWith(({ method }) => (method === "GET" ? far.health : { status: 200 }));
    const health = { health_url: `${sink.url}/healthz`, health_interval_s: 3600 };
    await gateway.subscribe({ name: "home", url: sink.url, retry_policy: "short", ...health });
    const healthOf = async () => (await gateway.get("/api/v1/targets/home")).json;
    await until(async () => (await healthOf())["health"] === "error");
    for (let n = 0; n < 5; n++) broker.queue("vps").send("{}", { id: `m${n}`, headers: JSON_TYPE });
    await addSource("vps", { acknowledge: "delivered", target: "home" });
    await until(async () => (await gateway.get("/metrics")).text.includes('posthorn_source_queue_depth{source="vps"}'));
    for (let look = 0; look < 3; look++) {
      gateway.moveClock(1000);
      expect(await healthOf()).toMatchObject({ mode: "NORMAL", health: "error", failures: 1 });
      expect(broker.queue("vps").countHeld()).toBe(0);
    }
    far.health = { status: 200, body: '{"status":"ok"}' };
    gateway.moveClock(3_600_000);
    await isEmpty("vps");
  });

  // shows: Q33
  it("takes one message to find out where there is no health check", async () => {
    expect(await countHeldInQueue(false)).toEqual({ most: 1, held: 1, left: 5 });
  });
});
