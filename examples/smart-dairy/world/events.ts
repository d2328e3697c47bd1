import { randomUUID } from "node:crypto";

/** An event as the dairy's own publisher writes it. */
export interface DairyEvent {
  event_id: string;
  event_type: string;
  event_version: string;
  timestamp: string;
  source: string;
  tenant_id: number;
  payload: object;
  metadata: object;
  priority: string;
}

/** Every event is of a tenant: the farm that it happened at. */
export const FARM = 7;

function createEvent(source: string, type: string, payload: object, metadata: object = {}): DairyEvent {
  return {
    event_id: randomUUID(),
    event_type: type,
    event_version: "1.0",
    timestamp: new Date().toISOString(),
    source,
    tenant_id: FARM,
    payload,
    metadata,
    priority: type === "health.alert" ? "critical" : "normal",
  };
}

/** An order of the ERP: created and confirmed, and every third paid at once. */
export function createOrder(number: number): DairyEvent[] {
  const order = { order_id: 1000 + number, order_number: `SO-2026-${1000 + number}` };
  const created = {
    ...order,
    customer_id: number,
    customer_email: `customer-${number}@example.com`,
    amount_total: number * 95,
    items: [{ product_id: 7, name: "Pasteurised milk, 1 l", quantity: number, price: 95 }],
  };
  // Half of the customers have left a number.
  const metadata = number % 2 === 0 ? { phone: `0171234${String(5600 + number)}` } : {};
  return [
    createEvent("odoo-sales", "order.created", created, metadata),
    createEvent("odoo-sales", "order.confirmed", order),
    ...(number % 3 === 0 ? [createEvent("odoo-sales", "payment.received", { ...order, amount: number * 95 })] : []),
  ];
}

/** What people in the barn do with their phones. */
export function createFarmEvent(number: number): DairyEvent {
  if (number % 6 === 5) return createEvent("farm-app", "health.alert", { animal: `cow-${number}`, temperature: 40.2 });
  return createEvent("farm-app", "milk.recorded", { animal: `cow-${number}`, litres: 12.5 });
}

const SENSORS = ["sensor.temperature", "sensor.humidity", "sensor.milk_volume"] as const;

export function createReading(number: number): DairyEvent {
  const type = SENSORS[number % SENSORS.length] ?? SENSORS[0];
  return createEvent("iot-gateway", type, { device: `device-${number % 10}`, value: 4 + (number % 7) / 10 });
}
