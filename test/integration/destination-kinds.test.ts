import { afterEach, describe, expect, it } from "vitest";
import type { KindWithSender } from "../../src/destinations/senders.ts";
import { until, type Answer } from "../support/api-client.ts";
import { createBatchingKind, queueIsFull, refusedByQueue, type BatchingQueue } from "../support/batching-kind.ts";
import { createSessionKind, type SessionHost } from "../support/session-kind.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SECRET = "canary-of-the-destination";
const BATCHING = { kind: "batching", destination: { queue: "orders", token: SECRET } };

/** Nothing outside of these kinds knows of them: what works for them works for any. */
describe("a kind of destination", () => {
  let gateway: TestGateway;
  let queue: BatchingQueue;
  let host: SessionHost;
  afterEach(() => gateway.close());

  async function start(): Promise<readonly KindWithSender[]> {
    const [batching, session] = [createBatchingKind(), createSessionKind()];
    [queue, host] = [batching.queue, session.host];
    const destinationKinds = [batching.kind, session.kind];
    gateway = await startTestGateway({ destinationKinds });
    return destinationKinds;
  }

  const make = (body: object) => gateway.post("/api/v1/subscriptions", { name: "a", events: ["order.*"], ...body });
  const patch = (id: string, body: object) =>
    gateway.request("PATCH", `/api/v1/subscriptions/${id}`, {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
  const publish = (id: string, more = {}) =>
    gateway.publish({ event_type: "order.created", event_id: id, payload: { id }, ...more });
  const idOf = ({ json }: Answer) => String(json["id"]);
  const problemOf = ({ status, json }: Answer) => [status, json["field"], json["detail"]];

  it("is made by API with its own settings, which come back without what is secret", async () => {
    await start();
    const made = await make(BATCHING);
    expect(made.status).toBe(201);
    const { json } = await gateway.get(`/api/v1/subscriptions/${idOf(made)}`);
    expect(json).toMatchObject({ kind: "batching", destination: { queue: "orders", token: "***" }, status: "active" });
    for (const field of ["url", "headers", "auth", "format"]) expect(json).not.toHaveProperty(field);
    expect(made.text).not.toContain(SECRET);
  });

  it("gets what is published; one of many that it rejects is a dead letter for that one alone", async () => {
    await start();
    await make(BATCHING);
    queue.answer = (eventId) => (eventId === "e3" ? refusedByQueue("e3 is not for this queue") : undefined);
    const ids = ["e1", "e2", "e3", "e4", "e5"];
    await Promise.all(ids.map((id) => publish(id)));
    await gateway.settled();
    expect(queue.batches.flat().toSorted()).toEqual(ids);
    expect(new Set(queue.tokens)).toEqual(new Set([SECRET]));
    const dead = await gateway.deadLetters();
    expect(dead.map((one) => [one.event_id, one.dead_reason, one.last_error])).toEqual([
      ["e3", "refused", "e3 is not for this queue"],
    ]);
    const delivered = await gateway.deliveries("status=delivered");
    expect(delivered.map((one) => one.event_id).toSorted()).toEqual(["e1", "e2", "e4", "e5"]);
  });

  it("gets what waited as one batch, and one of that may be rejected alone", async () => {
    await start();
    const path = `/api/v1/subscriptions/${idOf(await make(BATCHING))}`;
    await gateway.post(`${path}/pause`, {});
    queue.answer = (eventId) => (eventId === "e3" ? refusedByQueue("e3 is not for this queue") : undefined);
    const ids = ["e1", "e2", "e3", "e4", "e5"];
    await Promise.all(ids.map((id) => publish(id)));
    await gateway.post(`${path}/resume`, {});
    await gateway.settled();
    expect(queue.batches.map((batch) => batch.toSorted())).toEqual([ids]);
    expect((await gateway.deadLetters()).map((one) => one.event_id)).toEqual(["e3"]);
    expect(await gateway.deliveries("status=delivered")).toHaveLength(4);
  });

  it("is tried again when it says when, and its attempts keep a record of its own", async () => {
    await start();
    await make({ ...BATCHING, retry_policy: { delays_s: [1] } });
    let tries = 0;
    queue.answer = () => (++tries === 1 ? queueIsFull() : undefined);
    await publish("e1");
    await until(() => Promise.resolve(queue.batches.length === 1));
    gateway.moveClock(60_000);
    await gateway.settled();
    const { attempts, status } = await gateway.deliveryOf("e1");
    expect(status).toBe("delivered");
    expect(attempts.map(({ result, error }) => [result, error])).toEqual([
      ["failed", "the queue is full"],
      ["success", null],
    ]);
    expect(attempts[0]).toMatchObject({ url: "batching:orders", response_code: null, record: { batch: 1, size: 1 } });
    expect(JSON.stringify(attempts) + gateway.logText()).not.toContain(SECRET);
  });

  it("has a mode like any other: down it waits for its own check, back it gets all, in order and in one session", async () => {
    await start();
    const destination = { host: "mail.example", password: SECRET, is_checked: true };
    await make({ kind: "session", destination, ordered: true, failures_to_open: 1, health_interval_s: 0.1 });
    const key = { ordering_key: "k" };
    await publish("e1", key);
    await until(() => Promise.resolve(host.taken.length === 1));
    host.mood = "down";
    await publish("e2", key);
    const modeOf = async () => (await gateway.get("/status")).json["mode"];
    await until(async () => (await modeOf()) === "QUEUE");
    await publish("e3", key);
    host.mood = "well";
    await until(async () => {
      gateway.moveClock(10_000);
      return (await modeOf()) === "NORMAL" && host.taken.length === 3;
    });
    expect(host.taken.map(({ eventId }) => eventId)).toEqual(["e1", "e2", "e3"]);
    // Whether it was noticed by the check or by a delivery that lost the session, what waited goes out in one.
    expect(host.taken[2]?.session).toBe(host.taken[1]?.session);
    expect(host.checks).toBeGreaterThan(0);
    await gateway.settled();
  });

  it("that says it is gone suspends its subscription", async () => {
    await start();
    const made = await make({ kind: "session", destination: { host: "mail.example", password: SECRET } });
    host.mood = "gone";
    await publish("e1");
    await until(async () => (await gateway.get(`/api/v1/subscriptions/${idOf(made)}`)).json["status"] === "suspended");
    const [dead] = await gateway.deadLetters();
    expect([dead?.event_id, dead?.dead_reason]).toEqual(["e1", "gone"]);
  });

  it("can be tried out, and shows what it keeps of that", async () => {
    await start();
    const made = await make({ kind: "session", destination: { host: "mail.example", password: SECRET } });
    const { status, json } = await gateway.post(`/api/v1/subscriptions/${idOf(made)}/test`);
    expect([status, json["result"], json["record"]]).toEqual([200, "success", { session: 1, sent: 1 }]);
  });

  it("is rejected with the field and the kind when it is unknown, or not what its kind wants", async () => {
    await start();
    const wrong: [body: object, field: string, detail: RegExp][] = [
      [{ kind: "pigeon", destination: {} }, "kind", /no kind of destination "pigeon".*http, .*batching, session/],
      [{ ...BATCHING, destination: { queue: "a", host: "b" } }, "destination.host", /batching.*session/],
      [{ ...BATCHING, url: "https://a.example" }, "url", /batching.*http/],
      [{ ...BATCHING, destination: { queue: "a", x: 1 } }, "destination.x", /kind batching/],
      [{ kind: "batching", destination: {} }, "destination.queue", /is missing.*batching/],
      [{ kind: "batching" }, "destination.queue", /is missing/],
      [{ kind: "batching", destination: { queue: 7 } }, "destination.queue", /./],
      [{ kind: "batching", destination: { queue: "a", token: "wrong" } }, "destination.token", /refuses/],
      [{ url: "https://a.example", destination: { queue: "a" } }, "destination", /http/],
      [{ ...BATCHING, mode: "forward" }, "mode", /batching/],
      [{ kind: "http" }, "url", /is missing/],
    ];
    for (const [body, field, detail] of wrong) {
      expect(problemOf(await make(body))).toEqual([422, field, expect.stringMatching(detail)]);
    }
    expect((await gateway.get("/api/v1/subscriptions")).json["data"]).toEqual([]);
  });

  it("stays what it is, keeps secrets that are sent back masked, and sends them to no other place", async () => {
    await start();
    const id = idOf(await make(BATCHING));
    expect(problemOf(await patch(id, { kind: "session" }))).toEqual([422, "kind", expect.stringContaining("batching")]);
    expect(problemOf(await patch(id, { destination: { queue: "others" } }))).toEqual([
      422,
      "destination.token",
      expect.stringContaining("again"),
    ]);
    const changed = await patch(id, { destination: { token: "***", max_batch: 5 } });
    expect(changed.json["destination"]).toEqual({ queue: "orders", token: "***", max_batch: 5 });
    await publish("e1");
    await gateway.settled();
    expect(queue.tokens).toEqual([SECRET]);
    expect((await patch(id, { destination: { queue: "others", token: "new" } })).status).toBe(200);
    await publish("e2");
    await gateway.settled();
    expect(queue.tokens).toEqual([SECRET, "new"]);
  });

  it("that this release does not know is kept, held and told of, and goes on in one that does", async () => {
    const kinds = await start();
    const id = idOf(await make(BATCHING));
    await gateway.restart({ destinationKinds: [] });
    const path = `/api/v1/subscriptions/${id}`;
    const shown = (await gateway.get(path)).json;
    expect(shown).toMatchObject({
      kind: "batching",
      status: "suspended",
      held_reason: expect.stringContaining('"batching"'),
      destination: { queue: "orders" },
    });
    expect(gateway.log).toContainEqual(expect.objectContaining({ level: "warn", msg: "subscription is held" }));
    const status = (await gateway.get("/status")).json;
    expect(status).toMatchObject({
      health: "error",
      suspended: [{ id, subscription: "a", reason: expect.stringContaining('"batching"') }],
    });

    await publish("e1");
    const waiting = await gateway.deliveryOf("e1");
    expect([waiting.status, waiting.hold_reason]).toEqual(["pending", "unknown_kind"]);
    expect((await patch(id, { description: "changed" })).json["code"]).toBe("newer_format");
    expect((await gateway.post(`${path}/resume`)).json["status"]).toBe("suspended");
    expect((await gateway.post(`${path}/pause`)).json["status"]).toBe("inactive");
    expect((await gateway.post(`${path}/resume`)).json["status"]).toBe("suspended");

    await gateway.restart({ destinationKinds: kinds });
    await gateway.settled();
    expect([queue.batches, queue.tokens]).toEqual([[["e1"]], [SECRET]]);
    expect((await gateway.get(path)).json).toMatchObject({ status: "active", destination: { token: "***" } });
  });
});
