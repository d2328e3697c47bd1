import { shopify } from "../../../src/sources/shopify.ts";
import { JSON_TYPE, arriveSigned, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "hush-hush-0123456789";
const BODY = json({ id: 820_982_911, total_price: "254.98" });

export const fixture: SourceFixture = {
  kind: shopify,
  settings: settingsOf("shopify", [SECRET]),
  sign: (at, body = BODY) =>
    arriveSigned(shopify, "shopify", SECRET, {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "x-shopify-topic": "orders/create",
        "x-shopify-webhook-id": "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
        "x-shopify-event-id": "98880550-7158-44d4-b7cd-2c97c8a091b5",
        "x-shopify-triggered-at": "2026-06-15T11:59:59.123456789Z",
      },
    }),
  expected: { type: "shopify.orders.create", identity: "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043" },
  coversBody: true,
  signatureHeaders: ["x-shopify-hmac-sha256"],
};
