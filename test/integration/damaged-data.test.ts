import { DatabaseSync } from "@photostructure/sqlite";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { copyDatabase } from "../../src/store/sqlite/copy-database.ts";
import { inspectDatabase } from "../../src/store/sqlite/inspect.ts";
import { until } from "../support/api-client.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { sumAgain } from "../support/sum-again.ts";
import { ALERTING, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const LARGE = "-".repeat(40_000);

/** As a disk that gives other bytes back. */
function spoil({ dataDir }: TestGateway, sql: string): void {
  const db = new DatabaseSync(join(dataDir, "posthorn.db"), { timeout: 5000 });
  db.exec(sql);
  db.close();
}

const SPOILT = `
  update events set body = cast(replace(cast(body as text), 'intact', 'spoilt') as blob) where id = 'body';
  update events set type = 'a.c' where id = 'type';
  update events set request = replace(request, 'x-shop', 'x-shap') where source = 'shop';
  update bodies set body = cast(replace(cast(body as text), 'intact', 'spoilt') as blob);`;

async function startWithDamage(isNoticed = true) {
  const sink = await openSinkServer();
  const gateway = await startTestGateway({ env: ALERTING });
  onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
  const { id } = await gateway.subscribe({ name: "all", url: sink.url, events: ["*"], ordered: true });
  await gateway.post(`/api/v1/subscriptions/${id}/pause`);
  const ordering_key = "one key";
  for (const event_id of ["body", "type", "large", "last"]) {
    const payload = { text: `intact ${event_id === "large" ? LARGE : ""}` };
    await gateway.publish({ event_type: "a.b", event_id, ordering_key, payload });
  }
  spoil(gateway, SPOILT);
  if (!isNoticed) sumAgain(join(gateway.dataDir, "posthorn.db"));
  await gateway.post(`/api/v1/subscriptions/${id}/resume`);
  await gateway.settled();
  return { gateway, sink, id };
}

describe("an event that is not as it was written", () => {
  it("is not sent, also not by a replay; it is a dead letter and an alert, and the others go on", async () => {
    const { gateway, sink, id } = await startWithDamage();
    const ids = () => sink.requests.map(({ headers }) => headers["webhook-id"]);
    expect(sink.requests.map(({ body }) => body.toString()).join()).not.toContain("spoilt");
    expect(ids()).toHaveLength(1);
    const table = { body: "events", type: "events", large: "bodies" };
    for (const [event, name] of Object.entries(table)) {
      const delivery = await gateway.deliveryOf(event);
      expect(delivery).toMatchObject({ status: "dead", dead_reason: "damaged" });
      expect(delivery["last_error"]).toMatch(new RegExp(`row \\d of the table ${name} is damaged`, "i"));
    }
    expect(await gateway.deliveryOf("last")).toMatchObject({ status: "delivered" });

    await gateway.post("/api/v1/events/body/replay", { subscription_id: id });
    await gateway.post("/api/v1/events/large/replay", { subscription_id: id });
    await gateway.settled();
    expect(ids()).toHaveLength(1);
    expect(await gateway.deliveryOf("large")).toMatchObject({ status: "dead", dead_reason: "damaged" });

    const one = await gateway.get("/api/v1/events/body");
    expect(one.json).toMatchObject({ payload_omitted: true, damage: expect.stringContaining("table events") });
    expect(one.text).not.toContain("spoilt");
    const exported = (await gateway.get("/api/v1/events/export")).text;
    expect(exported).not.toContain("spoilt");
    const lines = exported
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ event_id }) => ["body", "large"].includes(String(event_id)))).toMatchObject([
      { payload_omitted: true, damage: expect.stringContaining("table bodies") },
      { payload_omitted: true, damage: expect.stringContaining("table events") },
    ]);
    expect(lines.find(({ event_id }) => event_id === "last")).toMatchObject({ payload: { text: "intact " } });

    const alerts = async () => (await gateway.get("/api/v1/alerts?rule=damaged_data")).json["data"] as object[];
    await gateway.moveClockUntil(async () => (await alerts()).length > 0);
    expect((await alerts())[0]).toMatchObject({ severity: "critical", count: expect.any(Number) });
    await until(async () => JSON.stringify(await alerts()).includes("of the table bodies is damaged"));
  });

  it("is a test that can fail: with checksums that fit them, the same events are sent", async () => {
    const { sink } = await startWithDamage(false);
    expect(sink.requests).toHaveLength(4);
    expect(sink.requests.filter(({ body }) => body.includes("spoilt"))).toHaveLength(2);
  });
});

/** Two kept requests; one is damaged, and both could be replayed since their source has changed. */
async function startWithDamagedRequest(sql: string) {
  const sink = await openSinkServer();
  const gateway = await startTestGateway({ env: ALERTING });
  onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
  await gateway.subscribe({ name: "all", url: sink.url, events: ["*"] });
  await gateway.post("/api/v1/sources", { name: "shop", only: ["nothing"] });
  const keep = async (body: string, nth: number) => {
    await gateway.webhook("shop", body);
    await until(async () => (await gateway.rejected("shop")).length === nth);
    return String((await gateway.rejected("shop"))[0]?.id);
  };
  const damaged = await keep('{"text":"intact, once"}', 1);
  const sound = await keep('{"text":"untouched"}', 2);
  const headers = { "content-type": "application/json" };
  await gateway.request("PATCH", "/api/v1/sources/shop", { body: '{"only":null}', headers });
  spoil(gateway, sql);
  const replay = (id: string) => gateway.post(`/api/v1/requests/${id}/replay`);
  return { gateway, sink, damaged, sound, replay };
}

describe("a kept request that is not as it was written", () => {
  it.for([
    ["body", "body = cast(replace(cast(body as text), 'intact', 'spoilt') as blob)"],
    ["headers", "facts = replace(facts, 'content-type', 'content-tape')"],
    ["time", "received_at = received_at + 1"],
    ["checksum", "checksum = null"],
  ] as const)("is not replayed: its %s", async ([, set]) => {
    const first = await startWithDamagedRequest(`update requests set ${set} where seq = 1`);
    const { gateway, sink, damaged, sound, replay } = first;
    const { status, json } = await replay(damaged);
    expect([status, json["code"], json["detail"]]).toEqual([
      500,
      "store_corrupt",
      expect.stringContaining("Row 1 of the table requests is damaged"),
    ]);
    expect((await gateway.get(`/api/v1/requests/${damaged}`)).json["code"]).toBe("store_corrupt");
    expect((await replay(sound)).json).toMatchObject({ result: { outcome: "accepted" } });
    await gateway.settled();
    expect(sink.requests.map(({ body }) => body.toString())).toEqual(['{"text":"untouched"}']);
    const alerts = async () => (await gateway.get("/api/v1/alerts?rule=damaged_data")).text;
    await gateway.moveClockUntil(async () => (await alerts()).includes("row 1 of the table requests is damaged"));

    const file = join(gateway.dataDir, "posthorn.db");
    const named = [expect.stringContaining("row 1 of the table requests is damaged")];
    expect(inspectDatabase(file, Number.POSITIVE_INFINITY, gateway.now())?.damages).toEqual(named);
    const copied = await copyDatabase({ from: file, to: join(gateway.dataDir, "copy.db"), withLog: true });
    expect(copied.damages).toEqual(named);
  });

  it("is not one whose body was erased, which has no checksum any more", async () => {
    const gateway = await startTestGateway();
    onTestFinished(() => gateway.close());
    const send = () => gateway.webhook("shop", '{"n":1}', { "webhook-id": "once" });
    const id = String((await send()).json["event_id"]);
    await send();
    await until(async () => (await gateway.rejected("shop")).length === 1);
    expect((await gateway.request("DELETE", `/api/v1/events/${id}/body`)).status).toBe(200);
    const file = join(gateway.dataDir, "posthorn.db");
    const db = new DatabaseSync(file, { readOnly: true });
    const erased = db.prepare("select event_id from requests where checksum is null and body is null").all();
    db.close();
    expect(erased).toEqual([{ event_id: id }]);
    expect(inspectDatabase(file, Number.POSITIVE_INFINITY, gateway.now())?.damages).toEqual([]);
  });

  it("is a test that can fail: with a checksum that fits it, it is replayed", async () => {
    const { sink, damaged, replay, gateway } = await startWithDamagedRequest(
      "update requests set body = cast(replace(cast(body as text), 'intact', 'spoilt') as blob)",
    );
    sumAgain(join(gateway.dataDir, "posthorn.db"));
    expect((await replay(damaged)).status).toBe(200);
    await gateway.settled();
    expect(sink.requests.map(({ body }) => body.toString())).toEqual(['{"text":"spoilt, once"}']);
  });
});
