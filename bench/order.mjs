// An order of 1 KB with 30 fields, and the JSON Schema that it fits.

const FIELDS = {
  id: ["ord_1001", { type: "string", minLength: 1, maxLength: 64 }],
  number: [1001, { type: "integer", minimum: 1 }],
  status: ["paid", { enum: ["open", "paid", "sent", "cancelled"] }],
  created_at: ["2026-01-01T12:00:00Z", { type: "string", format: "date-time" }],
  currency: ["PLN", { type: "string", pattern: "^[A-Z]{3}$" }],
  total: ["1308.00", { type: "string", pattern: "^[0-9]{1,12}\\.[0-9]{2}$" }],
  tax: ["244.59", { type: "string", pattern: "^[0-9]{1,12}\\.[0-9]{2}$" }],
  discount: ["0.00", { type: "string", pattern: "^[0-9]{1,12}\\.[0-9]{2}$" }],
  channel: ["web", { enum: ["web", "app", "phone"] }],
  language: ["pl", { type: "string", pattern: "^[a-z]{2}$" }],
  customer_id: ["cus_7", { type: "string", minLength: 1, maxLength: 64 }],
  first_name: ["Maria", { type: "string", maxLength: 100 }],
  last_name: ["Nowak", { type: "string", maxLength: 100 }],
  email: ["maria.nowak@example.com", { type: "string", format: "email" }],
  phone: ["+48 600 100 200", { type: "string", maxLength: 32 }],
  is_company: [false, { type: "boolean" }],
  street: ["ul. Mleczna 12", { type: "string", maxLength: 200 }],
  city: ["Warszawa", { type: "string", maxLength: 100 }],
  postal_code: ["00-001", { type: "string", pattern: "^[0-9]{2}-[0-9]{3}$" }],
  country: ["PL", { type: "string", pattern: "^[A-Z]{2}$" }],
  delivery: ["courier", { enum: ["courier", "locker", "pickup"] }],
  delivery_cost: ["12.00", { type: "string", pattern: "^[0-9]{1,12}\\.[0-9]{2}$" }],
  delivery_days: [2, { type: "integer", minimum: 0, maximum: 60 }],
  payment: ["card", { enum: ["card", "transfer", "cash"] }],
  payment_id: ["pay_88", { type: ["string", "null"] }],
  weight_kg: [14.5, { type: "number", minimum: 0 }],
  gift: [false, { type: "boolean" }],
  newsletter: [true, { type: "boolean" }],
  source: ["campaign-17", { type: "string", maxLength: 64 }],
};

const LINE = { sku: "A-100", name: "Milk, whole, 1 l", quantity: 12, price: "1.09" };
const LINES_SCHEMA = {
  type: "array",
  minItems: 1,
  items: {
    type: "object",
    required: ["sku", "quantity", "price"],
    properties: {
      sku: { type: "string", minLength: 1 },
      name: { type: "string" },
      quantity: { type: "integer", minimum: 1 },
      price: { type: "string", pattern: "^[0-9]{1,12}\\.[0-9]{2}$" },
    },
  },
};

const members = (at) => Object.fromEntries(Object.entries(FIELDS).map(([name, pair]) => [name, pair[at]]));

export const ORDER_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  required: [...Object.keys(FIELDS), "lines"],
  properties: { ...members(1), lines: LINES_SCHEMA },
};

export function createOrder(bytes) {
  const order = { ...members(0), lines: [LINE] };
  while (JSON.stringify({ ...order, lines: [...order.lines, LINE] }).length <= bytes) order.lines.push(LINE);
  return JSON.stringify(order);
}
