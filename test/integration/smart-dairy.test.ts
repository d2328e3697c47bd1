import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
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

  it("shows its partners the catalogue", async () => {
    const page = await gateway.as(undefined).get("/catalog");
    for (const { name } of listed) expect(page.text).toContain(`id="${name}"`);
  });
});
