import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PATIENCE_MS, until } from "../support/api-client.ts";
import { openCommandLine } from "../support/cli.ts";
import { openRawSocket } from "../support/raw-socket.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("operating the gateway", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    await gateway.subscribe({ name: "all", url: sink.url, retry_policy: { delays_s: [600] } });
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  // shows: B30
  it("says that it lives and is ready to anybody", async () => {
    const nobody = gateway.as(undefined);
    expect((await nobody.get("/health")).json).toEqual({ status: "ok" });
    expect((await nobody.get("/livez")).status).toBe(200);
    const ready = await nobody.get("/readyz");
    expect(ready.status).toBe(200);
    expect(ready.json).toMatchObject({
      status: "ok",
      store: { driver: "sqlite", sync_mode: "FULL", version: expect.stringMatching(/^3\.\d+/) },
      queue: { driver: "local" },
      disk: { status: "ok", free_bytes: null },
    });
    // How much is free is for operators alone.
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    for (const client of [bound, gateway.as("phk_wrong")]) {
      expect((await client.get("/readyz")).json["disk"]).toEqual({ status: "ok", free_bytes: null });
    }
    expect((await gateway.get("/readyz")).json["disk"]).toEqual({ status: "ok", free_bytes: expect.any(Number) });
  });

  // shows: B41
  it("shows how each target is, and QUEUE while one is down", async () => {
    expect((await gateway.get("/status")).json).toMatchObject({
      mode: "NORMAL",
      queue_length: 0,
      health: "ok",
      last_error: null,
    });
    sink.answerWith({ status: 503 });
    for (let n = 0; n < 5; n++) await gateway.webhook("down", `{"n":${n}}`);
    await until(async () => (await gateway.get("/status")).json["mode"] === "QUEUE");
    const { json } = await gateway.get("/status");
    expect(json).toMatchObject({ mode: "QUEUE", queue_length: 5, health: "error", last_error: "answered 503" });
    expect(json["targets"]).toEqual([
      expect.objectContaining({
        name: "all",
        mode: "QUEUE",
        health: "error",
        queue_length: 5,
        since: expect.any(String),
      }),
    ]);
    expect((await gateway.deliveries("status=pending")).map(({ hold_reason }) => hold_reason)).toContain(
      "destination_down",
    );
    expect(gateway.log.map(({ msg }) => msg)).toContain("destination is down, queueing");
  });

  // shows: B42, B45
  it("counts in Prometheus' text form, by the seeds' names", async () => {
    const { text, headers } = await gateway.get("/metrics");
    expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    for (const name of [
      "webhook_delivery_total",
      "webhook_delivery_success",
      "webhook_delivery_latency_seconds_bucket",
      "webhook_retry_total",
      "webhook_active_subscriptions 1",
      "dlq_messages 0",
      "posthorn_open_deliveries 5",
      "posthorn_conservation_imbalance 0",
      "posthorn_destinations_down 1",
    ]) {
      expect([name, text.includes(name)]).toEqual([name, true]);
    }
  });

  it("remembers over a restart that a target is down", async () => {
    await gateway.restart();
    await expect.poll(async () => (await gateway.get("/status")).json["mode"]).toBe("QUEUE");
  });

  it("shows connections to brokers, and opens none before it is used", async () => {
    const secret = "amqp://guest:pass-of-broker@127.0.0.1:1/";
    const connected = await startTestGateway({ env: { AMQP_URL: secret } });
    const place = { kind: "amqp", name: "default", state: "unused" };
    expect((await connected.get("/readyz")).json).toMatchObject({ status: "ok", connections: [place] });
    const status = await connected.get("/status");
    expect(status.json).toMatchObject({
      health: "ok",
      connections: [{ ...place, reason: null, next_try_at: null }],
    });
    expect(status.text).not.toContain("pass-of-broker");
    const bound = connected.as(await connected.createKey(["read"], "acme"));
    expect((await bound.get("/status")).json).toMatchObject({ connections: [] });
    // Whoever alerts on 0 is not called for a connection that nobody uses.
    const scrape = async () => (await connected.get("/metrics")).text;
    expect(await scrape()).not.toContain("posthorn_broker_connected{");
    const toBroker = { name: "to the broker", events: ["order.*"], kind: "amqp", destination: { queue: "orders" } };
    expect((await connected.post("/api/v1/subscriptions", toBroker)).status).toBe(201);
    await connected.publish({ event_type: "order.created", payload: {} });
    await until(async () => (await scrape()).includes('posthorn_broker_connected{kind="amqp",connection="default"} 0'));
    await connected.close();
  });

  it("opens status and metrics without a key only where it is told to", async () => {
    const open = await startTestGateway({ env: { STATUS_PUBLIC: true, METRICS_PUBLIC: true } });
    const nobody = open.as(undefined);
    expect([(await nobody.get("/status")).status, (await nobody.get("/metrics")).status]).toEqual([200, 200]);
    expect((await nobody.get("/api/v1/events")).status).toBe(401);
    await open.close();
  });

  it("finds a key that was made on the data directory while it runs", async () => {
    const cli = await openCommandLine();
    onTestFinished(() => cli.remove());
    const made = await cli.run(["keys", "create", "--local", "--data-dir", gateway.dataDir, "--scope", "read"]);
    expect(made).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^phk_\S+\n$/) });
    const key = made.stdout.trim();
    await until(async () => (await gateway.as(key).get("/status")).status !== 401);
    expect((await gateway.as(key).get("/status")).status).toBe(200);
    expect((await gateway.as(key).post("/api/v1/subscriptions", {})).status).toBe(403);
  });

  it("answers 503 with Retry-After, not ready and then nothing, while it shuts down", async () => {
    const closing = await startTestGateway({ httpCloseMs: PATIENCE_MS });
    const sockets = await Promise.all(Array.from({ length: 3 }, () => openRawSocket(closing.port)));
    const [hook, publisher, probe] = sockets;
    hook?.write("POST /webhook/late HTTP/1.1\r\nhost: a\r\n");
    publisher?.write("POST /api/v1/events HTTP/1.1\r\nhost: a\r\nauthorization: Bearer test-admin-key-0123456789\r\n");
    probe?.write("GET /readyz HTTP/1.1\r\nhost: a\r\n");
    await until(async () => (await closing.get("/health")).status === 200);
    const stopped = closing.stop();
    await until(() =>
      closing.get("/health").then(
        () => false,
        () => true,
      ),
    );
    hook?.write("content-length: 2\r\n\r\n{}");
    publisher?.write("content-length: 2\r\n\r\n{}");
    probe?.write("\r\n");
    for (const socket of [hook, publisher]) {
      const answer = await socket?.answer();
      expect([answer?.status, answer?.json["code"]]).toEqual([503, "shutting_down"]);
      expect(Number(answer?.headers["retry-after"])).toBeGreaterThan(0);
    }
    const ready = await probe?.answer();
    expect([ready?.status, ready?.json["status"]]).toEqual([503, "stopping"]);
    await stopped;
    await closing.close();
  });

  it("takes events until its deliveries have drained, and loses none of them", async () => {
    let release: () => void = () => undefined;
    const after = new Promise<void>((resolve) => (release = resolve));
    const slow = await openSinkServer({ answer: { status: 200, after } });
    const closing = await startTestGateway();
    await closing.subscribe({ name: "slow", url: slow.url });
    await closing.webhook("last", '{"n":1}');
    await slow.received(1);
    const stopped = closing.stop();
    const during = await closing.webhook("last", '{"n":2}');
    expect(during.status).toBe(202);
    release();
    await stopped;
    await closing.restart();
    await slow.received(2);
    await closing.settled();
    expect(slow.requests.map(({ body }) => body.toString())).toEqual(['{"n":1}', '{"n":2}']);
    expect(closing.log.map(({ msg }) => msg)).not.toContain("deliveries were interrupted, going on");
    await Promise.all([closing.close(), slow.close()]);
  });

  it("makes an admin key at the first start, once", async () => {
    // Without one in the environment: the test's own key is none of the gateway's then.
    const { startGateway } = await import("../../src/gateway.ts");
    const { loadConfig } = await import("../../src/config/load.ts");
    const { createLogger } = await import("../../src/telemetry/logger.ts");
    const { mkdtempSync, readFileSync, readdirSync, rmSync } = await import("node:fs");
    const cwd = mkdtempSync("/tmp/posthorn-first-");
    const logger = createLogger({
      level: "info",
      maxBytes: 1e6,
      keep: 1,
      pretty: false,
      stdout: { write: () => true },
    });
    const { config } = loadConfig({ env: { POSTHORN_PORT: "0", POSTHORN_BALLAST_BYTES: "0" }, cwd });
    const options = { logger, onFatal: () => {} };
    const first = await startGateway(config, options);
    const key = first.newAdminKey?.key ?? "";
    expect(key).toMatch(/^phk_.{40,}/);
    const authorized = await fetch(`${first.url}/status`, { headers: { authorization: `Bearer ${key}` } });
    expect(authorized.status).toBe(200);
    await authorized.text();
    const { token = "" } = /#token=(?<token>.+)$/.exec(first.newAdminKey?.signInUrl ?? "")?.groups ?? {};
    const signIn = async () => {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${first.url}/api/v1/session`, {
        method: "POST",
        body: JSON.stringify({ token }),
        headers,
      });
      await answer.text();
      return answer.status;
    };
    // Of two at once one gets in, and later nobody.
    expect((await Promise.all([signIn(), signIn()])).sort()).toEqual([201, 401]);
    expect(await signIn()).toBe(401);
    await first.stop();
    const second = await startGateway(config, options);
    expect(second.newAdminKey).toBeUndefined();
    await second.stop();
    for (const name of readdirSync(config.dataDir)) {
      expect([name, readFileSync(`${config.dataDir}/${name}`).includes(key)]).toEqual([name, false]);
      expect([name, readFileSync(`${config.dataDir}/${name}`).includes(token)]).toEqual([name, false]);
    }
    logger.close();
    rmSync(cwd, { recursive: true, force: true });
  });
});
