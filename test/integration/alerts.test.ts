import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { EXAMPLE } from "../../src/api/openapi/examples.ts";
import { until } from "../support/api-client.ts";
import { startExampleQueue } from "../support/example-queue.ts";
import { openSinkServer, type SinkRequest, type SinkServer } from "../support/sink-server.ts";
import { ALERTING, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { verifyStandard } from "../support/verify-signature.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

let gateway: TestGateway;
let ops: SinkServer;
let bad: SinkServer;

const yamlOf = (channels: string, rules = "") => `alerts:\n  rules: [${rules}]\n  channels: [${channels}]`;
const opsChannel = (more = "") => `{ name: ops, url: "${ops.url}"${more} }`;

beforeAll(async () => {
  [ops, bad] = await Promise.all([openSinkServer(), openSinkServer({ answer: { status: 400 } })]);
  gateway = await startTestGateway({ yaml: yamlOf(opsChannel()), env: ALERTING });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([ops.close(), bad.close()]);
});

interface ShownAlert {
  id: string;
  rule: string;
  status: string;
  tenant_id: string | null;
  count: number;
  causes: { cause: string; tenant_id: string | null; name: string }[];
  told: { event_id: string; delivered: number; dead: number; open: number }[];
}

async function alertsOf(client: Pick<TestGateway, "get">, query = ""): Promise<ShownAlert[]> {
  return (await client.get(`/api/v1/alerts?${query}`)).json["data"] as ShownAlert[];
}

function read(request: SinkRequest | undefined) {
  return JSON.parse(request?.body.toString() ?? "{}") as { event: string; data: Record<string, unknown> };
}

describe("an alert", () => {
  it("goes to its channel over HTTP, signed, and is listed, shown, counted and acknowledged", async () => {
    await gateway.subscribe({ name: "partner", url: bad.url, events: ["order.paid"], tenant_id: "acme" });
    await gateway.publish({ event_type: "order.paid", payload: {}, tenant_id: "acme" });
    await gateway.moveClockUntil(() => ops.requests.length > 0);
    const [request] = ops.requests;
    expect(read(request)).toMatchObject({
      event: "alert.fired",
      data: {
        rule: "dead_letters",
        severity: "warning",
        count: 1,
        summary: "Deliveries have become dead letters: partner",
        causes: [{ name: "partner", tenant_id: "acme", value: 1 }],
      },
    });
    const { json } = await gateway.get("/api/v1/subscriptions?tenant_id=_gateway");
    const [channel] = json["data"] as { id: string; name: string; managed_by: string }[];
    expect(channel).toMatchObject({ name: "alerts: ops", managed_by: "config" });
    const secret = String((await gateway.get(`/api/v1/subscriptions/${channel?.id}/secret`)).json["secret"]);
    const headers = request?.headers as Record<string, string>;
    const { "webhook-id": id = "", "webhook-timestamp": timestamp = "" } = headers;
    const signature = verifyStandard(secret, id, timestamp, request?.body ?? new Uint8Array());
    expect(headers["webhook-signature"]?.split(" ")).toContain(signature);

    const [alert] = await alertsOf(gateway, "status=active");
    expect(alert).toMatchObject({
      id: read(request).data["alert_id"],
      rule: "dead_letters",
      tenant_id: null,
      count: 1,
    });
    await until(async () => (await alertsOf(gateway))[0]?.told[0]?.delivered === 1);
    expect((await gateway.get("/status")).json["active_alerts"]).toBe(1);
    expect((await gateway.get("/metrics")).text).toContain(
      'posthorn_alerts_active{rule="dead_letters",severity="warning"} 1',
    );
    const acknowledged = await gateway.post(`/api/v1/alerts/${alert?.id}/acknowledge`, { note: "on it" });
    expect(acknowledged.json["acknowledged"]).toMatchObject({ by: "config", note: "on it" });
    expect(gateway.log.find(({ msg }) => msg.startsWith("alert:"))).toMatchObject({
      level: "warn",
      rule: "dead_letters",
      causes: ["partner"],
    });
  });

  it("of a tenant is seen by that tenant, and by no other", async () => {
    const acme = gateway.as(await gateway.createKey(["admin"], "acme"));
    const globex = gateway.as(await gateway.createKey(["admin"], "globex"));
    const [own] = await alertsOf(acme);
    expect(own).toMatchObject({ rule: "dead_letters", tenant_id: "acme", causes: [{ name: "partner" }] });
    expect((await acme.get("/status")).json["active_alerts"]).toBe(1);
    for (const query of ["", "tenant_id=acme", "tenant_id="]) expect(await alertsOf(globex, query)).toEqual([]);
    for (const path of ["", "/acknowledge", "/mute", "/unmute"]) {
      const { status } =
        path === ""
          ? await globex.get(`/api/v1/alerts/${own?.id}`)
          : await globex.post(`/api/v1/alerts/${own?.id}${path}`, {});
      expect(status).toBe(404);
    }
    // Those of the gateway name things of others.
    const [whole] = await alertsOf(gateway);
    expect((await acme.get(`/api/v1/alerts/${whole?.id}`)).status).toBe(404);
    expect((await acme.get("/api/v1/alerts/rules")).status).toBe(403);
  });

  it("is neither forgotten nor told again by a restart, and its end is told", async () => {
    const [before] = await alertsOf(gateway);
    await gateway.restart();
    await gateway.publish({ event_type: "order.seen", payload: {} });
    const [after] = await alertsOf(gateway);
    expect(after?.id).toBe(before?.id);
    await gateway.post("/api/v1/dead-letters/purge", { all: true, confirm: "purge" });
    await gateway.moveClockUntil(() => ops.requests.length > 1);
    const [, over] = ops.requests;
    expect(read(over)).toMatchObject({ event: "alert.cleared", data: { alert_id: before?.id } });
    expect(await alertsOf(gateway, "status=active")).toEqual([]);
    expect((await alertsOf(gateway, "status=cleared"))[0]).toMatchObject({ id: before?.id, status: "cleared" });
  });

  it("that cannot be delivered says so in the list, and makes no other alert", async () => {
    await gateway.reload(yamlOf(`{ name: broken, url: "${bad.url}" }`, "{ rule: dead_letters, cool_down_s: 0 }"));
    await gateway.publish({ event_type: "order.paid", payload: {}, tenant_id: "acme" });
    await gateway.moveClockUntil(async () => (await alertsOf(gateway, "status=active"))[0]?.told[0]?.dead === 1);
    gateway.moveClock(60_000);
    await gateway.publish({ event_type: "order.seen", payload: {} });
    const active = await alertsOf(gateway, "status=active");
    expect(active.map(({ rule, causes }) => [rule, causes.map(({ name }) => name)])).toEqual([
      ["dead_letters", ["partner"]],
    ]);
  });

  it("is left to others by a rule that is switched off, and by a log that asks for other ones", async () => {
    const lines = () => gateway.log.filter(({ msg }) => msg.startsWith("alert")).length;
    await gateway.reload(yamlOf("{ name: l, kind: log, rules: [disk_low] }", "{ rule: dead_letters, enabled: false }"));
    const before = lines();
    await gateway.moveClockUntil(async () => (await alertsOf(gateway, "status=active")).length === 0);
    expect(lines()).toBe(before);
    const { json } = await gateway.get("/api/v1/alerts/rules");
    const rules = json["data"] as { rule: string; enabled: boolean }[];
    expect(rules.find(({ rule }) => rule === "dead_letters")?.enabled).toBe(false);
    expect(rules.find(({ rule }) => rule === "disk_low")?.enabled).toBe(true);
  });
});

describe("messages that are parked at a broker", () => {
  it("are an alert", async () => {
    const queue = await startExampleQueue();
    const yaml = `sources: [${queue.source}]\n${queue.settings}`;
    const other = await startTestGateway({ yaml, env: ALERTING });
    try {
      await other.moveClockUntil(async () => (await alertsOf(other, "status=active")).length > 0);
      expect((await alertsOf(other))[0]).toMatchObject({
        rule: "parked_messages",
        causes: [{ name: EXAMPLE.queueSource, cause: `source ${EXAMPLE.queueSource}` }],
      });
    } finally {
      await other.close();
      await queue.close();
    }
  });
});

describe("a configuration of alerts", () => {
  function problemsOf(yaml: string): string {
    const cwd = mkdtempSync(join(tmpdir(), "posthorn-alerts-"));
    writeFileSync(join(cwd, "posthorn.yaml"), yaml);
    try {
      loadConfig({ cwd, env: {} });
      return "";
    } catch (error) {
      return (error as Error).message;
    } finally {
      rmSync(cwd, { recursive: true });
    }
  }

  it.each([
    ["alerts: { rules: [{ rule: dead_leters }] }", "alerts.rules[0].rule"],
    ["alerts: { rules: [{ rule: dead_letters, treshold: 3 }] }", "treshold"],
    ["alerts: { channels: [{ name: ops }] }", "alerts.channels[0].url"],
    ["alerts: { channels: [{ name: ops, kind: pigeon }] }", "alerts.channels[0].kind"],
    ["alerts: { channels: [{ name: a, kind: log }, { name: a, kind: log }] }", "has the same name"],
    ["alerts: { channels: [{ name: ops, url: 'https://x.example', events: ['#'] }] }", "events"],
    ["alerts: { every_s: 0 }", "alerts.every_s"],
  ])("that is wrong says where: %s", (yaml, expected) => {
    expect(problemsOf(yaml)).toContain(expected);
  });

  it("may be empty", () => {
    expect(problemsOf("alerts: {}")).toBe("");
  });
});
