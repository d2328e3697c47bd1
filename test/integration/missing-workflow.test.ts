import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openCommandLine } from "../support/cli.ts";
import { openN8nServer, type N8nServer } from "../support/n8n-server.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SOURCES = `
sources:
  - { name: orders, ordering_key_from: "header:X-Key" }
  - { name: payments, ordering_key_from: "header:X-Key" }
`;
/** More than suspend a subscription. */
const MANY = 12;

describe("n8n with a workflow that is not active", () => {
  let gateway: TestGateway;
  let n8n: N8nServer;

  beforeAll(async () => {
    n8n = await openN8nServer({ webhooks: ["payments"] });
    await n8n.enter("ready");
    gateway = await startTestGateway({ yaml: SOURCES });
    const url = `${n8n.url}/webhook/{source}`;
    const settings = { mode: "forward", target: "n8n", ordered: true, on_dead_head: "block", events: ["webhook.*"] };
    await gateway.subscribe({ name: "n8n", url, ...settings });
  });
  afterAll(() => Promise.all([gateway.close(), n8n.close()]));

  const send = (source: string, key: string, n: number) =>
    gateway.webhook(source, JSON.stringify({ key, n }), { "x-key": key });
  /** Of the gateway, the target and the subscription. */
  async function conditions() {
    const { json: status } = await gateway.get("/status");
    const { json: subscriptions } = await gateway.get("/api/v1/subscriptions");
    const all = [[status], status["targets"], subscriptions["data"]] as { condition: string }[][];
    return all.flat().map(({ condition }) => condition);
  }
  const ran = (path: string) => n8n.executions.filter((one) => one.path === path).map(({ body }) => body);

  it("keeps what it does not know, and lets all others through", async () => {
    for (let n = 0; n < MANY; n++) {
      expect((await send("orders", `order ${n}`, 1)).status).toBe(202);
      expect((await send("payments", `payment ${n}`, 1)).json).toMatchObject({ status: "forwarded" });
    }
    // Behind one that waits, nobody waits.
    expect((await send("orders", "order 0", 2)).status).toBe(202);
    expect(ran("payments")).toHaveLength(MANY);
    const { json } = await gateway.get("/status");
    expect(json).toMatchObject({ mode: "NORMAL", health: "ok", queue_length: MANY + 1 });
    expect(json["targets"]).toMatchObject([{ name: "n8n", mode: "NORMAL", failures: 0 }]);
    const missing = json["missing_sources"] as { since: string; next_try_at: string }[];
    expect(missing).toMatchObject([
      { source: "orders", subscription: "n8n", last_error: expect.stringContaining("404") },
    ]);
    expect(missing[0]?.next_try_at.localeCompare(missing[0].since)).toBe(1);
    const { json: subscriptions } = await gateway.get("/api/v1/subscriptions");
    expect(subscriptions["data"]).toMatchObject([{ status: "active" }]);
  });

  it("says in one word and in one line for each source that not everything is delivered", async () => {
    expect(await conditions()).toEqual(["failing", "failing", "failing"]);
    const cli = await openCommandLine(gateway);
    try {
      const { exitCode, stdout } = await cli.run(["status"]);
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^health +failing$/m);
      expect(stdout).toMatch(
        /^source orders is unknown to the target of n8n \(since (\d+[smhd] ago|now), next try (in \d+[smhd]|now)\): .*404/m,
      );
      expect(stdout).not.toContain("source payments");
    } finally {
      await cli.remove();
    }
  });

  it("gets all of it, each key in its order, once something of that source is taken", async () => {
    n8n.setActive("orders", true);
    expect((await send("orders", "order new", 1)).json).toMatchObject({ status: "forwarded" });
    await until(() => ran("orders").length === MANY + 2);
    expect(ran("orders").filter((body) => (body as { key: string }).key === "order 0")).toEqual([
      { key: "order 0", n: 1 },
      { key: "order 0", n: 2 },
    ]);
    const { json } = await gateway.get("/status");
    expect(json["missing_sources"]).toEqual([]);
    expect(await conditions()).toEqual(["healthy", "healthy", "healthy"]);
  });
});

it("n8n behind a tunnel that has no route to it is away, and no workflow is missed", async () => {
  const [gateway, tunnel] = await Promise.all([startTestGateway(), openSinkServer({ answer: { status: 404 } })]);
  try {
    await gateway.subscribe({ name: "n8n", url: `${tunnel.url}/webhook/{source}`, mode: "forward", target: "n8n" });
    for (let n = 0; n < 3; n++)
      expect((await gateway.webhook("orders", "{}")).json).toMatchObject({ status: "queued" });
    const status = async () => (await gateway.get("/status")).json;
    await gateway.moveClockUntil(async () => (await status())["mode"] === "QUEUE");
    expect(await status()).toMatchObject({ health: "error", missing_sources: [] });
    const attempts = (await gateway.deliveries()).map(({ attempt_count: count }) => count);
    gateway.moveClock(300_000);
    tunnel.answerWith({ status: 200, body: '{"status":"ok"}' });
    await gateway.moveClockUntil(async () => (await status())["queue_length"] === 0);
    // Five attempts 30 s apart would have been over long ago.
    expect((await gateway.deliveries()).map(({ attempt_count: count }) => count)).toEqual(attempts.map((n) => n + 1));
  } finally {
    await Promise.all([gateway.close(), tunnel.close()]);
  }
});
