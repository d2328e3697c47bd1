import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type Answer } from "../support/api-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const PATH = "/api/v1/event-types";
const JSON_TYPE = { "content-type": "application/json" };
const SCHEMA = {
  type: "object",
  properties: { id: { type: "integer" }, note: { type: "string", default: "none" } },
  required: ["id"],
};
const send = (gateway: Pick<TestGateway, "request">, method: string, path: string, body?: unknown): Promise<Answer> =>
  gateway.request(method, path, body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_TYPE });
const names = ({ json }: Answer) => (json["data"] as { name: string }[]).map(({ name }) => name);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

describe("the registry of event types", () => {
  it("keeps a type with all that was said of it, through a restart", async () => {
    const input = {
      name: "order.created",
      description: "New order placed",
      producer: "Odoo Sales",
      consumers: ["Inventory"],
      versions: [{ version: "1.0", schema: SCHEMA, example: { id: 1 } }],
    };
    const created = await gateway.post(PATH, input);
    expect(created.status).toBe(201);
    const shown = { ...input, status: "active", enforce: true, managed_by: "api", deprecated_at: null };
    expect(created.json).toMatchObject(shown);
    expect((await gateway.post(PATH, input)).json["code"]).toBe("conflict");
    await gateway.restart();
    expect((await gateway.get(`${PATH}/order.created`)).json).toEqual(created.json);
  });

  it("is changed by PUT as a whole, by PATCH in part, and version by version", async () => {
    const path = `${PATH}/put.type`;
    const first = await send(gateway, "PUT", path, { description: "one", versions: [{ version: "1.9", schema: {} }] });
    expect(first.status).toBe(201);
    const version = await send(gateway, "PUT", `${path}/versions/1.10`, { schema: SCHEMA, example: { id: 2 } });
    expect((version.json["versions"] as { version: string }[]).map((one) => one.version)).toEqual(["1.9", "1.10"]);
    const patched = await send(gateway, "PATCH", path, { status: "deprecated", replaced_by: "order.created" });
    expect(patched.json).toMatchObject({ description: "one", status: "deprecated", replaced_by: "order.created" });
    expect(patched.json["deprecated_at"]).toMatch(/^20/);
    const active = await send(gateway, "PATCH", path, { status: "active" });
    expect(active.json).toMatchObject({ status: "active", deprecated_at: null });
    expect((await send(gateway, "DELETE", `${path}/versions/1.9`)).json["versions"]).toHaveLength(1);
    expect((await send(gateway, "DELETE", `${path}/versions/1.9`)).status).toBe(404);
    const replaced = await send(gateway, "PUT", path, { name: "put.type", description: "two" });
    expect(replaced.json).toMatchObject({ description: "two", versions: [], replaced_by: null });
    expect((await send(gateway, "DELETE", path)).status).toBe(204);
    for (const method of ["GET", "DELETE"]) expect((await send(gateway, method, path)).status).toBe(404);
    expect((await send(gateway, "PATCH", path, { description: "x" })).status).toBe(404);
  });

  it("is listed by name, page after page", async () => {
    for (const name of ["page.c", "page.a", "page.b"]) await send(gateway, "PUT", `${PATH}/${name}`, {});
    const all: string[] = [];
    let cursor = "";
    for (;;) {
      const page = await gateway.get(`${PATH}?limit=2${cursor}`);
      all.push(...names(page));
      if (page.json["next_cursor"] === null) break;
      cursor = `&cursor=${String(page.json["next_cursor"])}`;
    }
    expect(all).toEqual([...all].sort());
    expect(all).toEqual(expect.arrayContaining(["page.a", "page.b", "page.c"]));
    expect(names(await gateway.get(`${PATH}?status=deprecated`))).toEqual([]);
  });

  it("is read with any key of scope read, and written only by an admin of the whole gateway", async () => {
    const reader = gateway.as(await gateway.createKey(["read"], "acme"));
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    expect((await reader.get(PATH)).status).toBe(200);
    expect((await reader.get(`${PATH}/export`)).status).toBe(200);
    for (const [method, path] of [
      ["POST", PATH],
      ["PUT", `${PATH}/order.created`],
      ["PATCH", `${PATH}/order.created`],
      ["DELETE", `${PATH}/order.created`],
      ["PUT", `${PATH}/order.created/versions/1.0`],
      ["DELETE", `${PATH}/order.created/versions/1.0`],
      ["POST", `${PATH}/import`],
    ] as const) {
      const body = method === "DELETE" ? undefined : { name: "order.created", schema: {} };
      const trimmed = path.endsWith("versions/1.0") ? { schema: {} } : path === PATH ? { name: "x.y" } : {};
      expect((await send(reader, method, path, body && trimmed)).status).toBe(403);
      const refused = await send(bound, method, path, body && trimmed);
      expect([refused.status, refused.json["code"]]).toEqual([403, "forbidden"]);
    }
    expect((await gateway.as(undefined).get(PATH)).status).toBe(401);
  });
});

describe("an event type that is not valid", () => {
  const version = (schema: unknown, example?: unknown) => ({ versions: [{ version: "1.0", schema, example }] });
  const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) });
  it.each([
    ["a pattern for a name", { name: "order.*" }, "name", /./],
    ["a name of the gateway's own", { name: "webhook.suspended" }, "name", /gateway's own/],
    ["a name of a route", { name: "export" }, "name", /route/],
    ["an unknown field", { name: "a.b", colour: 1 }, "colour", /not a known field/],
    ["NUL in a text", { name: "a.b", description: "a\u0000b" }, "description", /./],
    ["an unknown status", { name: "a.b", status: "old" }, "status", /./],
    [
      "deprecated_at of an active one",
      { name: "a.b", deprecated_at: "2026-01-01T00:00:00Z" },
      "deprecated_at",
      /needs/,
    ],
    ["itself as its successor", { name: "a.b", replaced_by: "a.b" }, "replaced_by", /another/],
    [
      "a version twice",
      {
        name: "a.b",
        versions: [
          { version: "1", schema: {} },
          { version: "1", schema: {} },
        ],
      },
      "versions[1].version",
      /same/,
    ],
    ["a schema that is no object", { name: "a.b", ...version(true) }, "versions.0.schema", /object/],
    [
      "a schema that does not compile",
      { name: "a.b", ...version({ type: "objekt" }) },
      "versions[0].schema",
      /not a valid JSON Schema/,
    ],
    [
      "a schema that is too large",
      { name: "a.b", ...version({ title: "x".repeat(70_000) }) },
      "versions[0].schema",
      /64 KB/,
    ],
    ["a schema that is too deep", { name: "a.b", ...version(deep(70)) }, "versions[0].schema", /64 levels/],
    [
      "a remote reference",
      { name: "a.b", ...version({ $ref: "https://example.com/x" }) },
      "versions[0].schema",
      /only places/,
    ],
    ["a schema that is itself", { name: "a.b", ...version({ $ref: "#" }) }, "versions[0].schema", /without end/],
    [
      "an expression that could hang",
      { name: "a.b", ...version({ pattern: "(a)\\1" }) },
      "versions[0].schema",
      /cannot be used/,
    ],
    [
      "an example that does not fit",
      { name: "a.b", ...version(SCHEMA, { id: "1" }) },
      "versions[0].example",
      /\/id must be integer/,
    ],
  ])("is rejected for %s, with field and reason, and nothing is stored", async (_, input, field, reason) => {
    const answer = await gateway.post(PATH, input);
    expect([answer.status, answer.json["code"], answer.json["field"]]).toEqual([422, "invalid_field", field]);
    expect(answer.json["detail"]).toMatch(reason);
    expect((await gateway.get(`${PATH}/a.b`)).status).toBe(404);
  });

  it("is rejected when it is nested deeper than anything could be written again", async () => {
    const nested = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    for (const version of [`"schema":${nested}`, `"schema":{},"example":${nested}`]) {
      const body = `{"name":"a.b","versions":[{"version":"1","schema":{}},{"version":"2",${version}}]}`;
      const answer = await gateway.request("POST", PATH, { body, headers: JSON_TYPE });
      expect([answer.status, answer.json["detail"]]).toEqual([422, expect.stringMatching(/64 levels deep/)]);
      const post = `{"requestBody":{"content":{"application/json":{${version}}}}}`;
      const imported = `{"openapi":"3.1.0","webhooks":{"a.b":{"post":${post}}}}`;
      const refused = await gateway.request("POST", `${PATH}/import`, { body: imported, headers: JSON_TYPE });
      expect(refused.status).toBe(422);
    }
    expect((await gateway.get(`${PATH}/a.b`)).status).toBe(404);
  });

  it("does not replace what was there", async () => {
    await send(gateway, "PUT", `${PATH}/kept.type`, version(SCHEMA));
    for (const answer of [
      await send(gateway, "PUT", `${PATH}/kept.type`, version({ type: 5 })),
      await send(gateway, "PUT", `${PATH}/kept.type/versions/1.0`, { schema: { type: 5 } }),
      await send(gateway, "PUT", `${PATH}/kept.type/versions/a%20b`, { schema: {} }),
      await send(gateway, "PUT", `${PATH}/kept.type`, { name: "other.type" }),
      await send(gateway, "PUT", `${PATH}/a..b`, {}),
    ]) {
      expect(answer.status).toBe(422);
    }
    const kept = await gateway.get(`${PATH}/kept.type`);
    expect(kept.json["versions"]).toMatchObject([{ version: "1.0", schema: SCHEMA }]);
  });
});

describe("an event whose type has a schema", () => {
  beforeAll(async () => {
    const versions = [
      { version: "1.0", schema: SCHEMA },
      { version: "2.0", schema: { ...SCHEMA, required: ["id", "total"] } },
    ];
    await send(gateway, "PUT", `${PATH}/strict.order`, { versions });
    await send(gateway, "PUT", `${PATH}/lax.order`, { versions, enforce: false });
    await send(gateway, "PUT", `${PATH}/webhook.strict`, { versions });
  });
  const publish = (type: string, payload: unknown, more: object = {}) =>
    gateway.publish({ event_type: type, payload, ...more });

  it("is taken when it fits, byte for byte, and no default is filled in", async () => {
    const body = '{"event_type":"strict.order","payload":{ "id" : 12345678901234567890, "note":"\\u00e9" }}';
    // Twice: the first one is checked in the thread, those after it on the loop.
    for (let time = 0; time < 3; time++) {
      const answer = await gateway.request("POST", "/api/v1/events", { body, headers: JSON_TYPE });
      expect(answer.status).toBe(202);
      const shown = await gateway.get(`/api/v1/events/${String(answer.json["event_id"])}`);
      expect(shown.text).toContain('"payload":{ "id" : 12345678901234567890, "note":"\\u00e9" }');
      expect(shown.json["schema_result"]).toEqual({ valid: true });
    }
  });

  it("is rejected when it does not, with the failing paths, and is not stored", async () => {
    for (let time = 0; time < 3; time++) {
      const answer = await publish("strict.order", { note: 5 }, { event_id: "bad-order" });
      expect([answer.status, answer.json["code"]]).toEqual([422, "schema_mismatch"]);
      expect(answer.json).toMatchObject({ field: "payload", event_type: "strict.order", event_version: "1.0" });
      expect(answer.json["errors"]).toEqual([
        { path: "/id", message: "is missing" },
        { path: "/note", message: "must be string" },
      ]);
    }
    expect((await gateway.get("/api/v1/events/bad-order")).status).toBe(404);
  });

  it("is compared with the version that it names", async () => {
    expect((await publish("strict.order", { id: 1 }, { event_version: "1.0" })).status).toBe(202);
    const newer = await publish("strict.order", { id: 1 }, { event_version: "2.0" });
    expect(newer.json["errors"]).toEqual([{ path: "/total", message: "is missing" }]);
    const unknown = await publish("strict.order", { id: 1 }, { event_version: "3.0" });
    expect([unknown.status, unknown.json["code"], unknown.json["field"]]).toEqual([
      422,
      "unknown_version",
      "event_version",
    ]);
    expect(unknown.json["versions"]).toEqual(["1.0", "2.0"]);
  });

  it("is taken by a type that does not enforce, with the mismatch on record", async () => {
    const { json } = await publish("lax.order", { id: "x" }, { metadata: { a: 1 } });
    const event = await gateway.event(String(json["event_id"]));
    expect(event["schema_result"]).toEqual({ valid: false, errors: [{ path: "/id", message: "must be integer" }] });
    expect(event["metadata"]).toEqual({ a: 1 });
    const other = await publish("lax.order", { id: 1 }, { event_version: "9" });
    const shown = await gateway.event(String(other.json["event_id"]));
    expect(shown["schema_result"]).toMatchObject({ valid: false });
  });

  it("costs nothing and shows nothing without a schema", async () => {
    const { json } = await publish("free.order", { any: "thing" });
    expect((await gateway.event(String(json["event_id"])))["schema_result"]).toBeNull();
  });

  it("is checked for itself in a batch, and the others keep their order", async () => {
    const large = { id: 1, note: "x".repeat(200_000) };
    const batch = [
      { event_type: "strict.order", payload: large, event_id: "batch-1" },
      { event_type: "strict.order", payload: {}, event_id: "batch-2" },
      { event_type: "free.order", payload: {}, event_id: "batch-3" },
      { event_type: "strict.order", payload: { id: 4 }, event_id: "batch-4" },
    ];
    const answer = await gateway.publish(batch);
    expect(answer.status).toBe(202);
    const results = answer.json["events"] as Record<string, unknown>[];
    expect(results.map((one) => one["event_id"] ?? one["code"])).toEqual([
      "batch-1",
      "schema_mismatch",
      "batch-3",
      "batch-4",
    ]);
    const { json } = await gateway.get("/api/v1/events?limit=10");
    const stored = (json["data"] as { event_id: string }[]).map((one) => one.event_id).slice(0, 3);
    expect(stored).toEqual(["batch-4", "batch-3", "batch-1"]);
  });

  it("is checked off the loop when it is large", async () => {
    const wrong = await publish("strict.order", { id: "1", note: "x".repeat(300_000) });
    expect(wrong.json["errors"]).toEqual([{ path: "/id", message: "must be integer" }]);
  });

  it("is checked when it comes from a generic source, against the latest version", async () => {
    const fits = await gateway.webhook("strict", '\ufeff{"id":1,"total":2}');
    expect(fits.status).toBe(202);
    const event = await gateway.event(String(fits.json["event_id"]));
    expect(event).toMatchObject({ event_version: "2.0", schema_result: { valid: true } });
    const refused = await gateway.webhook("strict", '{"id":1}');
    expect([refused.status, refused.json["code"]]).toEqual([422, "schema_mismatch"]);
    expect(refused.json["errors"]).toEqual([{ path: "/total", message: "is missing" }]);
    const xml = await gateway.webhook("strict", "<a/>", { "content-type": "application/xml" });
    expect(xml.json["errors"]).toEqual([{ path: "", message: "is not JSON" }]);
    // The log is written on the side.
    await until(async () => (await gateway.rejected("strict")).length === 2);
    for (const { cause } of await gateway.rejected("strict")) expect(cause).toBe("schema_mismatch");
  });

  it("is no longer checked when the version or the type is gone", async () => {
    await send(gateway, "PUT", `${PATH}/short.lived`, { versions: [{ version: "1.0", schema: SCHEMA }] });
    expect((await publish("short.lived", {})).status).toBe(422);
    await send(gateway, "DELETE", `${PATH}/short.lived/versions/1.0`);
    expect((await publish("short.lived", {})).status).toBe(202);
  });
});
