import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until, type ApiClient } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { openStream } from "../support/stream-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let sink: SinkServer;

beforeAll(async () => {
  const yaml = "portal: { name: Configured, accent: '#0a7d4f', appearance: light }";
  [gateway, sink] = await Promise.all([startTestGateway({ yaml }), openSinkServer()]);
});
afterAll(() => Promise.all([gateway.close(), sink.close()]));
beforeEach(async () => {
  await gateway.post("/api/v1/tenants", { id: "acme" });
});

async function tokenOf(tenant: string, body: object = {}, by: ApiClient = gateway): Promise<string> {
  const { status, json } = await by.post(`/api/v1/tenants/${tenant}/portal-link`, body);
  expect(status).toBe(201);
  return String(json["url"]).split("#token=")[1] ?? "";
}
const partnerOf = async (tenant: string, body: object = {}) => gateway.as(await tokenOf(tenant, body));

describe("the look of a portal", () => {
  it("is the configured one, and what the link says instead", async () => {
    const shown = async (theme?: object) =>
      (await (await partnerOf("acme", theme && { theme })).get("/api/v1/session")).json["portal"];
    expect(await shown()).toEqual({ name: "Configured", accent: "#0a7d4f", appearance: "light" });
    expect(await shown({ name: "Söme — 名前", appearance: "dark" })).toEqual({
      name: "Söme — 名前",
      accent: "#0a7d4f",
      appearance: "dark",
    });
    expect(await shown({ accent: "#ABCDEF", name: "n".repeat(60) })).toMatchObject({ accent: "#ABCDEF" });
  });

  it.each(["https://*", "*", "https://app.example.com/path", "https://a.example.com; script-src *", "data:"])(
    "is not shown in frames of %j: the configuration is rejected",
    async (origin) => {
      await expect(startTestGateway({ yaml: `portal: { frame_origins: ['${origin}'] }` })).rejects.toThrow(
        /frame_origins/,
      );
    },
  );
});

describe("a partner", () => {
  it("replays events as they were, and neither publishes, edits nor erases any", async () => {
    await gateway.subscribe({ name: "Shop", url: sink.url, events: ["order.*"], tenant_id: "acme" });
    const event = { event_type: "order.paid", payload: { n: 1 }, event_id: "order-1", tenant_id: "acme" };
    await gateway.publish(event);
    await gateway.settled();
    const partner = await partnerOf("acme");
    expect((await partner.post("/api/v1/events/order-1/replay")).status).toBe(202);

    const refused = [
      await partner.publish({ event_type: "order.paid", payload: { n: 2 } }),
      await partner.post("/api/v1/events/order-1/replay", { payload: { n: 3 } }),
      await partner.request("DELETE", "/api/v1/events/order-1/body"),
    ];
    expect(refused.map(({ status, json }) => [status, json["code"]])).toEqual(refused.map(() => [403, "forbidden"]));
    await gateway.settled();
    expect(sink.requests.map(({ body }) => JSON.parse(body.toString()) as object)).toMatchObject([
      { data: { n: 1 } },
      { data: { n: 1 } },
    ]);

    // The negative control: a key of the tenant may do all of this.
    const { json } = await gateway.post("/api/v1/keys", { name: "own", scopes: ["admin"], tenant_id: "acme" });
    const own = gateway.as(String(json["key"]));
    expect((await own.publish({ event_type: "order.paid", payload: { n: 2 } })).status).toBe(202);
    expect((await own.post("/api/v1/events/order-1/replay", { payload: { n: 3 } })).status).toBe(201);
    expect((await own.request("DELETE", "/api/v1/events/order-1/body?force=true")).status).toBe(200);
  });

  it("is gone with its tenant, when that is deleted and when it is erased", async () => {
    let before: Awaited<ReturnType<typeof partnerOf>> | undefined;
    for (const [id, end] of [
      ["deleted", () => gateway.request("DELETE", "/api/v1/tenants/deleted")],
      ["erased", () => gateway.post("/api/v1/tenants/erased/erase", { confirm: "erased" })],
    ] as const) {
      await gateway.post("/api/v1/tenants", { id });
      const partner = await partnerOf(id);
      before = partner;
      expect((await partner.get("/api/v1/subscriptions")).status).toBe(200);
      expect((await end()).status).toBeLessThan(300);
      expect([id, (await partner.get("/api/v1/subscriptions")).status]).toEqual([id, 401]);
      const made = await partner.post("/api/v1/subscriptions", { name: "x", url: sink.url, events: ["x.*"] });
      expect([id, made.status]).toEqual([id, 401]);
    }
    await until(async () => (await gateway.get("/api/v1/tenants/erased/erase")).json["status"] === "completed");
    expect((await before?.get("/api/v1/subscriptions"))?.status).toBe(401);
    // Its id can be used again, with new links.
    gateway.moveClock(1000);
    expect((await (await partnerOf("erased")).get("/api/v1/subscriptions")).status).toBe(200);
  });

  it("stays gone when its tenant is made again, by hand or by an event, and its stream ends", async () => {
    const again = {
      "by-hand": () => gateway.post("/api/v1/tenants", { id: "by-hand" }),
      "by-event": () => gateway.publish({ event_type: "a.b", payload: {}, tenant_id: "by-event" }),
    };
    for (const [id, makeAgain] of Object.entries(again)) {
      await gateway.post("/api/v1/tenants", { id });
      const token = await tokenOf(id);
      const partner = gateway.as(token);
      const stream = await openStream(gateway.url, { key: token });
      await stream.received("ready", 1);
      gateway.moveClock(1000);
      expect((await gateway.request("DELETE", `/api/v1/tenants/${id}`)).status).toBe(200);
      expect((await makeAgain()).status).toBeLessThan(300);
      await until(async () => (await gateway.get(`/api/v1/tenants/${id}`)).status === 200);
      expect([id, (await partner.get("/api/v1/events")).status]).toEqual([id, 401]);
      await gateway.moveClockUntil(() => stream.frames.at(-1)?.name === "dropped");
      expect(stream.frames.at(-1)).toMatchObject({ data: { reason: "key_revoked" } });
      // The control: a new link to the new tenant works.
      expect((await (await partnerOf(id)).get("/api/v1/events")).status).toBe(200);
    }
  });

  // Exports, and many links of one tenant: test/security/bound-callers.test.ts.
  it("uses up the streams of its tenant's links, and not those of the key or of links of other tenants", async () => {
    await gateway.restart({ yaml: "limits: { max_streams_per_key: 1 }" });
    await gateway.post("/api/v1/tenants", { id: "other" });
    const [mine, theirs] = [await tokenOf("acme"), await tokenOf("other")];
    const open = (key?: string) => openStream(gateway.url, key === undefined ? {} : { key });
    const streams = [await open(mine), await open(theirs), await open()];
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
    // The control: each has its own limit.
    expect(await Promise.all([open(mine), open(theirs), open()])).toMatchObject([
      { status: 429 },
      { status: 429 },
      { status: 429 },
    ]);
    for (const stream of streams) stream.close();
  });

  it("may do no more than the key that made its link may still do", async () => {
    const { json } = await gateway.post("/api/v1/keys", { name: "maker", scopes: ["admin"] });
    const partner = gateway.as(await tokenOf("acme", {}, gateway.as(String(json["key"]))));
    const statuses = async () => {
      const made = await partner.post("/api/v1/subscriptions", { name: "x", url: sink.url, events: ["x.*"] });
      await partner.request("DELETE", `/api/v1/subscriptions/${String(made.json["id"])}`);
      return [made.status, (await partner.get("/api/v1/subscriptions")).status];
    };
    const reduceTo = (scopes: readonly string[]) =>
      gateway.request("PATCH", `/api/v1/keys/${String(json["id"])}`, {
        body: JSON.stringify({ scopes }),
        headers: { "content-type": "application/json" },
      });
    expect(await statuses()).toEqual([201, 200]);
    await reduceTo(["read"]);
    expect(await statuses()).toEqual([403, 200]);
    await reduceTo(["publish"]);
    expect(await statuses()).toEqual([401, 401]);
    await reduceTo(["admin"]);
    expect(await statuses()).toEqual([201, 200]);
  });

  it("has a link that is listed without its token, and can be revoked by itself, for good", async () => {
    await gateway.post("/api/v1/tenants", { id: "listed" });
    const links = async () =>
      (await gateway.get("/api/v1/tenants/listed/portal-links")).json["data"] as { id: string }[];
    const [one, other] = [await tokenOf("listed"), await tokenOf("listed", { access: "read", expires_in_s: 60 })];
    const listed = await links();
    expect(listed).toMatchObject([
      { tenant_id: "listed", access: "manage", created_by: "config" },
      { access: "read", created_by: "config" },
    ]);
    expect(JSON.stringify(listed)).not.toContain(one.slice(4, 40));
    const stream = await openStream(gateway.url, { key: one });
    await stream.received("ready", 1);
    const at = `/api/v1/tenants/listed/portal-links/${listed[0]?.id}`;
    expect((await gateway.request("DELETE", at)).status).toBe(204);
    expect((await gateway.request("DELETE", "/api/v1/tenants/acme/portal-links/nothing")).status).toBe(404);
    await gateway.moveClockUntil(() => stream.frames.at(-1)?.name === "dropped");
    const statusOf = async (token: string) => (await gateway.as(token).get("/api/v1/subscriptions")).status;
    expect([await statusOf(one), await statusOf(other), (await links()).length]).toEqual([401, 200, 1]);
    await gateway.restart();
    expect([await statusOf(one), await statusOf(other)]).toEqual([401, 200]);
    gateway.moveClock(60_000);
    expect([await statusOf(other), await links()]).toEqual([401, []]);
    const { json } = await gateway.get("/api/v1/audit?tenant_id=listed");
    const acts = (json["data"] as { act: string }[]).map(({ act }) => act);
    expect(acts.filter((act) => act.includes("portal"))).toEqual([
      "tenant.revoke_portal_link",
      "tenant.portal_link",
      "tenant.portal_link",
    ]);
    expect(acts.filter((act) => act.startsWith("pass."))).toEqual([]);
  });

  it("is told the kinds of destinations that it may create", async () => {
    const kindsOf = async (client: ApiClient) => (await client.get("/api/v1/session")).json["destination_kinds"];
    expect(await kindsOf(await partnerOf("acme"))).toEqual(["http", "batch"]);
    expect(await kindsOf(gateway)).toEqual(expect.arrayContaining(["http", "batch", "email", "sms", "amqp"]));
  });

  it("is not told whose key made its link, nor who else sends and gets events", async () => {
    const maker = String((await gateway.post("/api/v1/keys", { name: "maker", scopes: ["admin"] })).json["key"]);
    const partner = gateway.as(await tokenOf("acme", {}, gateway.as(maker)));
    await gateway.post("/api/v1/event-types", {
      name: "secret.kept",
      producer: "internal-shop",
      consumers: ["internal-ledger"],
      versions: [{ version: "1.0", schema: { type: "object" }, example: {} }],
    });
    await partner.subscribe({ name: "own", url: sink.url, events: ["x.*"] });
    const paths = ["session", "event-types", "event-types/secret.kept", "event-types/export", "subscriptions"];
    const shown = await Promise.all(paths.map((path) => partner.get(`/api/v1/${path}`)));
    expect(shown.map(({ status }) => status)).toEqual(paths.map(() => 200));
    for (const { text } of shown) expect(text).not.toMatch(/internal-|"key_[0-9a-z]{10}/);
    // The control: the operator sees all of it.
    const own = await Promise.all(paths.map((path) => gateway.as(maker).get(`/api/v1/${path}`)));
    for (const { text } of own) expect(text).toMatch(/internal-|"key_[0-9a-z]{10}/);
  });
});
