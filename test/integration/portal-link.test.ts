import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
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

async function partnerOf(tenant: string, body: object = {}) {
  const { status, json } = await gateway.post(`/api/v1/tenants/${tenant}/portal-link`, body);
  expect(status).toBe(201);
  return gateway.as(String(json["url"]).split("#token=")[1]);
}

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
});
