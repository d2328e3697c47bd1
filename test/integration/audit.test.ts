import { DatabaseSync } from "@photostructure/sqlite";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { until, type ApiClient } from "../support/api-client.ts";
import { openSinkServer } from "../support/sink-server.ts";
import {
  ADMIN_KEY,
  ALERTING,
  STEADY_ALERT,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../support/test-gateway.ts";

interface Entry {
  seq: number;
  actor: string;
  via: string | null;
  act: string;
  kind: string;
  id: string;
  tenant_id: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  details: Record<string, unknown> | null;
}

async function start(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  onTestFinished(() => gateway.close());
  return gateway;
}

async function list(client: ApiClient, query = ""): Promise<Entry[]> {
  const answer = await client.get(`/api/v1/audit?limit=500${query}`);
  expect(answer.status).toBe(200);
  return answer.json["data"] as Entry[];
}

const actsOf = (entries: readonly Entry[]) => entries.map(({ act }) => act).reverse();
const URL = "http://127.0.0.1:9/hook";

describe("the audit log", () => {
  // shows: C3
  it("says who changed what, before and after, without a secret", async () => {
    const gateway = await start();
    const key = await gateway.createKey(["admin"], "acme");
    const client = gateway.as(key);
    const { id, secret } = await client.subscribe({
      name: "orders",
      url: URL,
      headers: { authorization: "canary-header-value" },
    });
    const path = `/api/v1/subscriptions/${id}`;
    await client.request("PATCH", path, {
      body: JSON.stringify({ timeout: 10 }),
      headers: { "content-type": "application/json" },
    });
    await client.request("PATCH", path, {
      body: JSON.stringify({ timeout: 10 }),
      headers: { "content-type": "application/json" },
    });
    const rotated = String((await client.post(`${path}/rotate-secret`)).json["secret"]);
    await client.post(`${path}/pause`);
    await client.get(`${path}/secret`);
    await client.request("DELETE", path);

    const [ofKey, ...entries] = (await list(client)).reverse();
    expect(ofKey).toMatchObject({ act: "key.create", tenant_id: "acme", actor: "key:config" });
    expect(entries.map(({ act }) => act)).toEqual([
      "subscription.create",
      "subscription.update",
      "subscription.update",
      "subscription.pause",
      "subscription.reveal_secret",
      "subscription.delete",
    ]);
    expect(new Set(entries.map(({ tenant_id }) => tenant_id))).toEqual(new Set(["acme"]));
    expect(entries[0]?.actor).toMatch(/^key:key_/);
    expect(entries[1]).toMatchObject({
      via: "PATCH /api/v1/subscriptions/:id",
      before: { timeout: null },
      after: { timeout: 10 },
    });
    expect(entries[2]).toMatchObject({ before: {}, after: {}, details: { secrets: "changed" } });
    expect(entries[3]).toMatchObject({ before: { status: "active" }, after: { status: "inactive" } });
    expect(entries[5]).toMatchObject({ before: { name: "orders", url: URL }, after: null });
    const text = (await gateway.get("/api/v1/audit/export")).text;
    for (const hidden of [secret, rotated, "canary-header-value", key]) expect(text).not.toContain(hidden);
    expect((await gateway.get("/api/v1/audit/verify")).json).toMatchObject({ valid: true, first_wrong: null });
  });

  // shows: C62
  it("tells what the configuration, the gateway and people did apart", async () => {
    const sink = await openSinkServer({ answer: () => ({ status: 410 }) });
    onTestFinished(() => sink.close());
    const yaml = (name: string) => `subscriptions: [{ name: ${name}, url: "${sink.url}", events: ["order.*"] }]`;
    const gateway = await start({ yaml: yaml("declared") });
    await gateway.reload(yaml("other"));
    // By hand, so that the suspension happens while a request is under way.
    const { id } = await gateway.subscribe({ name: "gone", url: sink.url, events: ["gone.*"] });
    await gateway.post(`/api/v1/subscriptions/${id}/test`);
    await gateway.publish({ event_type: "gone.now", payload: {} });
    await until(async () => (await list(gateway, `&id=${id}&act=subscription.suspend`)).length > 0);

    const declared = (await list(gateway, "&actor=config")).reverse();
    expect(declared.map(({ act, after }) => [act, after?.["name"] ?? after?.["status"]])).toEqual([
      ["subscription.create", "declared"],
      ["subscription.create", "other"],
      ["subscription.pause", "inactive"],
    ]);
    const [suspended] = await list(gateway, `&id=${id}&act=subscription.suspend`);
    expect(suspended).toMatchObject({ actor: "gateway", via: null, after: { status: "suspended" } });
    expect(String(suspended?.details?.["reason"])).toContain("410");
    const history = (await gateway.get(`/api/v1/subscriptions/${id}/history`)).json["data"];
    expect(history).toMatchObject([
      { from: "active", to: "suspended", actor: "gateway", reason: suspended?.details?.["reason"] },
      { from: null, to: "active", actor: "key:config" },
    ]);
  });

  it("has an entry of every act on deliveries, requests, targets, jobs and keys", async () => {
    const sink = await openSinkServer();
    onTestFinished(() => sink.close());
    const gateway = await start({ env: { ANY_SOURCE: false } });
    const { id } = await gateway.subscribe({ name: "orders", url: sink.url });
    await gateway.publish({ event_type: "order.created", event_id: "order-1", payload: {} });
    await gateway.settled();
    const delivery = await gateway.deliveryOf("order-1");
    await gateway.post("/api/v1/events/order-1/replay");
    await gateway.settled();
    await gateway.post(`/api/v1/targets/${id}/mode`, { mode: "QUEUE" });
    await gateway.publish({ event_type: "order.created", event_id: "order-2", payload: {} });
    const waiting = await gateway.deliveryOf("order-2");
    await gateway.post(`/api/v1/deliveries/${waiting.id}/cancel`);
    const replay = (await gateway.post("/api/v1/replays", { kind: "events", filter: { subscription_id: id } })).json[
      "id"
    ];
    await gateway.post(`/api/v1/replays/${String(replay)}/pause`);
    await gateway.post("/api/v1/jobs/prune-events/run");
    const made = (await gateway.post("/api/v1/keys", { name: "k", scopes: ["read"] })).json;
    await gateway.request("DELETE", `/api/v1/keys/${String(made["id"])}`);
    const acts = actsOf(await list(gateway, "&actor=key:config"));
    expect(acts.filter((act) => act !== "replay.pause")).toEqual([
      "subscription.create",
      "delivery.replay",
      "target.mode",
      "delivery.cancel",
      "replay.start",
      "job.run",
      "key.create",
      "key.revoke",
    ]);
    const [mode] = await list(gateway, "&act=target.mode");
    expect(mode).toMatchObject({ before: { mode: "NORMAL", forced: null }, after: { mode: "QUEUE", forced: "QUEUE" } });
    expect((await list(gateway, "&act=delivery.replay"))[0]?.id).toBe(delivery.id);
    expect((await gateway.get("/api/v1/audit/export")).text).not.toContain(String(made["key"]));
  });

  it("names acknowledging, muting and unmuting an alert as what they are", async () => {
    const sink = await openSinkServer({ answer: { status: 400 } });
    onTestFinished(() => sink.close());
    const gateway = await start({ env: ALERTING, yaml: STEADY_ALERT });
    const { id } = await gateway.subscribe({ name: "orders", url: sink.url });
    await gateway.publish({ event_type: "order.created", payload: {} });
    const active = async () => (await gateway.get("/api/v1/alerts?status=active")).json["data"] as { id: string }[];
    await gateway.moveClockUntil(async () => (await active()).length > 0);
    const [alert] = await active();
    const cause = `subscription ${id}`;
    const acts: [string, object?][] = [
      ["mute", { for_s: 60 }],
      ["mute", { for_s: 90 }],
      ["acknowledge", {}],
      ["mute", { cause }],
      ["acknowledge", { note: "on it" }],
      ["unmute", { cause }],
      ["unmute"],
    ];
    for (const [act, body] of acts) {
      expect((await gateway.post(`/api/v1/alerts/${alert?.id}/${act}`, body)).status).toBe(200);
    }
    const told = actsOf(await list(gateway, "&kind=alert"));
    expect(told).toEqual(acts.map(([act]) => `alert.${act}`));
    const refused = await gateway.post(`/api/v1/alerts/${alert?.id}/mute`, { cause: "nonsense" });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(cause)]);
  });

  it("shows a tenant's key its own entries, and the whole of it to operators only", async () => {
    const gateway = await start();
    const [acme, other] = [await gateway.createKey(["admin"], "acme"), await gateway.createKey(["admin"], "other")];
    await gateway.as(acme).subscribe({ name: "mine", url: URL });
    for (const query of ["", "&tenant_id=acme"]) {
      expect(await list(gateway.as(other), query)).toMatchObject([{ act: "key.create", tenant_id: "other" }]);
    }
    expect(actsOf(await list(gateway.as(acme)))).toEqual(["key.create", "subscription.create"]);
    for (const path of ["export", "verify"]) {
      expect((await gateway.as(acme).get(`/api/v1/audit/${path}`)).status).toBe(403);
    }
  });

  it("shows no secret before its entry is on disk", async () => {
    const gateway = await start({
      makers: {
        openStore: (open) => async (url, options) => {
          const store = await open(url, options);
          return { ...store, audit: { ...store.audit, note: () => Promise.reject(new Error("the disk")) } };
        },
      },
    });
    const { id, secret } = await gateway.subscribe({ name: "orders", url: URL });
    const answer = await gateway.get(`/api/v1/subscriptions/${id}/secret`);
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain(secret);
  });

  it("begins anew on data from before it, and finds what is changed in the database", async () => {
    const gateway = await start();
    const { id } = await gateway.subscribe({ name: "orders", url: URL });
    await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    await gateway.post(`/api/v1/subscriptions/${id}/resume`);
    const tamper = async (sql: string) => {
      await gateway.stop();
      const db = new DatabaseSync(join(gateway.dataDir, "posthorn.db"));
      db.exec(sql);
      db.close();
      await gateway.restart();
      return (await gateway.get("/api/v1/audit/verify")).json;
    };
    expect(await tamper("select 1")).toMatchObject({ valid: true });
    expect(await tamper("delete from audit where seq = 4")).toMatchObject({ valid: false, first_wrong: { seq: 4 } });
    // What is written after a cut does not hide it.
    await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    expect((await gateway.get("/api/v1/audit/verify")).json).toMatchObject({ valid: false, first_wrong: { seq: 4 } });
    // Nor does a head that somebody without the key has made to fit.
    await tamper(
      "delete from audit where seq > 3; update audit_marks set seq = 3, hash = (select hash from audit where seq = 3)",
    );
    await gateway.post(`/api/v1/subscriptions/${id}/resume`);
    const { json } = await gateway.get("/api/v1/audit/verify");
    expect(json).toMatchObject({ valid: false, first_wrong: { seq: 4 } });
    expect((await list(gateway)).some(({ act }) => act === "audit.broken")).toBe(true);
  });
});

describe("changes of settings", () => {
  const changes = (gateway: TestGateway) => list(gateway, "&act=config.change");

  /** After a restart, because the first start of a test chooses a port. */
  async function startSettled(options: TestGatewayOptions = {}): Promise<TestGateway> {
    const gateway = await start(options);
    expect(await changes(gateway)).toEqual([]);
    await gateway.restart();
    return gateway;
  }

  it("have an entry after a restart, with the differences only, and none where nothing has changed", async () => {
    const gateway = await startSettled();
    const before = await changes(gateway);
    await gateway.restart();
    expect(await changes(gateway)).toEqual(before);
    await gateway.restart({
      yaml: `
retention: { days: 7 }
connections: [{ name: main, kind: azure-service-bus, namespace: dairy.servicebus.windows.net }]
alerts: { rules: [{ rule: dead_letters, enabled: false }], channels: [{ name: night, kind: log, severity: critical }] }`,
    });
    const [entry, ...others] = await changes(gateway);
    expect(others).toEqual(before);
    expect(entry).toMatchObject({ actor: "config", kind: "config", id: "settings", tenant_id: null, details: null });
    expect(entry?.before).toEqual({
      "retention.days": 30,
      "alerts.rules.dead_letters.enabled": true,
      "alerts.channels.night": null,
      "connections.azure-service-bus.main.namespace": null,
    });
    expect(entry?.after).toEqual({
      "retention.days": 7,
      "alerts.rules.dead_letters.enabled": false,
      "alerts.channels.night": { kind: "log", severity: "critical" },
      "connections.azure-service-bus.main.namespace": "dairy.servicebus.windows.net",
    });
    await gateway.restart({ yaml: "" });
    expect((await changes(gateway))[0]).toMatchObject({ before: entry?.after ?? {}, after: entry?.before ?? {} });
    expect((await gateway.get("/api/v1/audit/verify")).json).toMatchObject({ valid: true });
  });

  it("have one after a reload for what a running gateway takes over, and for the rest after the restart", async () => {
    const gateway = await startSettled();
    const yaml = "alerts: { rules: [{ rule: latency_p99, threshold: 9 }] }\nretention: { days: 7 }";
    await gateway.reload(yaml);
    await gateway.reload(yaml);
    const [reloaded] = await changes(gateway);
    expect(reloaded).toMatchObject({ actor: "config" });
    expect(reloaded?.after).toEqual({ "alerts.rules.latency_p99.threshold": 9 });
    await gateway.restart();
    const [restarted, second] = await changes(gateway);
    expect(second?.seq).toBe(reloaded?.seq);
    expect(restarted?.after).toEqual({ "retention.days": 7 });
  });

  it("show that a secret was set, changed and removed, and never the secret", async () => {
    const gateway = await startSettled();
    const urls = ["smtp://canary-one:pw@127.0.0.1:9", "smtp://canary-two:pw@127.0.0.1:9"] as const;
    for (const url of urls) await gateway.restart({ env: { SMTP_URL: url, SMTP_FROM: "a@b.example" } });
    await gateway.restart({ env: {} });
    const [removed, changed, set] = await changes(gateway);
    expect(set).toMatchObject({
      before: { "smtp.url": null },
      after: { "smtp.url": "***", "smtp.from": "a@b.example" },
    });
    expect(changed).toMatchObject({
      before: {},
      after: {},
      details: { secrets: "changed", changed_secrets: ["smtp.url"] },
    });
    expect(removed).toMatchObject({ before: { "smtp.url": "***" }, after: { "smtp.url": null } });
    await gateway.stop();
    const db = new DatabaseSync(join(gateway.dataDir, "posthorn.db"));
    const rows = db.prepare("select data from records where kind = 'config'").all();
    const entries = db.prepare("select * from audit").all();
    db.close();
    expect(rows).toHaveLength(1);
    for (const canary of ["canary-one", "canary-two", ADMIN_KEY]) {
      expect(JSON.stringify([rows, entries])).not.toContain(canary);
    }
  });
});

describe("what is changed and not told", () => {
  /** Every live record that users configure is the subject of an entry that says that it was made. */
  async function listUntold(gateway: TestGateway): Promise<string[]> {
    const told = new Set((await list(gateway)).map(({ kind, id }) => `${kind} ${id}`));
    const subscriptions = (await gateway.get("/api/v1/subscriptions?limit=500")).json["data"] as { id: string }[];
    return subscriptions.map(({ id }) => `subscription ${id}`).filter((one) => !told.has(one));
  }

  const dropNotes = (store: Store): Store => ({
    ...store,
    records: { ...store.records, write: (request) => store.records.write({ ...request, audit: [] }) },
  });

  it("is nothing; and would be found", async () => {
    const honest = await start();
    await honest.subscribe({ name: "orders", url: URL });
    expect(await listUntold(honest)).toEqual([]);
    const silent = await start({
      makers: { openStore: (open) => async (url, options) => dropNotes(await (open ?? openStore)(url, options)) },
    });
    await silent.subscribe({ name: "orders", url: URL });
    expect(await listUntold(silent)).toHaveLength(1);
  });
});
