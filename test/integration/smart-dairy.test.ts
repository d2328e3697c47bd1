import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { memberSpans } from "../../src/model/json.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/smart-dairy/", import.meta.url));

/** As the design document lists them (§3.1 to §3.3): type | description | producer | consumers. */
const LISTED = `
order.created | New order placed | Odoo Sales | Inventory, Accounting, Notifications
order.confirmed | Order confirmed | Odoo Sales | Warehouse, Shipping
order.cancelled | Order cancelled | Odoo Sales | Inventory, Payments
order.delivered | Order delivered | Delivery App | Customer, Analytics
payment.received | Payment completed | Payment Gateway | Sales, Accounting
payment.failed | Payment failed | Payment Gateway | Sales, Customer
invoice.generated | Invoice created | Odoo Accounting | Customer, Tax
inventory.low | Stock below threshold | Inventory Module | Procurement, Alerts
animal.registered | New animal added | Farm Module | RFID System
milk.recorded | Milk production recorded | Farm App | Analytics, Quality
health.alert | Health issue detected | IoT/Health | Veterinarian, Manager
breeding.due | Breeding due date | Farm Module | Farm Workers
calving.expected | Calving approaching | Farm Module | Farm Manager
feed.low | Feed stock low | Inventory | Procurement
sensor.temperature | Temperature reading | IoT Device | Monitoring, Alerts
sensor.humidity | Humidity reading | IoT Device | Monitoring
sensor.milk_volume | Milk meter reading | Milk Meter | Production
device.offline | Device disconnected | IoT Gateway | Support, Alerts
device.battery_low | Low battery alert | IoT Device | Maintenance`;

/** Its registry (appendix A): category and actions. */
const REGISTRY = `
order: created, confirmed, cancelled, shipped, delivered
payment: initiated, completed, failed, refunded
animal: registered, updated, sold, deceased
milk: recorded, quality_checked
health: alert, treatment_started, recovered`;

/**
 * Written by the design's own class (§2.3, with pydantic 1 and 2 alike): `json.dumps(event.dict(), default=str)`. Nulls,
 * integers as ids, `published_at`, times with a space and without an offset.
 */
const WRITTEN = readFileSync(new URL("../support/dairy-events.ndjson", import.meta.url), "utf8")
  .trimEnd()
  .split("\n");

const listed = LISTED.trim()
  .split("\n")
  .map((line) => line.split(" | "))
  .map(([name = "", description, producer, consumers = ""]) => ({
    name,
    description,
    producer,
    consumers: consumers.split(", "),
  }));
const registered = REGISTRY.trim()
  .split("\n")
  .flatMap((line) => {
    const [category, actions = ""] = line.split(": ");
    return actions.split(", ").map((action) => `${category}.${action}`);
  });

let gateway: TestGateway;
beforeAll(async () => {
  const yaml = readFileSync(`${EXAMPLE}posthorn.yaml`, "utf8");
  gateway = await startTestGateway({
    yaml: yaml.replace("event_types_dir: event-types", `event_types_dir: ${EXAMPLE}event-types`),
  });
});
afterAll(() => gateway.close());

describe("the example of the dairy", () => {
  it("loads as it is, from anywhere", () => {
    const { config, warnings } = loadConfig({ file: `${EXAMPLE}posthorn.yaml`, env: {}, cwd: "/" });
    expect(warnings).toEqual([]);
    expect(config.eventTypes.length).toBe(29);
  });

  // shows: C21, C22, C60
  it("knows every event type of the design, with what is said of it there, and no other", async () => {
    const { json } = await gateway.get("/api/v1/event-types?limit=500");
    const known = json["data"] as { name: string; producer: string | null; consumers: string[] }[];
    for (const type of listed) expect(known).toContainEqual(expect.objectContaining(type));
    const names = new Set([...listed.map(({ name }) => name), ...registered]);
    expect(known.map(({ name }) => name)).toEqual([...names].sort());
    for (const { producer, consumers } of known) {
      expect(producer).not.toBeNull();
      expect(consumers).not.toEqual([]);
    }
  });

  // shows: C20
  it("takes an order as the design describes it, and says what is wrong with another", async () => {
    const { json } = await gateway.get("/api/v1/event-types/order.created");
    const [version] = json["versions"] as { version: string; example: object }[];
    expect(version?.version).toBe("1.0");
    const payload = version?.example ?? {};
    expect((await gateway.publish({ event_type: "order.created", payload })).status).toBe(202);
    const least = { order_id: 1, order_number: "a", customer_id: 2, customer_email: "b", amount_total: 0.5, items: [] };
    expect((await gateway.publish({ event_type: "order.created", payload: least })).status).toBe(202);
    const wrong = await gateway.publish({
      event_type: "order.created",
      payload: { ...least, order_id: "1", items: {} },
    });
    expect(wrong.status).toBe(422);
    expect((wrong.json["errors"] as { path: string }[]).map(({ path }) => path)).toEqual(["/order_id", "/items"]);
    for (const field of Object.keys(least)) {
      const { [field as keyof typeof least]: _, ...rest } = least;
      const missing = await gateway.publish({ event_type: "order.created", payload: rest });
      expect(missing.json["errors"]).toEqual([{ path: `/${field}`, message: "is missing" }]);
    }
  });

  // shows: C6, C17, C18, C19
  it("takes events exactly as its own Python writes them, and delivers their payloads byte for byte", async () => {
    const sink = await openSinkServer();
    try {
      for (const tenantId of ["7", "default"]) {
        await gateway.subscribe({ name: `partner of ${tenantId}`, url: sink.url, tenant_id: tenantId, events: ["*"] });
      }
      for (const written of WRITTEN) {
        const answer = await gateway.request("POST", "/api/v1/events", { body: written });
        const { event_id } = JSON.parse(written) as { event_id: string };
        expect([answer.status, answer.json]).toEqual([202, { event_id, deliveries: 1, duplicate: false }]);
      }
      const received = await sink.received(WRITTEN.length);
      for (const written of WRITTEN) {
        const { event_id, timestamp } = JSON.parse(written) as { event_id: string; timestamp: string };
        const body = received.find(({ headers }) => headers["webhook-id"] === event_id)?.body.toString() ?? "";
        expect(body).toContain(`"data":${payloadOf(written)}`);
        const utc = `${timestamp.replace(" ", "T").slice(0, 23)}Z`;
        expect(JSON.parse(body)).toMatchObject({ event_id, timestamp: new Date(utc).toISOString() });
      }
    } finally {
      await sink.close();
    }
    const order = await gateway.event("0f8fad5b-d9cb-469f-a165-70867728950e");
    expect(order).toMatchObject({
      event_type: "order.created",
      tenant_id: "7",
      user_id: "42",
      source: "odoo-sales",
      source_id: "SO1001",
      timestamp: "2026-02-18T09:30:00.123Z",
      priority: "high",
      metadata: { shift: "morning" },
      schema_result: { valid: true },
    });
    expect(order["session_id"] ?? null).toBeNull();
    // When it was on disk, not when the producer's clock says that it was sent.
    expect(order["published_at"]).not.toBe("2026-02-18T09:30:01.000Z");
  });

  // shows: C17
  it("takes them in a batch, too", async () => {
    const batch = WRITTEN.map((written) => written.replace(/"event_id": "/, '"event_id": "batch-'));
    const { status, json } = await gateway.request("POST", "/api/v1/events", { body: `[${batch.join(", ")}]` });
    expect(status).toBe(202);
    const ids = batch.map((written) => (JSON.parse(written) as { event_id: string }).event_id);
    expect((json["events"] as { event_id: string }[]).map(({ event_id }) => event_id)).toEqual(ids);
  });

  it("shows its partners the catalogue, without the names of other receivers", async () => {
    const page = await gateway.as(undefined).get("/catalog");
    for (const { name } of listed) expect(page.text).toContain(`id="${name}"`);
    expect(page.text).not.toMatch(/Producer|Consumers/);
  });
});

function payloadOf(event: string): string {
  const bytes = Buffer.from(event);
  const { start, end } = memberSpans(bytes, 0, bytes.length).get("payload") ?? { start: 0, end: 0 };
  return bytes.toString("utf8", start, end);
}
