import { cloudevents } from "../../../src/sources/cloudevents.ts";
import { SIGNED_AT, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "token-1234567890abcdef";
const TYPE = { "content-type": "application/cloudevents+json" };
const BODY = json({ specversion: "1.0", id: "A-1", source: "/shop", type: "com.example.OrderCreated", data: { n: 1 } });

const ask = (headers: Record<string, string>) =>
  arrive("events", {
    at: SIGNED_AT,
    method: "OPTIONS",
    headers: { "webhook-request-origin": "shop.example.com", ...headers },
  });

export const fixture: SourceFixture = {
  kind: cloudevents,
  settings: settingsOf("events", [SECRET], { allowed_origins: ["shop.example.com"], allowed_rate: 120 }),
  sign: (at, body = BODY) => arrive("events", { at, body, headers: { ...TYPE, authorization: `Bearer ${SECRET}` } }),
  expected: { type: "cloudevents.com.example.order_created", identity: "/shop:A-1" },
  handshakes: [{ "webhook-request-rate": "1000" }, {}].map((headers: Record<string, string>) => ({
    request: ask(headers),
    answer: {
      status: 200,
      headers: { allow: "POST", "webhook-allowed-origin": "shop.example.com", "webhook-allowed-rate": "120" },
    },
  })),
  coversBody: false,
  signatureHeaders: ["authorization"],
  forgeries: [
    {
      name: "another token in the query",
      request: (at) => arrive("events", { at, body: BODY, headers: TYPE, query: "access_token=another-123456789" }),
    },
  ],
};
