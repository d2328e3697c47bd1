import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const PATH = "/api/v1/event-types";
const schema = (required: string[]) => ({ type: "object", required });
const webhook = (required: string[], more: object = {}) => ({
  post: { requestBody: { content: { "application/json": { schema: schema(required) } } }, ...more },
});
const document = (webhooks: object) => ({ openapi: "3.1.0", info: { title: "x", version: "1" }, webhooks });

let gateway: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  other = await startTestGateway({ env: { CATALOG_PUBLIC: true } });
});
afterAll(() => Promise.all([gateway.close(), other.close()]));

describe("import and export of event types", () => {
  it("tells first what would change, then changes it, then has nothing to do", async () => {
    const given = document({ "order.created": webhook(["id"]), "order.gone": webhook([], { deprecated: true }) });
    const created = ["order.created", "order.gone"];
    const dry = await gateway.post(`${PATH}/import?dry_run=true`, given);
    expect(dry.json).toEqual({ dry_run: true, created, updated: [], unchanged: [] });
    expect((await gateway.get(PATH)).json["data"]).toEqual([]);
    expect((await gateway.post(`${PATH}/import`, given)).json).toEqual({ ...dry.json, dry_run: false });
    expect((await gateway.post(`${PATH}/import`, given)).json).toMatchObject({
      created: [],
      updated: [],
      unchanged: created,
    });
    expect((await gateway.publish({ event_type: "order.created", payload: {} })).status).toBe(422);
  });

  it("adds versions to a known type and keeps what the document does not say", async () => {
    await gateway.request("PATCH", `${PATH}/order.created`, {
      body: '{"producer":"shop","enforce":false}',
      headers: { "content-type": "application/json" },
    });
    const next = document({ "order.created": webhook(["id", "total"], { "x-posthorn": { version: "2.0" } }) });
    expect((await gateway.post(`${PATH}/import`, next)).json).toMatchObject({ updated: ["order.created"] });
    const { json } = await gateway.get(`${PATH}/order.created`);
    expect(json).toMatchObject({
      producer: "shop",
      enforce: false,
      versions: [{ version: "1.0" }, { version: "2.0" }],
    });
  });

  it("stores nothing of a document in which one schema cannot be used", async () => {
    const refused = await gateway.post(
      `${PATH}/import`,
      document({ "fine.one": webhook([]), "bad.one": webhook([1 as unknown as string]) }),
    );
    expect([refused.status, refused.json["code"], refused.json["event_type"]]).toEqual([
      422,
      "invalid_field",
      "bad.one",
    ]);
    expect((await gateway.get(`${PATH}/fine.one`)).status).toBe(404);
    for (const body of [{ openapi: "3.0.0", webhooks: {} }, {}, document({ "a b": webhook([]) })]) {
      expect((await gateway.post(`${PATH}/import`, body)).status).toBe(422);
    }
  });

  it("carries a whole registry to another gateway", async () => {
    const exported = await gateway.get(`${PATH}/export`);
    expect(exported.headers.get("content-type")).toContain("application/json");
    expect(exported.json["openapi"]).toBe("3.1.0");
    expect((await other.post(`${PATH}/import`, exported.json)).json["created"]).toHaveLength(2);
    expect((await other.get(`${PATH}/export`)).json).toEqual(exported.json);
  });
});

describe("the catalogue", () => {
  it("is not there unless the operator wants it", async () => {
    const answer = await gateway.get("/catalog");
    expect([answer.status, answer.json["code"]]).toEqual([404, "not_found"]);
  });

  it("is open to everybody then, under a strict policy, and follows the registry", async () => {
    const partner = other.as(undefined);
    const page = await partner.get("/catalog");
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(page.text).toContain('id="order.created"');
    await other.post(PATH, { name: "new.type" });
    const before = { "if-none-match": page.headers.get("etag") ?? "" };
    const changed = await partner.request("GET", "/catalog", { headers: before });
    expect([changed.status, changed.text]).toEqual([200, expect.stringContaining('id="new.type"')]);
  });
});
