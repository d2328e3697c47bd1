import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiClient, ShownEvent } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("searching events", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    sink = await openSinkServer({
      answer: ({ body }) => ({ status: body.toString().includes("refuse me") ? 400 : 200 }),
    });
    gateway = await startTestGateway();
    await gateway.subscribe({ name: "orders", url: sink.url, events: ["order.#"] });
    const publish = (event: object) => gateway.publish({ event_type: "order.created", payload: {}, ...event });
    await publish({ event_id: "order-1", ordering_key: "customer-3", metadata: { team: "blue", size: 7 } });
    await publish({ event_id: "order-2", payload: { note: "Refuse me, REFUSE ME, refuse me" } });
    await publish({ event_id: "order-3", event_type: "order.item.added", source: "warehouse" });
    await publish({ event_id: "lonely-1", event_type: "nobody.cares", metadata: { team: "red" } });
    await publish({ event_id: "foreign-1", tenant_id: "acme", payload: { note: "Acme's own" } });
    await gateway.webhook("shop", JSON.stringify({ text: "Grüße aus Köln" }));
    await gateway.settled();
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  async function find(query: string, client: ApiClient = gateway): Promise<string[]> {
    const { json, status } = await client.get(`/api/v1/events?${query}`);
    expect(status).toBe(200);
    return (json["data"] as ShownEvent[]).map(({ event_id }) => event_id);
  }

  it.each([
    ["event_type=order.created", ["foreign-1", "order-2", "order-1"]],
    ["event_type=order.%23", ["foreign-1", "order-3", "order-2", "order-1"]],
    ["event_type=*.item.*", ["order-3"]],
    ["source=warehouse", ["order-3"]],
    ["tenant_id=acme", ["foreign-1"]],
    ["status=FAILED", ["order-2"]],
    ["unmatched=true&event_type=nobody.*", ["lonely-1"]],
    ["unmatched=false&status=COMPLETED", ["order-3", "order-1"]],
    ["id=order-1", ["order-1"]],
    ["id=order-*", ["order-3", "order-2", "order-1"]],
    ["ordering_key=customer-3", ["order-1"]],
    ["label=team", ["lonely-1", "order-1"]],
    ["label=team=blue", ["order-1"]],
    ["label=team&label=size%3D7", ["order-1"]],
    ["label=size=8", []],
    ["text=refuse%20me", ["order-2"]],
    ["text=acme%27s", ["foreign-1"]],
    ["text=acme%27s&tenant_id=default", []],
    ["since=2001-01-01T00:00:00Z&until=2001-01-02T00:00:00Z", []],
  ])("finds by %s", async (query, ids) => {
    expect(await find(query)).toEqual(ids);
  });

  it("finds text beyond ASCII in the bytes of a webhook", async () => {
    expect(await find(`text=${encodeURIComponent("grüße aus KÖLN")}&source=shop`)).toHaveLength(1);
  });

  it("says that everything was searched, or from where it goes on", async () => {
    const whole = await gateway.get("/api/v1/events?text=nothing");
    expect(whole.json).toEqual({ data: [], next_cursor: null, searched_until: null, skipped_bodies: 0 });
    const first = await gateway.get("/api/v1/events?limit=2");
    expect(first.json).toMatchObject({ next_cursor: expect.any(String), searched_until: expect.any(String) });
    const [, second] = first.json["data"] as ShownEvent[];
    expect(first.json["searched_until"]).toBe(second?.["received_at"]);
    expect(first.json).not.toHaveProperty("skipped_bodies");
  });

  it.each([
    ["event_type", "event_type=order..created"],
    ["event_type", "event_type=ord%20er.*"],
    ["event_type", "event_type="],
    ["status", "status=DONE"],
    ["unmatched", "unmatched=perhaps"],
    ["id", "id=a.b"],
    ["id", "id=*"],
    ["id", "id=a**"],
    ["since", "since=yesterday"],
    ["since", "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z"],
    ["until", "until=2026-13-01T00:00:00Z"],
    ["text", "text="],
    ["text", "text=a%00b"],
    ["text", `text=${"x".repeat(257)}`],
    ["ordering_key", "ordering_key=a%00"],
    ["label", "label="],
    ["label", "label==red"],
    ["label", `label=${Array.from({ length: 9 }, (_, i) => `l${i}`).join("&label=")}`],
    ["cursor", "cursor=x"],
    ["limit", "limit=0"],
    ["colour", "colour=red"],
  ])("rejects a bad %s: %s", async (field, query) => {
    for (const path of ["events", "events/export"]) {
      if (path !== "events" && ["cursor", "limit"].includes(field)) continue;
      const { status, json } = await gateway.get(`/api/v1/${path}?${query}`);
      expect([status, json["code"], json["field"]]).toEqual([422, "invalid_field", expect.stringContaining(field)]);
    }
  });

  it("shows a key that is bound to a tenant nothing of others, whatever it asks for", async () => {
    const acme = gateway.as(await gateway.createKey(["read"], "acme"));
    for (const query of [
      "",
      "tenant_id=default",
      "event_type=order.%23",
      "text=note",
      "id=order-*",
      "status=COMPLETED",
    ]) {
      expect((await find(query, acme)).filter((id) => id !== "foreign-1")).toEqual([]);
    }
    expect(await find("id=order-1", acme)).toEqual([]);
    expect(await find("text=own", acme)).toEqual(["foreign-1"]);
  });

  describe("the export", () => {
    async function lines(query: string, client: ApiClient = gateway): Promise<Record<string, unknown>[]> {
      const { status, text } = await client.get(`/api/v1/events/export?${query}`);
      expect(status).toBe(200);
      return text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    }

    it("has a line for each event that fits, newest first, with its payload", async () => {
      const found = await lines("event_type=order.%23&tenant_id=default");
      expect(found.map(({ event_id }) => event_id)).toEqual(["order-3", "order-2", "order-1"]);
      expect(found[1]).toMatchObject({ status: "FAILED", payload: { note: expect.stringContaining("Refuse") } });
      expect(await lines("text=nothing")).toEqual([]);
    });

    it("keeps to one line a payload that has several, and its large numbers", async () => {
      const body = '{"event_type":"spaced.out","payload":{\n"n":\r\n12345678901234567890}}';
      await gateway.request("POST", "/api/v1/events", { body, headers: { "content-type": "application/json" } });
      const { text } = await gateway.get("/api/v1/events/export?event_type=spaced.out");
      expect(text.split("\n")).toHaveLength(2);
      expect(text).toContain("12345678901234567890");
    });

    it("is only of the tenant that the key is bound to", async () => {
      const acme = gateway.as(await gateway.createKey(["read"], "acme"));
      expect((await lines("", acme)).map(({ event_id }) => event_id)).toEqual(["foreign-1"]);
    });
  });
});
