import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type Answer } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const ORDER = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  required: ["id", "total"],
  properties: { id: { type: "integer" }, total: { type: "number", minimum: 0 } },
};
const XSD = `<?xml version="1.0"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="order"><xs:complexType><xs:sequence>
    <xs:element name="id" type="xs:integer"/>
    <xs:element name="total" type="xs:decimal"/>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>`;

let gateway: TestGateway;
let sink: SinkServer;
let number = 0;
const fresh = () => `orders-${number++}`;

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
});
afterAll(() => Promise.all([gateway.close(), sink.close()]));

function put(endpoint: string, document: unknown, contentType = "application/json"): Promise<Answer> {
  const body = typeof document === "string" ? document : JSON.stringify(document);
  return gateway.request("PUT", `/validations/${endpoint}`, { body, headers: { "content-type": contentType } });
}

const xml = (endpoint: string, body: string) => gateway.webhook(endpoint, body, { "content-type": "application/xml" });

describe("a validation", () => {
  // shows: B13, B28, B39
  it("lets through what conforms, and rejects the rest with every failing path", async () => {
    const endpoint = fresh();
    const { status, json } = await put(endpoint, ORDER);
    expect([status, json]).toEqual([200, { status: "validation_updated", endpoint }]);
    for (let n = 0; n < 3; n++) {
      expect((await gateway.webhook(endpoint, '{"id":1,"total":2.5}')).status).toBe(202);
      const refused = await gateway.webhook(endpoint, '{"id":"1"}');
      expect(refused.status).toBe(422);
      expect(refused.json).toMatchObject({ code: "validation_failed", endpoint, validation: endpoint, version: 1 });
      expect(refused.json["errors"]).toEqual(
        expect.arrayContaining([
          { path: "/total", message: "is missing" },
          { path: "/id", message: "must be integer" },
        ]),
      );
    }
  });

  // shows: B4, B25
  it("keeps what it rejects out of the queue, and in the log of requests with the cause", async () => {
    const endpoint = fresh();
    await put(endpoint, ORDER);
    await gateway.subscribe({ name: endpoint, url: sink.url, events: [`webhook.${endpoint}`] });
    await gateway.webhook(endpoint, '{"id":1}');
    await gateway.webhook(endpoint, "{broken");
    expect((await gateway.webhook(endpoint, '{"id":7,"total":1}')).json).toMatchObject({ deliveries: 1 });
    await until(async () => (await gateway.rejected(endpoint)).length === 2);
    const causes = (await gateway.rejected(endpoint)).map(({ cause, outcome }) => `${outcome} ${cause}`);
    expect(new Set(causes)).toEqual(new Set(["rejected unreadable_body", "rejected validation_failed"]));
    const [received] = await sink.received(1);
    expect(received?.body.toString()).toBe('{"id":7,"total":1}');
    const { json } = await gateway.get(`/api/v1/events?source=${endpoint}`);
    expect(json["data"]).toHaveLength(1);
  });

  // shows: B27, B54
  it("takes effect at once, and an unusable one leaves the one before in force", async () => {
    const endpoint = fresh();
    await put(endpoint, ORDER);
    expect((await gateway.webhook(endpoint, "{}")).status).toBe(422);
    expect((await put(endpoint, { type: "objekt" })).json).toMatchObject({ status: 422, code: "invalid_validation" });
    expect((await gateway.webhook(endpoint, "{}")).status).toBe(422);
    await put(endpoint, { type: "object" });
    expect((await gateway.webhook(endpoint, "{}")).status).toBe(202);
    expect((await gateway.webhook(endpoint, "[]")).status).toBe(422);
  });

  // shows: B13
  it("may be an XML Schema", async () => {
    const endpoint = fresh();
    expect((await put(endpoint, XSD, "application/xml")).status).toBe(200);
    expect((await xml(endpoint, "<order><id>1</id><total>2.5</total></order>")).status).toBe(202);
    const refused = await xml(endpoint, "<order>\n<id>x</id>\n<total>y</total></order>");
    expect(refused.status).toBe(422);
    expect(refused.json["errors"]).toEqual([
      { path: "/order/id", message: expect.stringContaining("'x' is not a valid value"), line: 2 },
      { path: "/order/total", message: expect.stringContaining("'y' is not a valid value"), line: 3 },
    ]);
    const shown = await gateway.get(`/validations/${endpoint}`);
    expect(shown.headers.get("content-type")).toMatch(/^application\/xml/);
    expect(shown.text).toBe(XSD);
  });

  it("is chosen by the kind of the body where there are two, and rejects what it is not for", async () => {
    const both = fresh();
    await put(both, ORDER);
    expect((await xml(both, "<order/>")).json).toMatchObject({
      code: "validation_failed",
      errors: [{ path: "", message: "is XML, and the validation is for JSON" }],
    });
    await put(both, XSD, "text/xml");
    expect((await xml(both, "<order><id>1</id><total>1</total></order>")).status).toBe(202);
    expect((await gateway.webhook(both, '{"id":1,"total":1}')).status).toBe(202);
    const form = await gateway.webhook(both, "a=b", { "content-type": "application/x-www-form-urlencoded" });
    expect(form.json).toMatchObject({
      status: 422,
      errors: [{ message: expect.stringMatching(/neither JSON nor XML/) }],
    });
  });

  // shows: B13
  it("may have rules, alone or beside a schema", async () => {
    const rules = [
      {
        when: { data: { status: "paid" } },
        require: { data: { payment: { method: { $exist: true } } } },
        message: "a paid order says how",
      },
      { require: { headers: { "X-Shop": { $in: ["a", "b"] } } }, message: "comes from a known shop" },
    ];
    for (const document of [{ rules }, { ...ORDER, "x-rules": rules }]) {
      const endpoint = fresh();
      expect((await put(endpoint, document)).status).toBe(200);
      const order = { id: 1, total: 1 };
      const send = (body: object, shop: string) =>
        gateway.webhook(endpoint, JSON.stringify(body), { "x-shop": shop, "content-type": "application/json" });
      for (let n = 0; n < 2; n++) {
        expect((await send({ ...order, status: "open" }, "a")).status).toBe(202);
        expect((await send({ ...order, status: "paid" }, "c")).json["errors"]).toEqual([
          { path: "/payment/method", message: "a paid order says how" },
          { path: "headers.x-shop", message: "comes from a known shop" },
        ]);
      }
    }
  });
});

describe("the validation of default", () => {
  // shows: B21
  it("is for all endpoints that have none, and for no others", async () => {
    const own = fresh();
    await put(own, { type: "array" });
    await put("default", { type: "object", required: ["kind"] });
    try {
      const refused = await gateway.webhook(fresh(), "{}");
      expect(refused.json).toMatchObject({ code: "validation_failed", validation: "default" });
      expect((await gateway.webhook(fresh(), '{"kind":1}')).status).toBe(202);
      expect((await gateway.webhook(own, "[]")).status).toBe(202);
    } finally {
      expect((await gateway.request("DELETE", "/validations/default")).status).toBe(204);
    }
    expect((await gateway.webhook(fresh(), "{}")).status).toBe(202);
  });
});

describe("strict mode", () => {
  // shows: B22, B23
  it("rejects webhooks for which there is no validation", async () => {
    const strict = await startTestGateway({ yaml: "validation_mode: strict" });
    try {
      const refused = await strict.webhook("orders", "{}");
      expect(refused.json).toMatchObject({ status: 422, code: "validation_not_found", endpoint: "orders" });
      await until(async () => (await strict.rejected("orders")).some(({ cause }) => cause === "validation_not_found"));
      const headers = { "content-type": "application/json" };
      await strict.request("PUT", "/validations/orders", { body: "{}", headers });
      expect((await strict.webhook("orders", "{}")).status).toBe(202);
    } finally {
      await strict.close();
    }
  });
});
