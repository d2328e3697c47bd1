import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Database } from "../../src/store/sqlite/connection.ts";
import { until } from "../support/api-client.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const CANARY = "canary-77ab-of-acme";
const TENANT = "acme";
const EVENTS = 30;

const PATHS = [
  "/api/v1/events",
  "/api/v1/events?limit=200",
  "/api/v1/events/export",
  "/api/v1/deliveries",
  "/api/v1/dead-letters",
  "/api/v1/requests",
  "/api/v1/subscriptions",
  "/api/v1/sources",
  "/api/v1/targets",
  "/api/v1/keys",
  "/api/v1/tenants",
  `/api/v1/tenants/${TENANT}`,
  `/api/v1/tenants/${TENANT}/erase`,
  "/api/v1/replays",
  "/api/v1/alerts",
  "/api/v1/audit?limit=200",
  "/api/v1/audit/export",
  "/api/v1/status",
  "/validations",
  "/metrics",
];

async function findCanary(gateway: TestGateway): Promise<string[]> {
  const found: string[] = [];
  for (const path of PATHS) if ((await gateway.get(path)).text.includes(CANARY)) found.push(path);
  return found;
}

/** A tenant with something of every kind that names the canary. */
async function fill(gateway: TestGateway, sinkUrl: string): Promise<{ key: string }> {
  const tenant_id = TENANT;
  const make = async (path: string, body: object) => {
    const { status, text, json } = await gateway.post(path, body);
    if (status >= 300) throw new Error(`${path}: ${text}`);
    return { json };
  };
  await make("/api/v1/tenants", { id: TENANT, name: CANARY, contacts: [{ email: `${CANARY}@acme.example` }] });
  await make("/api/v1/targets", { name: "erp", description: CANARY, tenant_id });
  const headers = { "X-Private": CANARY };
  const made = { tenant_id, url: sinkUrl, events: ["*"] };
  await make("/api/v1/subscriptions", { ...made, name: `echo ${CANARY}`, headers });
  // An operator's, whose answers repeat what the tenant sent.
  await make("/api/v1/subscriptions", { name: "bus", url: sinkUrl, events: ["*"], tenants: [TENANT] });
  const { json: held } = await make("/api/v1/subscriptions", { ...made, name: `held ${CANARY}` });
  await make(`/api/v1/subscriptions/${String(held["id"])}/pause`, {});
  await make("/api/v1/sources", { name: "acme-shop", tenant_id, mask: [`/${CANARY}`] });
  const { json: key } = await make("/api/v1/keys", { name: CANARY, tenant_id, scopes: ["publish", "read"] });
  const once = { "content-type": "application/json", "idempotency-key": CANARY };
  for (const client of [gateway, gateway.as(await gateway.createKey(["admin"], TENANT))]) {
    const [who, url] =
      client === gateway ? ["operator", "/api/v1/sources?tenant_id=acme"] : ["tenant", "/api/v1/sources"];
    const repeatable = [
      ["/api/v1/subscriptions", { ...made, name: `once by ${who}`, events: ["never.*"] }],
      [url, { name: `acme-once-by-${who}`, tenant_id }],
    ] as const;
    for (const [path, body] of repeatable) {
      const { status, text } = await client.request("POST", path, { body: JSON.stringify(body), headers: once });
      if (status >= 300) throw new Error(`${path}: ${text}`);
    }
  }
  for (let i = 0; i < EVENTS; i++) {
    const text = i % 5 === 0 ? CANARY.padEnd(40_000, "-") : CANARY;
    await make("/api/v1/events", { event_type: "a.b", event_id: `acme-${i}`, tenant_id, payload: { text } });
    await make("/api/v1/events", { event_type: "a.b", event_id: `other-${i}`, payload: { text: "stays" } });
  }
  await gateway.webhook("acme-shop", JSON.stringify({ text: CANARY }));
  await make("/api/v1/deliveries/cancel", { filter: { tenant_id, event_type: `a.${CANARY}` } });
  await make("/api/v1/replays", { kind: "events", filter: { tenant_id, source: CANARY } });
  return { key: String(key["key"]) };
}

async function erased(gateway: TestGateway): Promise<Record<string, unknown>> {
  const path = `/api/v1/tenants/${TENANT}/erase`;
  await until(async () => (await gateway.get(path)).json["status"] === "completed");
  return (await gateway.get(path)).json;
}

async function open(
  env: Record<string, boolean> = { ANY_SOURCE: false },
): Promise<{ gateway: TestGateway; sinkUrl: string }> {
  const sink = await openSinkServer({ answer: (request) => ({ status: 200, body: request.body }) });
  const gateway = await startTestGateway({ env });
  onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
  return { gateway, sinkUrl: sink.url };
}

/** Runs on the closed database. */
function onDatabase<Result>(gateway: TestGateway, run: (db: Database) => Result): Result {
  const db = new DatabaseSync(join(gateway.dataDir, "posthorn.db"));
  try {
    return run(db);
  } finally {
    db.close();
  }
}

/** The tables with a row that names it. */
function findTables(db: Database): string[] {
  const tables = db.prepare("select name from sqlite_master where type = 'table'").all() as { name: string }[];
  return tables
    .map(({ name }) => name)
    .filter((name) => {
      const all = db.prepare(`select * from "${name}"`);
      all.setReadBigInts(true);
      return all.all().some(namesIt);
    });
}

function namesIt(row: object): boolean {
  return Object.values(row).some((value) =>
    value instanceof Uint8Array ? Buffer.from(value).includes(CANARY) : String(value).includes(CANARY),
  );
}

function findImbalance(db: Database): unknown[] {
  return db
    .prepare(
      `select * from counters where subscription_seq > 0 and
        created - pruned_delivered - pruned_dead - pruned_cancelled <>
        (select count(*) from deliveries d where d.subscription_seq = counters.subscription_seq)`,
    )
    .all();
}

describe("the erasure of a tenant", () => {
  it("leaves no answer, export, label or row that names what it had, and others as they were", async () => {
    const { gateway, sinkUrl } = await open();
    const { key } = await fill(gateway, sinkUrl);
    await gateway.subscribe({ name: "of others", url: sinkUrl });
    await gateway.publish({ event_type: "a.b", event_id: "others-last", payload: { text: "stays" } });
    await until(async () => (await gateway.deliveryOf("others-last")).status === "delivered");
    // The control: it is nearly everywhere before.
    expect((await findCanary(gateway)).length).toBeGreaterThan(8);

    const path = `/api/v1/tenants/${TENANT}/erase`;
    expect((await gateway.get(path)).status).toBe(404);
    expect((await gateway.post(path, {})).json["code"]).toBe("confirmation_required");
    expect((await gateway.post(path, { confirm: "default" })).status).toBe(409);
    const begun = await gateway.post(path, { confirm: TENANT });
    expect(begun.status).toBe(202);
    expect(begun.json).toMatchObject({ tenant_id: TENANT, status: "running", total: EVENTS + 1 });
    const late = { event_type: "a.b", tenant_id: TENANT, payload: {} };
    expect((await gateway.post("/api/v1/events", late)).status).toBe(503);
    const again = await gateway.post(path, { confirm: TENANT });
    expect(again.json["started_at"]).toBe(begun.json["started_at"]);

    expect(await erased(gateway)).toMatchObject({ events: EVENTS + 1, total: EVENTS + 1, stage: "done" });
    expect((await gateway.as(key).get("/api/v1/events")).status).toBe(401);
    expect(await findCanary(gateway)).toEqual([]);
    expect((await gateway.get(`/api/v1/tenants/${TENANT}`)).json).toMatchObject({
      name: TENANT,
      status: "inactive",
      contacts: [],
      usage: { subscriptions: 0, open_deliveries: 0, stored_bytes: 0 },
    });
    const { json: audit } = await gateway.get(`/api/v1/audit?kind=tenant&id=${TENANT}&act=tenant.erase`);
    expect(audit["data"]).toMatchObject([{ details: { events: EVENTS + 1 } }]);
    expect((await gateway.get("/api/v1/audit/verify")).json).toMatchObject({ valid: true });
    expect((await gateway.get("/api/v1/events/other-7")).json).toMatchObject({ payload: { text: "stays" } });
    expect((await gateway.deliveryOf("others-last")).status).toBe("delivered");
    expect((await gateway.request("DELETE", `/api/v1/tenants/${TENANT}`)).status).toBe(200);
    expect(gateway.log.filter(({ level }) => level === "error")).toEqual([]);

    await gateway.restart();
    expect(await findCanary(gateway)).toEqual([]);
    await gateway.stop();
    // First, because a statement that is not collected yet keeps the log from being written back.
    onDatabase(gateway, (db) => db.exec("vacuum"));
    expect(readFileSync(join(gateway.dataDir, "posthorn.db")).includes(CANARY)).toBe(false);
    expect(onDatabase(gateway, findImbalance)).toEqual([]);
    expect(onDatabase(gateway, findTables)).toEqual([]);
  });

  it("leaves no address to which an operator's subscription sent for it, and those that it sent to for others", async () => {
    const { gateway, sinkUrl } = await open();
    await gateway.post("/api/v1/tenants", { id: TENANT });
    const template = { url: `${sinkUrl}/{{ data.name }}` };
    await gateway.subscribe({ name: "bus", url: sinkUrl, events: ["*"], tenants: "*", template });
    const send = async (event_id: string, name: string, more: object = {}) => {
      await gateway.publish({ event_type: "a.b", event_id, payload: { name }, ...more });
      await until(async () => (await gateway.deliveryOf(event_id)).status === "delivered");
    };
    const sentTo = async (event_id: string) => (await gateway.deliveryOf(event_id)).attempts[0]?.["url"];
    await send("other-1", "shared");
    await send("acme-1", CANARY, { tenant_id: TENANT });
    await send("acme-2", "shared", { tenant_id: TENANT });
    await send("acme-3", "later", { tenant_id: TENANT });
    expect(await sentTo("acme-1")).toBe(`${sinkUrl}/${CANARY}`);

    await gateway.post(`/api/v1/tenants/${TENANT}/erase`, { confirm: TENANT });
    await erased(gateway);
    // The same address again, after its deletion.
    await send("other-2", "later");
    expect(await sentTo("other-1")).toBe(`${sinkUrl}/shared`);
    expect(await sentTo("other-2")).toBe(`${sinkUrl}/later`);
    await gateway.stop();
    expect(onDatabase(gateway, findTables)).toEqual([]);
  });

  it("leaves the names of its sources closed, also after a restart, until one is created again", async () => {
    const { gateway } = await open({});
    const auth = { header: "X-Token", token: "a-token-of-the-shop-0123456789" };
    const make = async (tenant_id: string) => {
      await gateway.post("/api/v1/tenants", { id: tenant_id });
      expect((await gateway.post("/api/v1/sources", { name: CANARY, tenant_id, auth })).status).toBe(201);
    };
    const statusOf = async (name: string) => (await gateway.webhook(name, "{}")).status;
    const eraseAll = async (id: string) => {
      await gateway.post(`/api/v1/tenants/${id}/erase`, { confirm: id });
      await until(async () => (await gateway.get(`/api/v1/tenants/${id}/erase`)).json["status"] === "completed");
    };
    await make(TENANT);
    expect(await statusOf(CANARY)).toBe(401);
    await eraseAll(TENANT);
    expect(await statusOf(CANARY)).toBe(410);
    await gateway.restart();
    expect(await statusOf(CANARY)).toBe(410);
    // The control: a name that no source had is accepted.
    expect(await statusOf("another")).toBe(202);
    // A second tenant with the same name leaves it closed too.
    await make("globex");
    expect(await statusOf(CANARY)).toBe(401);
    await eraseAll("globex");
    await gateway.restart();
    expect(await statusOf(CANARY)).toBe(410);
    expect((await gateway.post("/api/v1/sources", { name: CANARY })).status).toBe(201);
    expect(await statusOf(CANARY)).toBe(202);
  });

  it("is a test that can fail: one table that is left out is found", async () => {
    const { gateway, sinkUrl } = await open();
    await fill(gateway, sinkUrl);
    await gateway.stop();
    onDatabase(gateway, (db) =>
      db.exec(`create trigger skip_bodies before delete on bodies begin select raise(ignore); end;`),
    );
    await gateway.restart();
    await gateway.post(`/api/v1/tenants/${TENANT}/erase`, { confirm: TENANT });
    await erased(gateway);
    await gateway.stop();
    expect(onDatabase(gateway, findTables)).toEqual(["bodies"]);
  });

  it("lets nothing be made or changed for the tenant while it runs, and everything when it is over", async () => {
    const { gateway, sinkUrl } = await open();
    await fill(gateway, sinkUrl);
    await gateway.subscribe({ name: "of others", url: sinkUrl });
    // It rests after each step until the clock goes on.
    const goOn = gateway.holdClock();
    await gateway.post(`/api/v1/tenants/${TENANT}/erase`, { confirm: TENANT });
    const tenant_id = TENANT;
    const headers = { "content-type": "application/json" };
    const send = (method: string, path: string, body: object) =>
      gateway.request(method, path, { headers, body: JSON.stringify(body) });
    const tries = {
      status: () => send("PATCH", `/api/v1/tenants/${TENANT}`, { status: "active" }),
      settings: () => send("PUT", `/api/v1/tenants/${TENANT}`, { name: "Acme" }),
      subscription: () =>
        gateway.post("/api/v1/subscriptions", { tenant_id, name: "new", url: sinkUrl, events: ["*"] }),
      key: () => gateway.post("/api/v1/keys", { name: "new", tenant_id, scopes: ["read"] }),
      target: () => gateway.post("/api/v1/targets", { name: "new", tenant_id }),
      source: () => gateway.post("/api/v1/sources", { name: "acme-new", tenant_id }),
      replay: () => gateway.post("/api/v1/replays", { kind: "events", filter: { tenant_id, event_type: "a.b" } }),
      deletion: () => gateway.request("DELETE", `/api/v1/tenants/${TENANT}`),
    };
    for (const [what, trying] of Object.entries(tries)) {
      const { status, json } = await trying();
      // What still has keys or subscriptions is not deleted for that alone.
      const says = what === "deletion" ? "The tenant acme" : "The tenant acme is being erased";
      expect({ what, status, code: json["code"] }).toEqual({ what, status: 409, code: "conflict" });
      expect(json["detail"]).toContain(says);
    }
    expect((await gateway.publish({ event_type: "a.b", tenant_id, payload: {} })).status).toBe(503);
    // Others are not concerned.
    await gateway.subscribe({ name: "another", url: sinkUrl });
    expect((await gateway.get(`/api/v1/tenants/${TENANT}/erase`)).json["status"]).toBe("running");
    goOn();
    await erased(gateway);
    expect(gateway.log.filter(({ level }) => level === "error")).toEqual([]);
    expect((await tries.status()).json).toMatchObject({ status: "active", name: TENANT });
    expect((await tries.subscription()).status).toBe(201);
    expect((await tries.key()).status).toBe(201);
    expect((await gateway.publish({ event_type: "a.b", tenant_id, payload: {} })).status).toBeLessThan(300);
  });

  it("goes on after a stop, and is rejected for default, for what the file declares and for nobody", async () => {
    const { gateway, sinkUrl } = await open();
    await fill(gateway, sinkUrl);
    const erase = (id: string) => gateway.post(`/api/v1/tenants/${id}/erase`, { confirm: id });
    expect((await erase("default")).status).toBe(409);
    expect((await erase("none")).status).toBe(404);
    await gateway.restart({ yaml: `tenants: [{ id: declared }]\n` });
    const refused = await erase("declared");
    expect(refused.status).toBe(409);
    expect(refused.json["detail"]).toContain("configuration file");
    await erase(TENANT);
    await gateway.restart();
    await erased(gateway);
    expect(await findCanary(gateway)).toEqual([]);
  });
});
