import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openRawSocket } from "../support/raw-socket.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { verifyPlain } from "../support/verify-signature.ts";

const YAML = `
sources:
  - name: any
    methods: [POST, PUT, PATCH, DELETE, GET]
  - name: keyed
    ordering_key_from: header:X-Key
  - name: once
    id_from: header:X-Id
`;

describe("forwarding a webhook while its sender waits", () => {
  let gateway: TestGateway;
  let target: SinkServer;

  beforeAll(async () => {
    gateway = await startTestGateway({ yaml: YAML });
  });
  beforeEach(async () => {
    target = await openSinkServer();
  });
  afterEach(async () => {
    await gateway.deleteSubscriptions();
    await target.close();
  });
  afterAll(() => gateway.close());

  /** What a metric counts in all its series that begin so. */
  async function count(series: string): Promise<number> {
    const lines = (await gateway.get("/metrics")).text.split("\n").filter((line) => line.startsWith(series));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  const forwardAll = (more: object = {}) =>
    gateway.subscribe({ name: "n8n", url: `${target.url}/hook/{source}`, mode: "forward", ...more });

  // shows: B26, B52
  it("answers 200 once the target has taken it, which gets the request as it came and the usual headers", async () => {
    const { secret } = await forwardAll();
    const body = '{"n": 12345678901234567890 }';
    const answer = await gateway.webhook("orders/eu/7?x=%20&y=*", body, {
      "content-type": "application/vnd.shop+json; v=1",
      "x-shop": "berlin",
      "x-hub-signature-256": "sha256=abc",
      "x-forwarded-for": "198.51.100.1",
      "user-agent": "slackbot",
      cookie: "a=b",
    });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ status: "forwarded", event_id: expect.stringMatching(/^evt_/) });
    const [request] = await target.received(1);
    expect(request).toMatchObject({ method: "POST", path: "/hook/orders/eu/7?x=%20&y=*" });
    expect(request?.body.toString()).toBe(body);
    expect(request?.headers).toMatchObject({
      "content-type": "application/vnd.shop+json; v=1",
      "x-shop": "berlin",
      "x-hub-signature-256": "sha256=abc",
      "x-forwarded-for": "127.0.0.1",
      "user-agent": expect.stringMatching(/^Posthorn/),
      "webhook-id": answer.json["event_id"],
      "x-webhook-event": "webhook.orders",
      "x-webhook-attempt": "1",
      host: `127.0.0.1:${target.port}`,
    });
    expect(request?.headers).not.toHaveProperty("cookie");
    expect(request?.headers).not.toHaveProperty("authorization");
    expect(request?.headers["x-webhook-signature"]).toBe(verifyPlain(secret, Buffer.from(body)));
    // The answer does not wait until the attempt is recorded.
    await gateway.settled();
    const delivery = await gateway.deliveryOf(String(answer.json["event_id"]));
    expect(delivery.attempts[0]).toMatchObject({ url: `${target.url}/hook/orders/eu/7?x=%20&y=*` });
    expect(delivery.attempts[0]?.["request_headers"]).toMatchObject({ "x-shop": "berlin" });
  });

  it("hands on the methods that a source takes", async () => {
    await forwardAll();
    for (const method of ["PUT", "PATCH", "DELETE", "GET"]) {
      const answer = await gateway.request(method, "/webhook/any/x", method === "GET" ? {} : { body: "{}" });
      expect([method, answer.status]).toEqual([method, 200]);
      expect(target.requests.at(-1)).toMatchObject({ method, path: "/hook/any/x" });
    }
  });

  // shows: B5, B26
  it("answers 202 when the target fails, and forwards it again in the same way, also after a restart", async () => {
    await forwardAll({ retry_policy: { delays_s: [0, 3600] }, status: "active" });
    target.answerWith({ status: 500 });
    const answer = await gateway.request("PUT", "/webhook/any/a%2Fb?c=d", { body: "{}", headers: { "x-shop": "7" } });
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({ status: "queued", event_id: expect.any(String), deliveries: 1 });
    await target.received(2);
    await gateway.restart();
    target.answerWith({ status: 200 });
    const eventId = String(answer.json["event_id"]);
    const isCompleted = async () => (await gateway.event(eventId))["status"] === "COMPLETED";
    await gateway.moveClockUntil(isCompleted, { seconds: 60 });
    const ways = target.requests.map(({ method, path, headers }) => [method, path, headers["x-shop"]]);
    expect(ways.map((way) => way.join(" "))).toEqual(Array.from({ length: 3 }, () => "PUT /hook/any/a%2Fb?c=d 7"));
  });

  it.each([302, 400, 401, 404, 422, 500])("queues what the target answers with %i, and tries again", async (status) => {
    await forwardAll({ retry_policy: { delays_s: [30] } });
    target.answerWith((_, index) => ({ status: index === 0 ? status : 200 }));
    const answer = await gateway.webhook("orders", "{}");
    expect([answer.status, answer.json]).toEqual([
      202,
      { status: "queued", event_id: expect.any(String), deliveries: 1 },
    ]);
    const eventId = String(answer.json["event_id"]);
    await until(async () => (await gateway.deliveryOf(eventId)).attempts.length === 1);
    expect(await gateway.deliveryOf(eventId)).toMatchObject({ status: "pending" });
    await gateway.moveClockUntil(async () => (await gateway.event(eventId))["status"] === "COMPLETED");
    expect(target.requests).toHaveLength(2);
  });

  it("makes a dead letter of what the target rejects at every try of the policy", async () => {
    const { id } = await forwardAll({ retry_policy: { delays_s: [0, 0] } });
    target.answerWith({ status: 422 });
    expect((await gateway.webhook("orders", "{}")).json).toMatchObject({ status: "queued" });
    await until(async () => (await gateway.deadLetters(`subscription_id=${id}`)).length === 1);
    expect(await gateway.deadLetters(`subscription_id=${id}`)).toMatchObject([
      { dead_reason: "retries_exhausted", attempt_count: 3 },
    ]);
  });

  it("gives up where that is asked for, and tells the sender, who may get an error instead", async () => {
    const { id } = await forwardAll({ give_up_on: [422] });
    const rejected = { status: "rejected_by_target", code: 422, reason: "refused", event_id: expect.any(String) };
    const before = await count('posthorn_forwards_total{outcome="rejected"}');
    target.answerWith({ status: 422 });
    const accepted = await gateway.webhook("orders", "{}");
    expect([accepted.status, accepted.json]).toEqual([202, rejected]);
    const change = { body: '{"on_give_up":"reject"}', headers: { "content-type": "application/json" } };
    await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, change);
    const refused = await gateway.webhook("orders", "{}");
    expect([refused.status, refused.json]).toEqual([502, rejected]);
    await until(async () => (await gateway.deadLetters(`subscription_id=${id}`)).length === 2);
    expect(await count('posthorn_forwards_total{outcome="rejected"}')).toBe(before + 2);
    target.answerWith({ status: 400 });
    expect((await gateway.webhook("orders", "{}")).json).toMatchObject({ status: "queued" });
  });

  it("says so when nothing will be tried again for another reason", async () => {
    await forwardAll({ retry_policy: { delays_s: [] }, timeout: 1 });
    target.answerWith("hang");
    const late = gateway.webhook("orders", "{}");
    await target.received(1);
    gateway.moveClock(1000);
    expect((await late).json).toEqual({
      status: "dead_letter",
      reason: "retries_exhausted",
      event_id: expect.any(String),
    });
  });

  it("goes on after 410, which a proxy in front of the target may answer", async () => {
    const { id } = await forwardAll({ retry_policy: "short" });
    target.answerWith(({ body }, index) => ({ status: body.length > 2 ? 200 : index === 0 ? 410 : 503 }));
    expect((await gateway.webhook("orders", "{}")).json).toMatchObject({ status: "queued" });
    expect((await gateway.webhook("orders", '{"n":2}')).json).toMatchObject({ status: "forwarded" });
    expect((await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"]).toBe("active");
    expect(await gateway.deadLetters(`subscription_id=${id}`)).toEqual([]);
  });

  // shows: B18
  it("answers 202 at once while the target is down, and everything arrives when it is back", async () => {
    await forwardAll({ retry_policy: "short", timeout: 1 });
    const queuedBefore = await count('posthorn_forwards_total{outcome="queued"}');
    target.answerWith({ status: 503 });
    for (let i = 0; i < 3; i++) expect((await gateway.webhook("orders", `{"i":${i}}`)).status).toBe(202);
    await until(async () => (await gateway.get("/status")).json["mode"] === "QUEUE");
    const before = target.requests.length;
    const later = await Promise.all([3, 4, 5].map((i) => gateway.webhook("orders", `{"i":${i}}`)));
    expect(later.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(target.requests).toHaveLength(before);
    expect(await count('posthorn_forwards_total{outcome="queued"}')).toBe(queuedBefore + 6);
    target.answerWith({ status: 200 });
    await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["queue_length"] === 0);
    expect(new Set(target.requests.map(({ body }) => body.toString())).size).toBe(6);
    expect((await gateway.webhook("orders", "{}")).json).toMatchObject({ status: "forwarded" });
  });

  it("lets those go who wait for a target that others have found to be down", async () => {
    await forwardAll({ concurrency: 3 });
    const before = await count("webhook_delivery_total");
    target.answerWith((_, index) => (index < 3 ? { status: 503, delayMs: 100 } : "hang"));
    const answers = await Promise.all([0, 1, 2, 3, 4, 5].map((i) => gateway.webhook("orders", `{"i":${i}}`)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 202]);
    // Others hang still: nobody waited for those.
    expect((await count("webhook_delivery_total")) - before).toBe(3);
  });

  it("forwards many at once, more than go to the target at a time", async () => {
    await forwardAll();
    const answers = await Promise.all(Array.from({ length: 150 }, (_, i) => gateway.webhook("orders", `{"i":${i}}`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(target.requests.map(({ body }) => body.toString())).size).toBe(150);
    expect(target.requests).toHaveLength(150);
  });

  it("answers 202 when the attempt runs out of time, and when the subscription is paused", async () => {
    const { id } = await forwardAll({ timeout: 1 });
    target.answerWith("hang");
    const answer = gateway.webhook("orders", "{}");
    await target.received(1);
    gateway.moveClock(1000);
    expect((await answer).status).toBe(202);
    await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    expect((await gateway.webhook("orders", "{}")).status).toBe(202);
    expect(target.requests).toHaveLength(1);
  });

  it("waits behind others of the same ordering key, and not behind those of another", async () => {
    const { id } = await forwardAll({ ordered: true });
    const second = target.received(2);
    target.answerWith(({ body }) => ({ status: 200, ...(body.toString().includes("slow") && { after: second }) }));
    const send = (key: string, what: string) => gateway.webhook("keyed", JSON.stringify(what), { "x-key": key });
    const slow = send("a", "slow");
    await target.received(1);
    const next = send("a", "next");
    await until(async () => (await gateway.deliveries(`subscription_id=${id}`)).length === 2);
    const answers = await Promise.all([slow, next, send("b", "other")]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(target.requests.map(({ body }) => body.toString())).toEqual(['"slow"', '"other"', '"next"']);
  });

  it("does not wait behind one of the same ordering key that waits for its next try", async () => {
    await forwardAll({ ordered: true });
    target.answerWith(({ body }) => (body.toString().includes("held") ? "hang" : { status: 503 }));
    const send = (key: string, what: string) => gateway.webhook("keyed", JSON.stringify(what), { "x-key": key });
    const ended: string[] = [];
    const held = send("b", "held").then(() => ended.push("held"));
    await target.received(1);
    expect((await send("a", "head")).status).toBe(202);
    expect((await send("a", "next")).status).toBe(202);
    // Whoever began to wait before, for one in flight, still does.
    expect(ended).toEqual([]);
    expect(target.requests).toHaveLength(2);
    gateway.moveClock(30_000);
    await held;
  });

  it("goes on when the sender hangs up", async () => {
    const { id } = await forwardAll();
    target.answerWith({ status: 200, delayMs: 200 });
    const socket = await openRawSocket(gateway.port);
    socket.write("POST /webhook/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}");
    await target.received(1);
    socket.destroy();
    await gateway.settled();
    const [delivery] = await gateway.deliveries(`subscription_id=${id}`);
    expect(delivery).toMatchObject({ status: "delivered", attempt_count: 1 });
    expect((await gateway.webhook("orders", "{}")).status).toBe(200);
  });

  it("answers 202 to those who wait when the gateway stops, and delivers in its time", async () => {
    await forwardAll();
    const waiting = gateway.webhook("orders", "{}");
    target.answerWith({ status: 200, after: waiting });
    await target.received(1);
    await gateway.stop();
    const answer = await waiting;
    expect(answer.status).toBe(202);
    await gateway.restart();
    expect(await gateway.deliveryOf(String(answer.json["event_id"]))).toMatchObject({
      status: "delivered",
      attempt_count: 1,
    });
  });

  it("forwards a duplicate no second time", async () => {
    await forwardAll();
    const first = await gateway.webhook("once", "{}", { "x-id": "1" });
    const second = await gateway.webhook("once", "{}", { "x-id": "1" });
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.json).toEqual({ status: "duplicate", event_id: first.json["event_id"] });
    expect(target.requests).toHaveLength(1);
  });

  it("waits for the older of two that both want it, and delivers to all", async () => {
    const late = await openSinkServer({ answer: "hang" });
    await forwardAll({ events: ["webhook.*"] });
    await gateway.subscribe({ name: "late", url: late.url, events: ["webhook.orders"], mode: "forward" });
    await gateway.subscribe({ name: "queue", url: `${target.url}/queue`, events: ["*"] });
    const answer = await gateway.webhook("orders/sub", "{}");
    expect(answer.json).toMatchObject({ status: "forwarded" });
    expect((await late.received(1))[0]).toMatchObject({ path: "/sub" });
    await target.received(2);
    expect(target.requests.map(({ path }) => path).sort()).toEqual(["/hook/orders/sub", "/queue"]);
    await late.close();
  });

  it("sends published events to the destination itself, and nobody waits for them", async () => {
    await forwardAll();
    const answer = await gateway.publish({ event_type: "a.b", payload: {}, source: "../x" });
    expect(answer.status).toBe(202);
    const [request] = await target.received(1);
    expect(request).toMatchObject({ method: "POST", path: "/hook/..%2Fx" });
    expect(request?.headers).not.toHaveProperty("x-forwarded-for");
  });

  // shows: B42
  it("counts how many were forwarded, and how long that took", async () => {
    await forwardAll();
    const series = ['posthorn_forwards_total{outcome="forwarded"}', "posthorn_forward_latency_seconds_count"];
    const before = await Promise.all(series.map(count));
    await gateway.webhook("orders", "{}");
    expect(await Promise.all(series.map(count))).toEqual(before.map((counted) => counted + 1));
  });

  // shows: B38
  it("hands credentials on that are named, keeps them sealed, and shows them to nobody", async () => {
    const { id } = await forwardAll({
      forward_headers: ["*", "Authorization", "X-Api-Key"],
      retry_policy: { delays_s: [0] },
    });
    target.answerWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    const headers = { authorization: "Bearer canary-8472", "x-api-key": "canary-9931", cookie: "canary-1177" };
    const answer = await gateway.webhook("orders", "{}", headers);
    expect(answer.status).toBe(202);
    await gateway.settled();
    for (const request of await target.received(2)) {
      const { authorization, "x-api-key": key, cookie } = request.headers;
      expect([authorization, key, cookie]).toEqual(["Bearer canary-8472", "canary-9931", undefined]);
    }
    const eventId = String(answer.json["event_id"]);
    const shown = [
      gateway.get(`/api/v1/events/${eventId}`),
      gateway.get(`/api/v1/requests/${eventId.replace("evt_", "req_")}`),
      gateway.get("/api/v1/events/export"),
      gateway.get(`/api/v1/deliveries/${(await gateway.deliveryOf(eventId)).id}`),
      gateway.get(`/api/v1/subscriptions/${id}`),
    ];
    for (const { text, status } of await Promise.all(shown)) {
      expect(status).toBe(200);
      expect(text).not.toMatch(/canary|sealed/);
    }
    await gateway.restart();
    for (const name of ["posthorn.db", "posthorn.db-wal"]) {
      expect(readIfThere(join(gateway.dataDir, name))).not.toContain("canary");
    }
    expect(gateway.logText()).not.toContain("canary");
  });

  it("hands on what the sender signed where that is asked for, and then signs nothing over it", async () => {
    const trio = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    const { id, secret } = await forwardAll({ forward_headers: ["*", ...trio] });
    const body = '{"n":1}';
    const sent = { "webhook-id": "msg_1", "webhook-timestamp": "1700000000", "webhook-signature": "v1,c2lnbmF0dXJl" };
    const answer = await gateway.webhook("orders", body, { ...sent, "x-webhook-signature": "sha256=00" });
    const [first] = await target.received(1);
    expect(first?.headers).toMatchObject({ ...sent, "x-webhook-attempt": "1" });
    expect(first?.rawHeaders.filter((name) => /^webhook-/i.test(name))).toHaveLength(3);
    expect(first?.headers["x-webhook-signature"]).toBe(verifyPlain(secret, Buffer.from(body)));
    await gateway.settled();
    const { attempts } = await gateway.deliveryOf(String(answer.json["event_id"]));
    const shown = attempts[0]?.["request_headers"] as Record<string, string>;
    const ofStandard = Object.entries(shown).filter(([name]) => /^webhook-/i.test(name));
    expect(Object.fromEntries(ofStandard)).toEqual(sent);
    // A sender that signs nothing: nothing claims that it did.
    await gateway.webhook("orders", body);
    expect(trio.map((name) => target.requests.at(-1)?.headers[name])).toEqual([undefined, undefined, undefined]);
    await gateway.publish({ event_type: "webhook.orders", payload: {} });
    expect((await target.received(3)).at(-1)?.headers["webhook-id"]).toMatch(/^evt_/);
    const change = { forward_headers: ["X-Webhook-Signature", "X-Webhook-Timestamp"] };
    const headers = { "content-type": "application/json" };
    await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, { body: JSON.stringify(change), headers });
    const own = { "x-webhook-signature": "sha256=ab", "x-webhook-timestamp": "1700000001" };
    const next = await gateway.webhook("orders", body, { ...own, ...sent, "webhook-id": "msg_2" });
    expect(target.requests.at(-1)?.headers).toMatchObject({ ...own, "webhook-id": next.json["event_id"] });
    expect(target.requests.at(-1)?.headers["webhook-signature"]).not.toBe(sent["webhook-signature"]);
  });

  it("never lets a sender choose another host or leave the target's path", async () => {
    await forwardAll({ url: `${target.url}/hook` });
    const paths = [
      ["/webhook/o/../../rest", "/hook/rest"],
      ["/webhook/o//evil.example/x", "/hook//evil.example/x"],
      ["/webhook/o/%2e%2e/%2E./rest", "/hook/rest"],
      ["/webhook/o/..%2f..%2frest", "/hook/..%252f..%252frest"],
      ["/webhook/o/a%2fb", "/hook/a%2fb"],
      ["/webhook/o/@evil.example", "/hook/@evil.example"],
      ["/webhook/o/\\evil.example", "/hook/%5Cevil.example"],
      ["/webhook/o/%0d%0aX-Evil:1", "/hook/%0d%0aX-Evil:1"],
      ["/webhook/o/x?a=%0d%0a&b=//evil", "/hook/x?a=%0d%0a&b=//evil"],
      ["/webhook/o/..", "/hook/"],
    ] as const;
    const socket = await openRawSocket(gateway.port);
    for (const [sent, forwarded] of paths) {
      socket.write(`POST ${sent} HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 2\r\n\r\n{}`);
      const { status } = await socket.answer();
      expect([sent, status, target.requests.at(-1)?.path]).toEqual([sent, 200, forwarded]);
      expect(target.requests.at(-1)?.headers["host"]).toBe(`127.0.0.1:${target.port}`);
    }
    socket.destroy();
  });
});

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
