import { describe, expect, it } from "vitest";
import type { PartMakers } from "../../src/gateway/start.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { withPort } from "../support/with-port.ts";

const SOURCES = "sources:\n  - name: shop\n    event_type: shop.order\n";
const subscriptions = (url: string, more = "") =>
  `subscriptions:\n  - name: warehouse\n    url: ${url}\n    events: ["shop.#"]\n    timeout: 10\n${more}`;

async function find(gateway: TestGateway, name: string) {
  const { json } = await gateway.get("/api/v1/subscriptions");
  return (json["data"] as { id: string; name: string; status: string; managed_by: string; timeout: number }[]).find(
    (one) => one.name === name,
  );
}

describe("what the configuration declares", () => {
  it("is there with a stable id, works, and belongs to the file", async () => {
    const sink = await openSinkServer();
    const yaml = SOURCES + subscriptions(sink.url);
    const gateway = await startTestGateway({ yaml });
    const other = await startTestGateway({ yaml });
    const warehouse = await find(gateway, "warehouse");
    const id = warehouse?.id ?? "";
    expect(warehouse).toMatchObject({ status: "active", managed_by: "config", timeout: 10 });
    expect((await find(other, "warehouse"))?.id).toBe(id);

    const answer = await gateway.webhook("shop", "{}");
    expect(answer.json["deliveries"]).toBe(1);
    await sink.received(1);
    expect(sink.requests[0]?.headers["x-webhook-event"]).toBe("shop.order");

    const path = `/api/v1/subscriptions/${id}`;
    const change = { body: '{"timeout":5}', headers: { "content-type": "application/json" } };
    for (const refused of [await gateway.request("PATCH", path, change), await gateway.request("DELETE", path)]) {
      expect([refused.status, refused.json["code"]]).toEqual([409, "managed_by_config"]);
    }
    await gateway.restart();
    expect((await find(gateway, "warehouse"))?.id).toBe(id);
    await Promise.all([gateway.close(), other.close(), sink.close()]);
  });

  it("may be paused by API; that outlasts a restart and a reload", async () => {
    const yaml = subscriptions("http://127.0.0.1:9/");
    const gateway = await startTestGateway({ yaml });
    const path = `/api/v1/subscriptions/${(await find(gateway, "warehouse"))?.id}`;
    expect((await gateway.post(`${path}/pause`)).json["status"]).toBe("inactive");
    await gateway.reload(yaml.replace("timeout: 10", "timeout: 20"));
    expect(await find(gateway, "warehouse")).toMatchObject({ status: "inactive", timeout: 20 });
    await gateway.restart();
    expect((await find(gateway, "warehouse"))?.status).toBe("inactive");
    expect((await gateway.post(`${path}/resume`)).json["status"]).toBe("active");
    await gateway.close();
  });

  it("turns inactive with a warning when it leaves the file, keeps what waits, and is active when it comes back", async () => {
    const sink = await openSinkServer();
    const yaml = SOURCES + subscriptions(sink.url);
    const gateway = await startTestGateway({ yaml });
    await gateway.reload(SOURCES);
    expect(await find(gateway, "warehouse")).toMatchObject({ status: "inactive", managed_by: "former_config" });
    expect(gateway.log).toContainEqual(
      expect.objectContaining({
        level: "warn",
        subscription: "warehouse",
        msg: "subscription left the configuration and is inactive",
      }),
    );
    expect((await gateway.webhook("shop", '{"n":1}')).json["deliveries"]).toBe(1);
    await gateway.restart();
    expect(await find(gateway, "warehouse")).toMatchObject({ status: "inactive" });
    expect(sink.requests).toHaveLength(0);
    await gateway.reload(yaml);
    expect(await find(gateway, "warehouse")).toMatchObject({ status: "active", managed_by: "config" });
    await sink.received(1);
    await gateway.settled();
    await Promise.all([gateway.close(), sink.close()]);
  });

  it("may be deleted by API once it has left the file, and comes back under its id", async () => {
    const yaml = subscriptions("http://127.0.0.1:9/");
    const gateway = await startTestGateway({ yaml });
    const id = (await find(gateway, "warehouse"))?.id ?? "";
    await gateway.reload("");
    expect((await gateway.request("DELETE", `/api/v1/subscriptions/${id}`)).status).toBe(200);
    await gateway.reload(yaml);
    expect(await find(gateway, "warehouse")).toMatchObject({ id, status: "active", managed_by: "config" });
    await gateway.restart();
    expect(await find(gateway, "warehouse")).toMatchObject({ id, status: "active" });
    await gateway.close();
  });

  it("pauses a source that leaves the file, so that its senders lose nothing", async () => {
    const gateway = await startTestGateway({ yaml: SOURCES });
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    await gateway.reload("");
    const refused = await gateway.webhook("shop", "{}");
    expect([refused.status, refused.json["code"]]).toEqual([503, "source_paused"]);
    expect(gateway.log).toContainEqual(expect.objectContaining({ level: "warn", source: "shop" }));
    await gateway.restart();
    expect((await gateway.webhook("shop", "{}")).status).toBe(503);
    await gateway.reload(SOURCES);
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    await gateway.close();
  });

  it("changes nothing when a part of it is rejected", async () => {
    const gateway = await startTestGateway({ yaml: SOURCES, env: { ALLOW_PRIVATE_DESTINATIONS: false } });
    const audited = async () => (await gateway.get("/api/v1/audit")).json["data"];
    const before = await audited();
    const edited =
      "event_types:\n  - name: shop.order\n" +
      "tenants:\n  - id: acme\n" +
      "targets:\n  - name: home\n    url: https://example.com/\n" +
      `${SOURCES}    status: paused\n` +
      subscriptions("http://10.0.0.5/", "    target: home\n");
    await expect(gateway.reload(edited)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("The declared subscription warehouse is not valid"),
    });

    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    expect(await audited()).toEqual(before);
    const statuses = ["event-types/shop.order", "tenants/acme", "targets/home"].map(
      async (path) => (await gateway.get(`/api/v1/${path}`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([404, 404, 404]);
    await gateway.reload(edited.replace("http://10.0.0.5/", "https://example.com/"));
    expect((await gateway.webhook("shop", "{}")).json["code"]).toBe("source_paused");
    expect((await gateway.get("/api/v1/targets/home")).status).toBe(200);
    await gateway.close();
  });

  it("is taken over as a whole when a part is saved but not in effect yet, and the log says so", async () => {
    const sink = await openSinkServer();
    const far = { isBroken: false };
    const openStore: PartMakers["openStore"] = (open) => async (url, options) => {
      const store = await open(url, options);
      const loadTenantUsage: typeof store.reads.loadTenantUsage = (ids) =>
        far.isBroken ? Promise.reject(new Error("the usage cannot be read")) : store.reads.loadTenantUsage(ids);
      return withPort(store, "reads", { loadTenantUsage });
    };
    const gateway = await startTestGateway({ yaml: SOURCES + subscriptions(sink.url), makers: { openStore } });
    far.isBroken = true;
    await gateway.reload(
      `${SOURCES}tenants: [{ id: acme, quotas: { open_deliveries: 1 } }]\n` +
        "alerts: { rules: [{ rule: dead_letters, enabled: false }] }\n",
    );
    const rules = (await gateway.get("/api/v1/alerts/rules")).json["data"] as { rule: string; enabled: boolean }[];
    expect(rules.find(({ rule }) => rule === "dead_letters")?.enabled).toBe(false);
    const messages = () => gateway.log.map(({ msg }) => msg);
    expect(messages()).toContain("subscription left the configuration and is inactive");
    expect(messages()).toContain(
      "the configuration is saved but not in effect yet; the gateway puts it into effect by itself",
    );
    expect(messages()).not.toContain("configuration reloaded");

    far.isBroken = false;
    expect((await gateway.get("/api/v1/tenants/acme")).json["quotas"]).toMatchObject({ open_deliveries: 1 });
    await gateway.reload(SOURCES);
    expect(messages()).toContain("configuration reloaded");
    await Promise.all([gateway.close(), sink.close()]);
  });

  it("takes over changes of a source at a reload", async () => {
    const gateway = await startTestGateway({ yaml: SOURCES });
    await gateway.reload(`${SOURCES}    max_bytes: 10\n    id_from: body:/id\n`);
    expect((await gateway.webhook("shop", '{"id":"toolong"}')).status).toBe(413);
    expect((await gateway.webhook("shop", '{"id":1}')).status).toBe(202);
    expect((await gateway.webhook("shop", '{"id":1}')).status).toBe(200);
    await gateway.close();
  });

  it("keeps the secret from the file out of sight, and changes it with the file", async () => {
    const sink = await openSinkServer();
    const secret = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`;
    const yaml = (fill: number) => SOURCES + subscriptions(sink.url, `    secret: ${secret(fill)}\n`);
    const gateway = await startTestGateway({ yaml: yaml(1) });
    await gateway.webhook("shop", "{}");
    await sink.received(1);
    await gateway.reload(yaml(2));
    await gateway.webhook("shop", "{}");
    await sink.received(2);
    const signatures = sink.requests.map(({ headers }) => headers["x-webhook-signature"]);
    expect(signatures[0]).not.toBe(signatures[1]);
    expect((await gateway.get("/api/v1/subscriptions")).text + gateway.logText()).not.toContain("whsec_AQ");
    await Promise.all([gateway.close(), sink.close()]);
  });

  it("that clashes with a name made by API says so in one line, and changes nothing", async () => {
    const gateway = await startTestGateway();
    await gateway.subscribe({ name: "warehouse", url: "http://127.0.0.1:9/" });
    await expect(gateway.reload(subscriptions("http://127.0.0.1:9/"))).rejects.toMatchObject({
      code: "config_invalid",
    });
    expect(await find(gateway, "warehouse")).toMatchObject({ managed_by: "api" });
    await gateway.close();
  });
});
