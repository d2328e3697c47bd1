import { hmacOf, type Sample, type SampleFacts } from "./sample.ts";

const told = (topic: string, body: object) => {
  return ({ at, id }: SampleFacts) => ({
    headers: {
      "x-shopify-topic": topic,
      "x-shopify-shop-domain": "sample.myshopify.com",
      "x-shopify-webhook-id": id,
      "x-shopify-triggered-at": new Date(at).toISOString(),
    },
    body,
  });
};

export const shopify: Sample = {
  kind: "shopify",
  needsSecret: true,
  events: {
    "orders/create": told("orders/create", { id: 820_982_911, total_price: "254.98", currency: "EUR" }),
    "orders/paid": told("orders/paid", { id: 820_982_911, financial_status: "paid" }),
    "products/update": told("products/update", { id: 788_032_119, title: "Milk, 1 l" }),
  },
  sign: ({ body }, { secret }) => ({
    headers: { "x-shopify-hmac-sha256": hmacOf("sha256", secret, [body], "base64") },
  }),
};
