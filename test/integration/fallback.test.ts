import { beforeEach, afterEach, describe, expect, it, type TestContext } from "vitest";
import { until } from "../support/api-client.ts";
import { BROKER_KINDS } from "../support/brokers/shared-queues.ts";
import { DOWN, modeOf, OK, openFallbackWorld, reaches } from "../support/fallback-world.ts";
import { recordOf, unreachable } from "../support/http-outcomes.ts";
import { QUEUE_IN_MEMORY } from "../support/queue-in-memory.ts";
import { useAzurite } from "../support/services/shared.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { ALERTING, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe.each(BROKER_KINDS)("the fallback of one that forwards, of the kind %s,", (kind) => {
  // shows: B5, Q35
  it("takes what comes while the target is down, and nothing more once it is back and the queue is empty", async (context) => {
    const { gateway, far, posts, depth, takeAll } = await openFallbackWorld(context, kind);
    expect((await gateway.webhook("orders", '{"n":1}')).json["status"]).toBe("forwarded");
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    const before = posts().length;
    for (const n of [2, 3]) {
      const answer = await gateway.webhook("orders", `{"n":${n}}`, { "x-api-key": "s3cret-of-the-sender" });
      expect([answer.status, answer.json["status"]]).toEqual([202, "queued"]);
    }
    await until(async () => (await depth()) === 2);
    expect(posts()).toHaveLength(before);
    // A message counts here and there until its delivery is recorded.
    await until(async () => (await gateway.deliveries("status=delivered")).length === 3);
    expect((await gateway.get("/status")).json).toMatchObject({ mode: "QUEUE", queue_length: 2 });
    // Its health is good again; what went away has not been taken yet.
    far.health = far.answer = OK;
    await until(async () => (await gateway.get("/api/v1/targets/n8n")).json["health"] === "ok");
    expect(await modeOf(gateway, "n8n")).toBe("QUEUE");
    expect((await takeAll()).toSorted()).toEqual(['{"n":2}', '{"n":3}']);
    await reaches(gateway, "n8n", "NORMAL");
    expect((await gateway.webhook("orders", '{"n":4}')).json["status"]).toBe("forwarded");
    expect(posts().slice(before)).toEqual(['{"n":4}']);
    expect(await depth()).toBe(0);
    // The sender has its answer before the delivery is on record.
    await gateway.settled();
  });

  // shows: Q40
  it("gets what waited before the target was down, and keeps its order per key until it is drained", async (context) => {
    const { gateway, far, posts, depth, takeAll } = await openFallbackWorld(context, kind, {
      // How long RabbitMQ's queue is seen empty: it does not count what others hold.
      forward: { ordered: true, drain_within_s: 1 },
      fallback: { ordered: true },
    });
    far.answer = { status: 500 };
    // The head keeps its place while the target is in NORMAL; the others wait behind it.
    for (const n of [1, 2, 3]) await gateway.webhook("keyed", `{"n":${n}}`, { "x-key": "a" });
    expect(await depth()).toBe(0);
    far.health = DOWN;
    await until(async () => (await depth()) === 3);
    await gateway.webhook("keyed", '{"n":4}', { "x-key": "a" });
    await until(async () => (await depth()) === 4);
    const before = posts().length;
    far.health = far.answer = OK;
    await until(async () => (await gateway.get("/api/v1/targets/n8n")).json["health"] === "ok");
    await gateway.webhook("keyed", '{"n":5}', { "x-key": "a" });
    await until(async () => (await depth()) === 5);
    expect(posts()).toHaveLength(before);
    expect(await takeAll()).toEqual([1, 2, 3, 4, 5].map((n) => `{"n":${n}}`));
    await reaches(gateway, "n8n", "NORMAL");
    expect((await gateway.webhook("keyed", '{"n":6}', { "x-key": "a" })).json["status"]).toBe("forwarded");
    expect(posts().slice(before)).toEqual(['{"n":6}']);
  });
});

describe("an event of 2 MB while the target is down", () => {
  const large = JSON.stringify({ large: "x".repeat(2_000_000) });
  /** Bodies that are too large for a queue are kept in Blob storage. */
  const claimCheck = async (context: TestContext) => ({
    connections: [{ name: "blobs", kind: "azure-storage-queue", connection_string: await useAzurite(context) }],
    destination: { claim_check: { connection: "blobs", container: "large-bodies" } },
  });

  // shows: Q38
  it.for([
    ["amqp", "is in the queue", false],
    ["azure-service-bus", "is in the queue", true],
    ["azure-storage-queue", "is in the queue", true],
    ["azure-service-bus", "waits for the target", false],
    ["azure-storage-queue", "waits for the target", false],
  ] as const)("with %s as the fallback %s (claim check: %s)", async ([kind, place, isClaimed], context) => {
    const { connections = [], destination = {} } = isClaimed ? await claimCheck(context) : {};
    const { gateway, far, posts, depth, takeAll } = await openFallbackWorld(context, kind, {
      connections,
      destination,
    });
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    const answer = await gateway.webhook("orders", large);
    expect([answer.status, answer.json["status"]]).toEqual([202, "queued"]);
    await gateway.webhook("orders", '{"n":1}');
    const isTaken = place === "is in the queue";
    await until(async () => (await depth()) === (isTaken ? 2 : 1));
    const eventId = String(answer.json["event_id"]);
    const shown = async () => (await gateway.event(eventId)).deliveries.map(({ status }) => status).toSorted();
    await until(async () => (await shown()).join() === (isTaken ? "delivered" : "cancelled,pending"));
    expect(await gateway.deliveries("status=dead")).toEqual([]);
    const before = posts().length;
    far.health = far.answer = OK;
    expect((await takeAll()).length).toBe(isTaken ? 2 : 1);
    await reaches(gateway, "n8n", "NORMAL");
    await gateway.settled();
    expect(posts().slice(before)).toEqual(isTaken ? [] : [large]);
    if (isTaken) return;

    // One replay is one delivery, at the target.
    expect((await gateway.post(`/api/v1/events/${eventId}/replay`, {})).status).toBeLessThan(300);
    await until(() => posts().length === before + 2);
    await gateway.settled();
    expect([posts().at(-1), await depth()]).toEqual([large, 0]);
  });

  // shows: Q38
  it("keeps its place in its ordering key, and holds up no other key", async (context) => {
    const { gateway, far, posts, depth, takeAll } = await openFallbackWorld(context, "azure-storage-queue", {
      forward: { ordered: true, drain_within_s: 1 },
      fallback: { ordered: true },
    });
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    for (const [key, body] of [
      ["a", '{"a":1}'],
      ["a", large],
      ["a", '{"a":3}'],
      ["b", '{"b":1}'],
    ] as const) {
      await gateway.webhook("keyed", body, { "x-key": key });
    }
    await expect.poll(depth, { timeout: 30_000 }).toBe(2);
    await gateway.webhook("keyed", '{"a":4}', { "x-key": "a" });
    await expect.poll(async () => (await gateway.deliveries("status=pending")).length, { timeout: 30_000 }).toBe(3);
    const before = posts().length;
    far.health = far.answer = OK;
    await until(async () => (await gateway.get("/api/v1/targets/n8n")).json["health"] === "ok");
    // What is in the queue goes first.
    expect(posts()).toHaveLength(before);
    expect((await takeAll()).toSorted()).toEqual(['{"a":1}', '{"b":1}']);
    await reaches(gateway, "n8n", "NORMAL");
    await gateway.settled();
    expect(posts().slice(before)).toEqual([large, '{"a":3}', '{"a":4}']);
  });

  it("goes to the target when a dead letter of the fallback is replayed", async (context) => {
    const { gateway, far, posts } = await openFallbackWorld(context, "azure-storage-queue");
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    const eventId = String((await gateway.webhook("orders", large)).json["event_id"]);
    const attemptsThere = async () => {
      const { deliveries } = await gateway.event(eventId);
      const there = deliveries.find(({ status }) => status === "cancelled")?.id;
      return there === undefined ? { count: 0 } : { there, count: (await gateway.delivery(there)).attempt_count };
    };
    await until(async () => (await attemptsThere()).count === 1);
    const { there } = await attemptsThere();
    // As if an operator sent it there again.
    expect((await gateway.post(`/api/v1/deliveries/${there}/retry`, {})).status).toBeLessThan(300);
    await until(async () => (await attemptsThere()).count === 2);
    const before = posts().length;
    far.health = far.answer = OK;
    await until(() => posts().length === before + 1);
    expect(posts().slice(before)).toEqual([large]);
    await gateway.settled();
    expect(await gateway.deliveries("status=dead")).toEqual([]);
  });
});

describe("the fallback of one that forwards", () => {
  const kind = "amqp";

  // shows: Q36
  it("has the forward that its sender waits for when that fails, and the delivery says where it went", async (context) => {
    const { gateway, far, posts, depth } = await openFallbackWorld(context, kind);
    far.answer = { status: 500 };
    const answer = await gateway.webhook("orders", '{"n":1}');
    expect([answer.status, answer.json["status"]]).toEqual([202, "queued"]);
    await until(async () => (await gateway.deliveries("status=delivered")).length === 1);
    expect(await depth()).toBe(1);
    expect(await modeOf(gateway, "n8n")).toBe("NORMAL");
    const eventId = String(answer.json["event_id"]);
    const { deliveries: shown, status } = await gateway.event(eventId);
    expect(status).toBe("COMPLETED");
    const states = shown.map(({ status, last_error: error }) => [status, error]);
    const went = shown.find(({ status }) => status === "delivered")?.id;
    expect(states).toContainEqual(["cancelled", `moved to ${went}`]);
    // One replay is one delivery: the forward's.
    far.answer = OK;
    const before = posts().length;
    expect((await gateway.post(`/api/v1/events/${eventId}/replay`, {})).status).toBeLessThan(300);
    await until(async () => (await gateway.deliveries("status=delivered")).length === 2);
    expect([posts().length - before, await depth()]).toEqual([1, 1]);
  });

  // shows: Q38, Q42
  it("is left out while its broker is away: what comes waits here, and is forwarded when the target is back", async (context) => {
    const { gateway, gate, far, posts, depth, takeAll } = await openFallbackWorld(context, kind, {
      forward: { drain_within_s: 0 },
      fallback: { failures_to_open: 1 },
      env: ALERTING,
    });
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    await gateway.webhook("orders", '{"n":0}');
    await until(async () => (await depth()) === 1, undefined, "the first in the queue");
    await gate.cut();
    const before = posts().length;
    expect((await gateway.webhook("orders", '{"n":1}')).status).toBe(202);
    await reaches(gateway, "home-queue", "QUEUE");
    expect((await gateway.webhook("orders", '{"n":2}')).status).toBe(202);
    // The last known number of the queue counts, too.
    expect((await gateway.get("/status")).json["queue_length"]).toBeGreaterThanOrEqual(2);
    far.health = far.answer = OK;
    await until(() => posts().length === before + 2, undefined, "both at the target");
    expect(posts().slice(before).toSorted()).toEqual(['{"n":1}', '{"n":2}']);
    await reaches(gateway, "n8n", "NORMAL");
    expect(gateway.log.map(({ msg }) => msg)).toContain(
      "the target is used again although its fallback queue was not seen empty",
    );
    const isTold = async () => {
      const { data } = (await gateway.get("/api/v1/alerts?status=active")).json as { data: { rule: string }[] };
      return data.some(({ rule }) => rule === "fallback_not_drained");
    };
    await until(isTold);
    await gate.open();
    await gateway.settled();
    expect(await takeAll()).toEqual(['{"n":0}']);
    // The next time it is used again, although nothing of its own was left to find out that its broker is back.
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    expect((await gateway.webhook("orders", '{"n":3}')).status).toBe(202);
    await until(async () => (await depth()) === 1, undefined, "the event in the queue");
    await reaches(gateway, "home-queue", "NORMAL");
  });

  it("is not emptied by a source of the same gateway, which would take what is there for known", async (context) => {
    const options = { body: "message", own: "take", idle_wait_s: 1 };
    const takingBack = (queue: string) => [
      { name: "back", kind, options: { ...options, queue } },
      { name: "other", kind, options: { ...options, queue: `${queue}-other` } },
    ];
    const { gateway, far, broker, shared, depth, takeAll } = await openFallbackWorld(context, kind, {
      sourcesOf: takingBack,
    });
    const other = `${shared.queue}-other`;
    await shared.declare(other);
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    expect((await gateway.webhook("orders", '{"n":1}')).status).toBe(202);
    await until(async () => (await depth()) === 1);
    // Another queue is taken from meanwhile.
    await broker.openPublisher("").publish({
      id: "broken",
      body: Buffer.from("{broken"),
      contentType: undefined,
      subject: other,
      sessionId: undefined,
      correlationId: undefined,
      timestamp: Date.now(),
      properties: {},
    });
    await until(async () => (await gateway.rejected("other")).length > 0);
    expect(await takeAll()).toEqual(['{"n":1}']);
  });

  it("goes on after a restart of the gateway in QUEUE", async (context) => {
    const { gateway, far, depth } = await openFallbackWorld(context, kind);
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    await gateway.restart();
    expect((await gateway.webhook("orders", '{"n":1}')).status).toBe(202);
    await until(async () => (await depth()) === 1);
  });
});

describe("a fallback that is removed", () => {
  it("gives back what waits there, and what it fails to accept afterwards", async () => {
    const target = await openSinkServer();
    const far = { health: DOWN, answer: DOWN };
    target.answerWith(({ method }) => (method === "GET" ? far.health : far.answer));
    const tries: (() => void)[] = [];
    const away: typeof QUEUE_IN_MEMORY = {
      ...QUEUE_IN_MEMORY,
      open: (services) => ({
        ...QUEUE_IN_MEMORY.open(services),
        send: (attempts, done) => {
          const report = (attempt: (typeof attempts)[number]) => ({
            outcome: unreachable("the broker is away"),
            startedAt: 0,
            durationMs: 1,
            record: recordOf(attempt.subscription),
          });
          tries.push(() => done(attempts.map(report)));
        },
      }),
    };
    const gateway = await startTestGateway({ destinationKinds: [away] });
    const queue = { name: "home", kind: away.name, events: [], destination: { queue: "home" }, concurrency: 1 };
    const { id: home } = (await gateway.post("/api/v1/subscriptions", queue)).json as { id: string };
    const { id } = await gateway.subscribe({
      name: "n8n",
      url: `${target.url}/hook`,
      mode: "forward",
      events: ["webhook.*"],
      health_url: `${target.url}/healthz`,
      health_interval_s: 0.1,
      fallback: "home",
    });
    await reaches(gateway, "n8n", "QUEUE");
    for (const n of [1, 2, 3]) expect((await gateway.webhook("orders", `{"n":${n}}`)).status).toBe(202);
    // The others wait behind the first, and are held there.
    await until(() => tries.length === 1);
    expect((await gateway.post(`/api/v1/subscriptions/${home}/pause`, {})).status).toBe(200);
    const removed = await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, {
      body: '{"fallback":null}',
      headers: { "content-type": "application/json" },
    });
    expect(removed.status).toBe(200);
    const waiting = async () =>
      (await gateway.deliveries("status=pending")).filter(({ subscription_id: of }) => of === id).length;
    await until(async () => (await waiting()) === 2);
    tries[0]?.();
    await until(async () => (await waiting()) === 3);
    far.health = far.answer = OK;
    await gateway.settled();
    const posts = target.requests.filter(({ method }) => method === "POST").map(({ body }) => body.toString());
    expect(posts.toSorted()).toEqual([1, 2, 3].map((n) => `{"n":${n}}`));
    await gateway.close();
    await target.close();
  });
});

describe("bad settings of a fallback", () => {
  let gateway: TestGateway;
  beforeEach(async () => {
    gateway = await startTestGateway({
      yaml: JSON.stringify({ connections: CONNECTIONS }),
    });
  });
  afterEach(() => gateway.close());

  const make = (settings: object) => gateway.post("/api/v1/subscriptions", settings);
  const queue = (name: string, more: object = {}) =>
    make({ name, kind: "azure-storage-queue", events: [], destination: { queue: "webhooks" }, ...more });
  const forward = (more: object = {}) =>
    make({
      name: "n8n",
      url: "http://127.0.0.1:9/hook",
      events: ["webhook.*"],
      mode: "forward",
      health_url: "http://127.0.0.1:9/healthz",
      fallback: "home",
      ...more,
    });
  const patch = (path: string, body: object) =>
    gateway.request("PATCH", path, {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
  const refusal = ({ status, json }: { status: number; json: Record<string, unknown> }) => [
    status,
    json["field"] ?? null,
    json["detail"],
  ];

  // shows: Q34, Q71
  it("are rejected with the field and the reason", async () => {
    await queue("home");
    await queue("busy", { events: ["order.*"] });
    await queue("foreign", { tenant_id: "acme" });
    await make({ name: "web", url: "http://127.0.0.1:9/x", events: ["order.*"] });
    const says = (text: string) => [422, "fallback", expect.stringContaining(text)];
    expect(refusal(await forward({ fallback: "web" }))).toEqual(says("only a queue"));
    expect(refusal(await forward({ fallback: "nobody" }))).toEqual(says("there is no subscription"));
    expect(refusal(await forward({ fallback: "foreign" }))).toEqual(says("of the same tenant"));
    expect(refusal(await forward({ fallback: "n8n" }))).toEqual(says("there is no subscription"));
    expect(refusal(await forward({ fallback: "busy" }))).toEqual(says("events: []"));
    expect(refusal(await forward({ health_url: null }))).toEqual(says("health check"));
    expect(refusal(await forward({ mode: "queue" }))).toEqual(says("mode: forward"));
    expect(refusal(await forward({ ordered: true }))).toEqual(says("ordered"));
    expect((await forward()).status).toBe(201);
    const second = await forward({ name: "second", events: ["order.*"] });
    expect(refusal(second)).toEqual(says('the fallback of "n8n"'));
  });

  it("are rejected when one asks for no events and is no queue, or chooses among none", async () => {
    const empty = await make({ name: "web", url: "http://127.0.0.1:9/x", events: [] });
    expect(refusal(empty)).toEqual([422, "events", expect.stringContaining("at least one pattern")]);
    const choosy = await queue("home", { event_filter: { event_type: "a" } });
    expect(refusal(choosy)).toEqual([422, "event_filter", expect.stringContaining("fallback")]);
  });

  it("do not come about by a change: one in use keeps its name, its events and its place", async () => {
    const { id } = (await queue("home")).json as { id: string };
    const { id: user } = (await forward()).json as { id: string };
    const path = `/api/v1/subscriptions/${id}`;
    expect((await patch(path, { name: "other" })).status).toBe(409);
    expect(refusal(await patch(path, { events: ["order.*"] }))[1]).toBe("events");
    expect((await gateway.request("DELETE", path)).status).toBe(409);
    const bad = await patch(`/api/v1/subscriptions/${user}`, { fallback: "nobody" });
    expect(refusal(bad)).toEqual([422, "fallback", expect.stringContaining("there is no subscription")]);
    expect((await patch(`/api/v1/subscriptions/${user}`, { fallback: null })).status).toBe(200);
    expect((await gateway.request("DELETE", path)).status).toBeLessThan(300);
  });

  it("are rejected where an ordered forward could never know that its fallback is empty", async () => {
    const bus = { kind: "amqp", ordered: true, destination: { exchange: "bus" } };
    await queue("home", bus);
    const uncounted = [422, "fallback", expect.stringMatching(/ordered.*cannot be counted.*give it a queue/)];
    expect(refusal(await forward({ ordered: true }))).toEqual(uncounted);
    const { id: user } = (await forward()).json as { id: string };
    expect(refusal(await patch(`/api/v1/subscriptions/${user}`, { ordered: true }))).toEqual(uncounted);

    // The control: a queue can be counted.
    await queue("counted", { ...bus, destination: { queue: "webhooks" } });
    const counted = await patch(`/api/v1/subscriptions/${user}`, { ordered: true, fallback: "counted" });
    expect(counted.status).toBe(200);
  });

  it("are saved with a warning where it does not accept every event", async () => {
    const warning = expect.stringMatching(/at most 47616 bytes.*until its target is back.*claim_check/) as string;
    const plain = { queue: "webhooks", format: "message", message_key: "a key that both gateways have" };
    const { id, warnings } = (await queue("home", { destination: plain })).json as { id: string; warnings: string[] };
    expect(warnings).toEqual([warning]);
    expect(gateway.log).toContainEqual(expect.objectContaining({ warnings: [warning] }));
    const claim_check = { connection: "default", container: "large-bodies" };
    const changed = await patch(`/api/v1/subscriptions/${id}`, { destination: { ...plain, claim_check } });
    expect([changed.status, changed.json["warnings"]]).toEqual([200, undefined]);
    // The control: one that asks for events itself has dead letters, and no warning.
    const own = await queue("own", { events: ["order.*"], destination: plain });
    expect(own.json["warnings"]).toBeUndefined();
  });

  // shows: Q34
  it("are rejected in the file, one that is nobody's fallback among them", async () => {
    const home = { name: "home", kind: "azure-storage-queue", events: [], destination: { queue: "webhooks" } };
    const yaml = (subscriptions: object[]) => JSON.stringify({ connections: CONNECTIONS, subscriptions });
    await expect(gateway.reload(yaml([home]))).rejects.toThrow(
      /subscriptions\[0\]\.events.*not the fallback of another/s,
    );
    const forwarding = { name: "n8n", url: "http://127.0.0.1:9/x", events: ["webhook.*"], mode: "forward" };
    const pair = yaml([{ ...forwarding, fallback: "home" }, home]);
    await expect(gateway.reload(pair)).rejects.toThrow(/subscriptions\[0\]\.fallback.*health check/s);
    const health = { health_url: "http://127.0.0.1:9/healthz" };
    const bus = { name: "home", kind: "amqp", events: [], ordered: true, destination: { exchange: "bus" } };
    const ordered = yaml([{ ...forwarding, ...health, fallback: "home", ordered: true }, bus]);
    await expect(gateway.reload(ordered)).rejects.toThrow(/subscriptions\[0\]\.fallback.*cannot be counted.*queue/s);
    await gateway.reload(yaml([{ ...forwarding, ...health, fallback: "home" }, home]));
    const { json } = await gateway.get("/api/v1/subscriptions");
    expect(JSON.stringify(json)).toContain('"fallback":"home"');
  });
});

const FAKE_ACCOUNT =
  "DefaultEndpointsProtocol=http;AccountName=nobody;AccountKey=bm9ib2R5;QueueEndpoint=http://127.0.0.1:9/nobody;";

const CONNECTIONS = [
  { name: "default", kind: "azure-storage-queue", connection_string: FAKE_ACCOUNT },
  { name: "default", kind: "amqp", url: "amqp://127.0.0.1:9" },
];
