import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../support/api-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const JSON_TYPE = "application/json";
const XML_TYPE = "application/xml";
const XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"';
const XSD = `<xs:schema ${XS}><xs:element name="o" type="xs:int"/></xs:schema>`;

let gateway: TestGateway;
let number = 0;
const fresh = () => `route-${number++}`;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

function put(
  endpoint: string,
  document: unknown,
  type = JSON_TYPE,
  more: Record<string, string> = {},
): Promise<Answer> {
  const body = typeof document === "string" ? document : JSON.stringify(document);
  return gateway.request("PUT", `/validations/${endpoint}`, { body, headers: { "content-type": type, ...more } });
}

function tryOut(endpoint: string, body: string, type = JSON_TYPE, query = ""): Promise<Answer> {
  return gateway.request("POST", `/validations/${endpoint}/test${query}`, { body, headers: { "content-type": type } });
}

const remove = (path: string) => gateway.request("DELETE", `/validations/${path}`);
const rollBack = (endpoint: string, version: unknown) => gateway.post(`/validations/${endpoint}/rollback`, { version });
const rowsOf = ({ json }: Answer) => json["data"] as Record<string, unknown>[];

describe("versions", () => {
  it("are made by each change, and by nothing else", async () => {
    const endpoint = fresh();
    await put(endpoint, { title: "a" });
    await put(endpoint, { title: "a" });
    await put(endpoint, XSD, XML_TYPE);
    await put(endpoint, { title: "b" });
    await put(endpoint, { type: "nonsense" });
    await remove(`${endpoint}?format=xsd`);
    const rows = rowsOf(await gateway.get(`/validations/${endpoint}/versions`));
    expect(rows.map(({ version, format, deleted, in_force }) => [version, format, deleted, in_force])).toEqual([
      [4, "xsd", true, false],
      [3, "json", false, true],
      [2, "xsd", false, false],
      [1, "json", false, false],
    ]);
    const page = await gateway.get(`/validations/${endpoint}/versions?limit=3`);
    const next = await gateway.get(
      `/validations/${endpoint}/versions?limit=3&cursor=${String(page.json["next_cursor"])}`,
    );
    expect(rowsOf(next).map(({ version }) => version)).toEqual([1]);
    expect((await gateway.get(`/validations/${endpoint}?version=1`)).text).toBe('{"title":"a"}');
    expect((await gateway.get(`/validations/${endpoint}?version=2`)).text).toBe(XSD);
    expect((await gateway.get(`/validations/${endpoint}?version=4`)).status).toBe(404);
    expect((await gateway.get(`/validations/${endpoint}?version=9`)).status).toBe(404);
  });

  it("come back as a new version, and take effect at once, also after a deletion", async () => {
    const endpoint = fresh();
    await put(endpoint, { type: "array" });
    await put(endpoint, { type: "object" });
    expect((await gateway.webhook(endpoint, "[]")).status).toBe(422);
    const back = await rollBack(endpoint, 1);
    expect(back.json).toEqual({ status: "validation_updated", endpoint, version: 3, restored_from: 1 });
    expect((await gateway.webhook(endpoint, "[]")).status).toBe(202);
    expect((await remove(endpoint)).status).toBe(204);
    expect((await gateway.get(`/validations/${endpoint}`)).status).toBe(404);
    expect((await gateway.webhook(endpoint, "5")).status).toBe(202);
    expect((await rollBack(endpoint, 2)).json).toMatchObject({ version: 5, restored_from: 2 });
    expect((await gateway.webhook(endpoint, "[]")).status).toBe(422);
    expect(rowsOf(await gateway.get(`/validations/${endpoint}/versions`))[0]).toMatchObject({ restored_from: 2 });
  });

  it("cannot be brought back where there is nothing to bring", async () => {
    const endpoint = fresh();
    await put(endpoint, {});
    await remove(endpoint);
    for (const [version, reason] of [
      [2, /is a deletion/],
      [7, /has no version 7/],
      [0, /must be >= 1/],
      ["1", /must be integer/],
    ] as const) {
      const { json } = await rollBack(endpoint, version);
      expect(json).toMatchObject({ status: 422, code: "invalid_field", field: "version" });
      expect(json["detail"]).toMatch(reason);
    }
    expect((await rollBack(fresh(), 1)).status).toBe(404);
    expect((await gateway.get(`/validations/${fresh()}/versions`)).status).toBe(404);
    expect((await remove(endpoint)).status).toBe(404);
  });

  it("survive a restart, all of them", async () => {
    const endpoint = fresh();
    await put(endpoint, { type: "array" });
    await put(endpoint, { type: "object" });
    await gateway.restart();
    expect((await gateway.webhook(endpoint, "[]")).status).toBe(422);
    expect((await gateway.webhook(endpoint, "{}")).status).toBe(202);
    expect(rowsOf(await gateway.get(`/validations/${endpoint}/versions`))).toHaveLength(2);
  });

  it("are not overwritten by somebody who has not seen the latest", async () => {
    const endpoint = fresh();
    const { headers } = await put(endpoint, { title: "a" });
    const etag = headers.get("etag") ?? "";
    expect((await gateway.get(`/validations/${endpoint}`)).headers.get("etag")).toBe(etag);
    expect((await put(endpoint, { title: "b" }, JSON_TYPE, { "if-match": etag })).status).toBe(200);
    const late = await put(endpoint, { title: "c" }, JSON_TYPE, { "if-match": etag });
    expect(late.json).toMatchObject({ status: 412, code: "precondition_failed" });
    expect((await gateway.get(`/validations/${endpoint}`)).text).toBe('{"title":"b"}');
  });

  it("are created only where there is none, if somebody says so", async () => {
    const endpoint = fresh();
    const none = { "if-none-match": "*" };
    expect((await put(endpoint, { title: "first" }, JSON_TYPE, none)).status).toBe(200);
    const second = await put(endpoint, { title: "second" }, JSON_TYPE, none);
    expect(second.json).toMatchObject({ status: 412, code: "precondition_failed", etag: '"1"' });
    expect((await gateway.get(`/validations/${endpoint}`)).text).toBe('{"title":"first"}');
    // Without the condition it is overwritten: the header, and nothing else, kept it.
    expect((await put(endpoint, { title: "second" })).status).toBe(200);
    expect((await put(endpoint, XSD, XML_TYPE, none)).status).toBe(200);
    await remove(endpoint);
    expect((await put(endpoint, { title: "again" }, JSON_TYPE, none)).status).toBe(200);
  });

  it("are created once, when many create the same at the same time", async () => {
    const endpoint = fresh();
    const titles = Array.from({ length: 8 }, (_, index) => ({ title: `by ${index}` }));
    const answers = await Promise.all(titles.map((one) => put(endpoint, one, JSON_TYPE, { "if-none-match": "*" })));
    const statuses = answers.map(({ status }) => String(status)).sort();
    expect(statuses).toEqual(["200", ...Array.from({ length: 7 }, () => "412")]);
    expect(rowsOf(await gateway.get(`/validations/${endpoint}/versions`))).toHaveLength(1);
  });
});

describe("reading", () => {
  it("gives a document byte by byte as it came, in the format that is asked for", async () => {
    const endpoint = fresh();
    const odd = '\n{ "title" :  "é",\t"default": 12345678901234567890 }\n';
    await put(endpoint, odd, "application/schema+json");
    await put(endpoint, XSD, "application/xsd+xml");
    const json = await gateway.get(`/validations/${endpoint}`);
    expect([json.text, json.headers.get("content-type")]).toEqual([odd, "application/json"]);
    const headers = { accept: "application/xml" };
    for (const answer of [
      await gateway.get(`/validations/${endpoint}?format=xsd`),
      await gateway.request("GET", `/validations/${endpoint}`, { headers }),
    ]) {
      expect([answer.text, answer.headers.get("content-type")]).toEqual([XSD, "application/xml"]);
    }
  });

  it("lists what is in force, page by page", async () => {
    const names = [fresh(), fresh()];
    for (const name of names) await put(name, {});
    await put(names[0] ?? "", XSD, XML_TYPE);
    const found: string[] = [];
    let cursor = "";
    do {
      const { json } = await gateway.get(`/validations?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`);
      const [row] = json["data"] as { endpoint: string; format: string }[];
      if (row !== undefined && names.includes(row.endpoint)) found.push(`${row.endpoint}.${row.format}`);
      cursor = String(json["next_cursor"] ?? "");
    } while (cursor !== "");
    expect(found).toEqual([`${names[0]}.json`, `${names[0]}.xsd`, `${names[1]}.json`]);
    const [row] = rowsOf(await gateway.get("/validations?limit=1"));
    expect(Object.keys(row ?? {})).toEqual(["endpoint", "format", "version", "size", "created_at", "created_by"]);
  });
});

describe("trying out", () => {
  it("says what would become of a webhook, and stores nothing", async () => {
    const endpoint = fresh();
    await put(endpoint, { type: "object", required: ["id"] });
    await put(endpoint, { type: "object", required: ["id", "name"] });
    expect((await tryOut(endpoint, '{"id":1,"name":"a"}')).json).toEqual({
      valid: true,
      endpoint,
      validation: endpoint,
      errors: [],
    });
    expect((await tryOut(endpoint, "{}")).json).toMatchObject({
      valid: false,
      errors: [
        { path: "/id", message: "is missing" },
        { path: "/name", message: "is missing" },
      ],
    });
    expect((await tryOut(endpoint, '{"id":1}', JSON_TYPE, "?version=1")).json).toMatchObject({ valid: true });
    expect((await tryOut(endpoint, "{}", JSON_TYPE, "?version=8")).status).toBe(404);
    expect((await tryOut(endpoint, "{")).json).toMatchObject({ status: 400, code: "unreadable_body" });
    expect((await tryOut(endpoint, "<a/>", XML_TYPE)).json).toMatchObject({ valid: false });
    expect((await tryOut(fresh(), "{}")).json).toMatchObject({ valid: true, validation: null });
    expect(rowsOf(await gateway.get(`/api/v1/events?source=${endpoint}`))).toEqual([]);
    expect(await gateway.rejected(endpoint)).toEqual([]);
  });

  it("takes a document that is not in force in an envelope", async () => {
    const endpoint = fresh();
    const open = (envelope: unknown) => tryOut(endpoint, JSON.stringify(envelope), JSON_TYPE, "?envelope=true");
    expect((await open({ validation: { type: "object" }, payload: {} })).json).toMatchObject({ valid: true });
    expect((await open({ validation: { type: "object" }, payload: "text" })).json).toMatchObject({ valid: false });
    expect((await open({ validation: XSD, payload: "<o>7</o>" })).json).toMatchObject({ valid: true });
    expect((await open({ validation: XSD, payload: "<o>x</o>" })).json).toMatchObject({
      valid: false,
      errors: [{ path: "/o", line: 1 }],
    });
    const other = { validation: { type: "object" }, payload: "<o/>", content_type: XML_TYPE };
    expect((await open(other)).json).toMatchObject({
      valid: false,
      errors: [{ message: expect.stringMatching(/another kind/) }],
    });
    for (const [envelope, code, field] of [
      [{ validation: { type: "objekt" }, payload: 1 }, "invalid_validation", undefined],
      [{ validation: "<a/>", payload: "<a/>" }, "invalid_validation", undefined],
      [{ validation: XSD, payload: {} }, "invalid_field", "payload"],
      [{ validation: {} }, "invalid_field", "payload"],
      [{ validation: 5, payload: {} }, "invalid_field", "validation"],
      [{ validation: {}, payload: {}, more: 1 }, "invalid_field", "more"],
      [[], "invalid_field", ""],
    ] as const) {
      const { json } = await open(envelope);
      expect(json).toMatchObject({ status: 422, code, ...(field !== undefined && { field }) });
    }
    expect((await gateway.get(`/validations/${endpoint}`)).status).toBe(404);
  });
});

describe("bad input", () => {
  const nested = (levels: number): object => (levels === 1 ? {} : { not: nested(levels - 1) });
  const elements = (levels: number) => `${"<a>".repeat(levels)}${"</a>".repeat(levels)}`;
  it.each([
    ["is no JSON Schema", { type: "objekt" }, /is not a valid JSON Schema/],
    ["is of no known draft", { $schema: "http://json-schema.org/draft-03/schema#" }, /draft-03/],
    ["is no object", [1], /must be an object/],
    ["is larger than 256 KB", { title: "x".repeat(256 * 1024) }, /larger than 256 KB/],
    ["is deeper than 32", nested(33), /nested more than 32 levels/],
    ["is far deeper", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, /nested more than 32 levels/],
    ["refers to another document", { $ref: "https://example.com/a.json" }, /only places in the schema itself/],
    ["has a pattern with look-ahead", { pattern: "(?=a)b" }, /look-around/],
    ["is itself and nothing else", { $ref: "#" }, /without end/],
    ["is all of itself", { allOf: [{ $ref: "#" }] }, /without end/],
    [
      "goes round in a field",
      { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $ref: "#/$defs/a" } } },
      /without end/,
    ],
    ["has rules that are none", { rules: {} }, /not a list of rules/],
    ["has rules beside a schema", { type: "object", rules: [] }, /x-rules/],
    ["has a rule without a message", { rules: [{ require: {} }] }, /rules\[0\]\.message/],
    [
      "has a rule with an unknown operator",
      { rules: [{ require: { data: { a: { $regex: "a" } } }, message: "m" }] },
      /\$regex/,
    ],
    ["has a rule on what no request has", { "x-rules": [{ require: { priority: "low" }, message: "m" }] }, /priority/],
    ["has a rule with an unknown member", { rules: [{ require: {}, message: "m", unless: {} }] }, /unless/],
    ["is no XML Schema", "<a/>", /is not an XML Schema/],
    ["is an XML Schema that does not compile", XSD.replace("xs:int", "xs:nope"), /does not compile: .*xs:nope|nope/s],
    [
      "includes another file",
      `<xs:schema ${XS}><xs:include schemaLocation="/etc/passwd"/></xs:schema>`,
      /schemaLocation/,
    ],
    [
      "imports from elsewhere",
      `<xs:schema ${XS}><xs:import namespace="urn:a" schemaLocation="http://x/a.xsd"/></xs:schema>`,
      /schemaLocation/,
    ],
    ["is XML deeper than 32", elements(33), /nested more than 32 levels/],
  ])("is rejected with 422 when the document %s, and the one before stays", async (_, document, reason) => {
    const isXml = typeof document === "string" && document.startsWith("<");
    const endpoint = fresh();
    await put(endpoint, isXml ? XSD : { title: "before" }, isXml ? XML_TYPE : JSON_TYPE);
    const { json } = await put(endpoint, document, isXml ? XML_TYPE : JSON_TYPE);
    expect(json).toMatchObject({ status: 422, code: "invalid_validation", endpoint });
    expect(json["detail"]).toMatch(reason);
    expect((await gateway.get(`/validations/${endpoint}`)).text).toBe(isXml ? XSD : '{"title":"before"}');
    expect(rowsOf(await gateway.get(`/validations/${endpoint}/versions`))).toHaveLength(1);
  });

  it.each([
    ["JSON that is not well-formed", "{", JSON_TYPE],
    ["no JSON at all", "", JSON_TYPE],
    ["XML that is not well-formed", "<a>", XML_TYPE],
    ["XML with a document type", `<!DOCTYPE a [<!ENTITY x "y">]>${XSD}`, XML_TYPE],
    ["XML with an external entity", `<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>`, XML_TYPE],
  ])("is rejected with 400 when it is %s", async (_, body, type) => {
    const { json } = await put(fresh(), body, type);
    expect(json).toMatchObject({ status: 400, code: "unreadable_body" });
  });

  it("is rejected with 400 when a webhook has a document type, whatever the validation", async () => {
    const endpoint = fresh();
    await put(endpoint, XSD, XML_TYPE);
    const body = '<!DOCTYPE o [<!ENTITY x SYSTEM "file:///etc/passwd">]><o>&x;</o>';
    expect((await gateway.webhook(endpoint, body, { "content-type": XML_TYPE })).json).toMatchObject({ status: 400 });
  });

  it.each([".orders", "a..b", "a.", "-a", "a".repeat(65), "..%2fa", "%00", "a%20b"])(
    "is rejected with 400 when %s is to be an endpoint",
    async (name) => {
      for (const answer of [
        await put(name, {}),
        await gateway.get(`/validations/${name}`),
        await gateway.get(`/validations/${name}/versions`),
        await remove(name),
        await rollBack(name, 1),
        await tryOut(name, "{}"),
      ]) {
        expect(answer.json).toMatchObject({ status: 400, code: "bad_request" });
      }
    },
  );

  it("is rejected when it is of no kind that is known, or larger than anything", async () => {
    expect((await put(fresh(), "a=b", "application/x-www-form-urlencoded")).status).toBe(415);
    expect((await put(fresh(), `"${"x".repeat(1_100_000)}"`)).status).toBe(413);
  });
});
