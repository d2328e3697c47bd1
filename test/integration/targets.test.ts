import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { checkOwnEvent } from "../support/own-event-document.ts";
import { openSinkServer, type SinkAnswer, type SinkRequest, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const OK: SinkAnswer = { status: 200, body: '{"status":"ok"}' };

/** A destination whose health and answers are set apart. */
interface FarEnd {
  sink: SinkServer;
  health: SinkAnswer;
  answer: SinkAnswer | ((request: SinkRequest) => SinkAnswer);
  checks: () => number;
  posts: () => readonly SinkRequest[];
}

async function openFarEnd(): Promise<FarEnd> {
  const sink = await openSinkServer();
  const far: FarEnd = {
    sink,
    health: OK,
    answer: OK,
    checks: () => sink.requests.filter(({ method }) => method === "GET").length,
    posts: () => sink.requests.filter(({ method }) => method === "POST"),
  };
  sink.answerWith((request) => {
    if (request.method === "GET") return far.health;
    return typeof far.answer === "function" ? far.answer(request) : far.answer;
  });
  onTestFinished(() => sink.close());
  return far;
}

async function openGateway(yaml = ""): Promise<TestGateway> {
  const gateway = await startTestGateway({ yaml });
  onTestFinished(() => gateway.close());
  return gateway;
}

function shared(url: string, more = ""): string {
  return `
targets:
  - name: home
    health_url: ${url}/healthz
    health_interval_s: 1
${more}
subscriptions:
  - { name: orders, url: "${url}/orders", target: home, events: [webhook.orders], retry_policy: short }
  - { name: leads, url: "${url}/leads", target: home, events: [webhook.leads], retry_policy: short }
`;
}

interface ShownTarget extends Record<string, unknown> {
  name: string;
  mode: string;
}

async function target(gateway: TestGateway, name: string): Promise<ShownTarget> {
  return (await gateway.get(`/api/v1/targets/${encodeURIComponent(name)}`)).json as ShownTarget;
}

const reaches = (gateway: TestGateway, name: string, mode: string) =>
  gateway.moveClockUntil(async () => (await target(gateway, name)).mode === mode, { what: `${name} in ${mode}` });

const setMode = (gateway: TestGateway, name: string, mode: string) =>
  gateway.post(`/api/v1/targets/${encodeURIComponent(name)}/mode`, { mode });

describe("a target that two subscriptions share", () => {
  // shows: B6
  it("is in QUEUE for both when its health is bad, over a restart, and both get all when it is back", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway(shared(far.sink.url));
    await gateway.moveClockUntil(() => far.checks() > 0);
    far.health = { status: 503, body: '{"status":"error"}' };
    await reaches(gateway, "home", "QUEUE");
    for (let n = 0; n < 50; n++) {
      expect((await gateway.webhook("orders", `{"n":${n}}`)).status).toBe(202);
      expect((await gateway.webhook("leads", `{"n":${n}}`)).status).toBe(202);
    }
    expect(far.posts()).toEqual([]);
    const down = await target(gateway, "home");
    expect(down).toMatchObject({
      shared: true,
      health: "error",
      forced: null,
      reason: "health check: answered 503",
      queue_length: 100,
      health_url: `${far.sink.url}/healthz`,
    });
    expect((await gateway.get("/status")).json).toMatchObject({
      mode: "QUEUE",
      health: "error",
      queue_length: 100,
      targets: [{ name: "home", mode: "QUEUE", queue_length: 100, since: down["since"], reason: down["reason"] }],
    });
    const { text } = await gateway.get("/metrics");
    expect(text).toContain('posthorn_target_queue_mode{tenant_id="default",target="home"} 1');
    expect(text).toContain('posthorn_target_healthy{tenant_id="default",target="home"} 0');
    expect(text).toContain('posthorn_mode_changes_total{tenant_id="default",target="home",mode="QUEUE"} 1');

    await gateway.restart();
    expect(await target(gateway, "home")).toMatchObject({ mode: "QUEUE", since: down["since"] });
    far.health = OK;
    await reaches(gateway, "home", "NORMAL");
    await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["queue_length"] === 0);
    for (const path of ["/orders", "/leads"]) {
      const bodies = far.posts().filter((request) => request.path === path);
      expect(new Set(bodies.map(({ body }) => body.toString())).size).toBe(50);
      expect(bodies).toHaveLength(50);
    }
    const told = async () =>
      ((await gateway.get("/api/v1/events?event_type=gateway.mode_changed")).json["data"] as { event_id: string }[])
        .map(({ event_id }) => event_id)
        .toReversed();
    // The event is written after the mode has changed, so the mode may be seen before it.
    await until(async () => (await told()).length === 2);
    const ids = await told();
    const payloads = await Promise.all(ids.map(async (id) => (await gateway.event(id))["payload"]));
    for (const payload of payloads) expect(checkOwnEvent("gateway.mode_changed", payload)).toBeUndefined();
    expect(payloads).toMatchObject([
      { target: "home", mode: "QUEUE", previous_mode: "NORMAL", webhook_id: null, url_host: null, forced: false },
      { target: "home", mode: "NORMAL", previous_mode: "QUEUE", reason: expect.stringContaining("3 times in a row") },
    ]);
  });

  it("keeps what an operator said over a restart, and gives way to auto", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway(shared(far.sink.url));
    expect((await setMode(gateway, "home", "QUEUE")).json).toMatchObject({ mode: "QUEUE", forced: "QUEUE" });
    await gateway.webhook("orders", "{}");
    await gateway.restart();
    const checks = far.checks();
    await gateway.moveClockUntil(() => far.checks() > checks + 5);
    expect(await target(gateway, "home")).toMatchObject({
      mode: "QUEUE",
      forced: "QUEUE",
      health: "ok",
      reason: "set by an operator",
    });
    expect(far.posts()).toEqual([]);
    expect((await gateway.deliveries("status=pending")).map(({ hold_reason }) => hold_reason)).toEqual(["queue_mode"]);
    expect((await setMode(gateway, "home", "auto")).json).toMatchObject({ mode: "NORMAL", forced: null });
    await gateway.settled();
    expect(far.posts()).toHaveLength(1);

    await setMode(gateway, "home", "NORMAL");
    far.health = { status: 500 };
    await gateway.moveClockUntil(async () => Number((await target(gateway, "home"))["failures"]) > 5);
    expect(await target(gateway, "home")).toMatchObject({ mode: "NORMAL", forced: "NORMAL", health: "error" });
    expect((await gateway.get("/status")).json).toMatchObject({ mode: "NORMAL", health: "error" });
    await setMode(gateway, "home", "auto");
    await reaches(gateway, "home", "QUEUE");
  });

  it("drains one subscription in QUEUE when it is asked to, and only that one", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway(shared(far.sink.url));
    await setMode(gateway, "home", "QUEUE");
    await gateway.webhook("orders", "{}");
    await gateway.webhook("leads", "{}");
    const { json } = await gateway.get("/api/v1/subscriptions");
    const [orders] = json["data"] as { id: string; name: string }[];
    const drained = await gateway.post(`/api/v1/subscriptions/${orders?.id}/drain`);
    expect(drained).toMatchObject({ status: 202, json: { target: "home", mode: "QUEUE", waiting: 1 } });
    await until(() => far.posts().length === 1);
    expect(far.posts()[0]?.path).toBe("/orders");
    await until(async () => (await target(gateway, "home"))["queue_length"] === 1);
    expect(await target(gateway, "home")).toMatchObject({ mode: "QUEUE", forced: "QUEUE" });
    await gateway.post(`/api/v1/subscriptions/${orders?.id}/pause`);
    expect(await gateway.post(`/api/v1/subscriptions/${orders?.id}/drain`)).toMatchObject({
      status: 409,
      json: { code: "conflict" },
    });
  });

  it("takes over other rules with a reload, and stays for those who name it when it leaves the file", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway(shared(far.sink.url));
    await gateway.subscribe({ name: "by api", url: `${far.sink.url}/api`, target: "home", events: ["webhook.api"] });
    await gateway.reload(shared(far.sink.url, "    batch_size: 4\n    failures_to_open: 7\n"));
    expect(await target(gateway, "home")).toMatchObject({ batch_size: 4, failures_to_open: 7 });
    await gateway.reload("");
    expect(await target(gateway, "home")).toMatchObject({ batch_size: 4 });
    expect(gateway.log.map(({ msg }) => msg)).toContain(
      "target left the configuration and stays unchanged for subscriptions that name it",
    );
    const checks = far.checks();
    await gateway.moveClockUntil(() => far.checks() > checks + 3);
  });
});

describe("a subscription with a health check of its own", () => {
  let strict: TestGateway;
  beforeAll(async () => {
    strict = await startTestGateway({ yaml: 'targets: [{ name: home, health_url: "https://example.com/" }]' });
  });
  afterAll(() => strict.close());

  it("is checked through the same guard as its deliveries, and its name is the target's", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway();
    const { id } = await gateway.subscribe({
      name: "shop",
      url: `${far.sink.url}/hook`,
      health_url: `${far.sink.url}/health?from=posthorn`,
    });
    await until(() => far.checks() === 1);
    const [check] = far.sink.requests;
    expect(check).toMatchObject({ method: "GET", path: "/health?from=posthorn" });
    expect(check?.headers["user-agent"]).toMatch(/^Posthorn\//);
    const byId = (await gateway.get(`/api/v1/targets/${id}`)).json;
    expect(byId).toMatchObject({ name: "shop", shared: false, subscriptions: [id], health_interval_s: 60 });
    await until(async () => (await target(gateway, "shop"))["checked_at"] !== null);
    expect(await target(gateway, "shop")).toMatchObject({ health: "ok", mode: "NORMAL", since: null });
    expect((await gateway.get("/api/v1/targets?limit=1")).json).toMatchObject({
      data: [{ name: "shop" }],
      next_cursor: null,
    });
  });

  it.each([
    [{ target: "nowhere" }, "target"],
    [{ target: "" }, "target"],
    [{ target: 7 }, "target"],
    [{ target: "a\u0000b" }, "target"],
    [{ health_url: "ftp://example.com/" }, "health_url"],
    [{ health_url: "https://user:secret@example.com/" }, "health_url"],
    [{ target: "home", health_url: "https://example.com/health" }, "health_url"],
    [{ target: "n8n", headers: { "User-Agent": "my-bot" } }, "headers.User-Agent"],
  ])("is rejected with %j, and nothing is stored", async (wrong, field) => {
    const body = { name: "wrong", url: "https://example.com/hook", events: ["*"], ...wrong };
    expect(await strict.post("/api/v1/subscriptions", body)).toMatchObject({
      status: 422,
      json: { code: "invalid_field", field },
    });
    expect((await strict.get("/api/v1/subscriptions")).json["data"]).toEqual([]);
  });

  it("is not found by others, and a mode that is none is rejected", async () => {
    const gateway = await openGateway();
    await gateway.subscribe({ name: "mine", tenant_id: "a", url: "https://example.com/" });
    await gateway.subscribe({ name: "mine", tenant_id: "b", url: "https://example.com/" });
    const stranger = gateway.as(await gateway.createKey(["admin"], "c"));
    expect((await stranger.get("/api/v1/targets/mine")).status).toBe(404);
    expect((await stranger.post("/api/v1/targets/mine/mode", { mode: "QUEUE" })).status).toBe(404);
    expect((await gateway.get("/api/v1/targets/mine")).json).toMatchObject({ status: 409, code: "conflict" });
    expect((await gateway.get("/api/v1/targets/mine?tenant_id=b")).json).toMatchObject({ tenant_id: "b" });
    const owner = gateway.as(await gateway.createKey(["admin"], "a"));
    expect((await owner.post("/api/v1/targets/mine/mode", { mode: "SLEEP" })).json).toMatchObject({
      status: 422,
      field: "mode",
    });
    expect((await owner.post("/api/v1/targets/mine/mode", { mode: "QUEUE" })).status).toBe(200);
    expect((await gateway.get("/api/v1/targets/mine?tenant_id=b")).json).toMatchObject({ mode: "NORMAL" });
  });
});

describe("n8n", () => {
  const boots = (url: string) => `
targets:
  - { name: n8n-home, preset: n8n, url: "${url}", health_interval_s: 0.1, idle_wait_s: 0.2, max_bytes: 2000 }
subscriptions:
  - name: workflow
    url: ${url}/webhook/x
    target: n8n-home
    events: ["#"]
    retry_policy: { delays_s: [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2] }
`;

  it("gets all that came while it was down and started, by its own health paths", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway(boots(far.sink.url));
    far.health = "reset";
    far.answer = "reset";
    await reaches(gateway, "n8n-home", "QUEUE");
    for (let n = 0; n < 20; n++) await gateway.webhook("x", `{"n":${n}}`);
    // As it starts: a 200 that is none, unknown paths, and then it works.
    const seen: string[] = [];
    far.answer = () => {
      seen.push("starting");
      if (seen.length <= 2) return { status: 200, body: "n8n is starting up. Please wait" };
      if (seen.length <= 4) return { status: 404, body: "Cannot POST /webhook/x" };
      return { status: 200, body: '{"message":"Workflow was started"}' };
    };
    far.health = OK;
    await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["queue_length"] === 0);
    await reaches(gateway, "n8n-home", "NORMAL");
    expect(far.posts().length).toBeGreaterThanOrEqual(24);
    expect((await gateway.get("/api/v1/dead-letters")).json["data"]).toEqual([]);
    const paths = new Set(far.sink.requests.filter(({ method }) => method === "GET").map(({ path }) => path));
    expect([...paths]).toEqual(["/healthz/readiness"]);
  });

  it("is asked at /healthz where it does not know the other path", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway(boots(far.sink.url));
    far.sink.answerWith(({ path }) => (path === "/healthz" ? OK : { status: 404 }));
    await until(() => far.sink.requests.some(({ path }) => path === "/healthz"));
    await until(async () => (await target(gateway, "n8n-home"))["checked_at"] !== null);
    expect(await target(gateway, "n8n-home")).toMatchObject({ health: "ok", last_error: null });
  });

  it("is sent no body that it cannot take, and JSON only as what it reads", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway(boots(far.sink.url));
    const large = await gateway.webhook("x", JSON.stringify({ text: "x".repeat(2000) }));
    await gateway.settled();
    const dead = await gateway.deliveryOf(String(large.json["event_id"]));
    expect(dead).toMatchObject({ status: "dead", dead_reason: "too_large", attempt_count: 1 });
    expect(dead.attempts[0]).toMatchObject({ result: "blocked", response_code: null });
    expect(far.posts()).toEqual([]);
    const json = "application/cloudevents+json; charset=utf-8";
    await gateway.webhook("x", '{"a":1}', { "content-type": json });
    await gateway.webhook("x", "<a/>", { "content-type": "application/xml" });
    await gateway.settled();
    const types = new Set(far.posts().map(({ headers }) => headers["content-type"]));
    expect(types).toEqual(new Set(["application/json", "application/xml"]));
  });

  // shows: B35
  it("is retried by the policy for proxies unless the subscription says otherwise", async () => {
    const gateway = await openGateway();
    const url = "https://example.com/webhook/x";
    const made = await gateway.subscribe({ name: "a", url, target: "n8n" });
    expect(made).toMatchObject({ target: "n8n", health_url: null, retry_policy: "short" });
    expect(await target(gateway, "a")).toMatchObject({ health_url: "https://example.com/healthz/readiness" });
    const own = { retry_policy: "few", health_url: "https://example.com/up" };
    expect(await gateway.subscribe({ name: "b", url, target: "n8n", ...own })).toMatchObject(own);
    expect(await target(gateway, "b")).toMatchObject({ health_url: "https://example.com/up" });
  });
});

describe("how things are", () => {
  it("is said in the same word by the subscription, its target and the status", async () => {
    const far = await openFarEnd();
    const gateway = await openGateway();
    const { id } = await gateway.subscribe({ name: "erp", url: far.sink.url, events: ["a.b"], suspend_after_s: 600 });
    const publish = () => gateway.publish({ event_type: "a.b", payload: {} });
    const words = async () => {
      const { json } = await gateway.get("/status");
      const [listed] = json["targets"] as { condition: string }[];
      return [
        (await gateway.get(`/api/v1/subscriptions/${id}`)).json["condition"],
        (await target(gateway, id))["condition"],
        listed?.condition,
        json["condition"],
      ];
    };
    expect(await words()).toEqual(Array(4).fill("healthy"));
    far.answer = { status: 503 };
    await publish();
    await until(async () => (await words())[0] === "failing");
    expect(await words()).toEqual(Array(4).fill("failing"));
    await reaches(gateway, id, "QUEUE");
    expect(await words()).toEqual(Array(4).fill("down"));
    await gateway.moveClockUntil(async () => (await words())[0] === "suspended", { seconds: 20 });
    expect(await words()).toEqual(Array(4).fill("suspended"));
    await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    // What somebody has paused is no trouble of the gateway.
    expect(await words()).toEqual(["paused", "paused", "paused", "healthy"]);
  });
});
