import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const PATH = "/api/v1/event-types";
const HEADERS = { "content-type": "application/json" };
const ORDER = `event_types:
  - name: shop.order
    description: An order
    consumers: [stock, "\${CONSUMER:-books}"]
    versions:
      - version: "1.0"
        schema: { type: object, required: [id], properties: { id: { type: integer, pattern: "^a$" } } }
        example: { id: 1 }
`;
const OTHER = "event_types:\n  - { name: shop.other }\n";

let gateway: TestGateway | undefined;
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});
const warnings = () => (gateway?.log ?? []).filter(({ msg }) => msg.startsWith("event type left"));

describe("event types in the configuration", () => {
  it("are registered and checked, and belong to the file", async () => {
    gateway = await startTestGateway({ yaml: ORDER });
    const { json } = await gateway.get(`${PATH}/shop.order`);
    expect(json).toMatchObject({ managed_by: "config", consumers: ["stock", "books"], description: "An order" });
    expect((await gateway.publish({ event_type: "shop.order", payload: {} })).json["code"]).toBe("schema_mismatch");
    for (const [method, path, body] of [
      ["PUT", "shop.order", "{}"],
      ["PATCH", "shop.order", '{"description":"x"}'],
      ["PUT", "shop.order/versions/2.0", '{"schema":{}}'],
      ["DELETE", "shop.order/versions/1.0"],
      ["DELETE", "shop.order"],
    ] as const) {
      const options = body === undefined ? {} : { body, headers: HEADERS };
      const refused = await gateway.request(method, `${PATH}/${path}`, options);
      expect([refused.status, refused.json["code"]]).toEqual([409, "managed_by_config"]);
    }
    const document = { openapi: "3.1.0", webhooks: { "shop.order": { post: { description: "y" } } } };
    const imported = await gateway.post(`${PATH}/import`, document);
    expect([imported.status, imported.json["code"]]).toEqual([409, "managed_by_config"]);
    await gateway.restart();
    expect((await gateway.get(`${PATH}/shop.order`)).json).toEqual(json);
  });

  it("reject nobody any more when they leave the file, with a warning, and may then be changed by API", async () => {
    gateway = await startTestGateway({ yaml: ORDER });
    await gateway.reload(OTHER);
    expect(warnings()).toMatchObject([{ event_type: "shop.order" }]);
    const left = await gateway.get(`${PATH}/shop.order`);
    expect(left.json).toMatchObject({ managed_by: "former_config", enforce: false });
    expect((await gateway.publish({ event_type: "shop.order", payload: {} })).status).toBe(202);
    await gateway.reload(ORDER);
    expect((await gateway.get(`${PATH}/shop.order`)).json).toMatchObject({ managed_by: "config", enforce: true });
    await gateway.reload("");
    expect((await gateway.request("DELETE", `${PATH}/shop.order`)).status).toBe(204);
  });

  it("take over a type that was made by API", async () => {
    gateway = await startTestGateway();
    await gateway.post(PATH, { name: "shop.order", producer: "me" });
    await gateway.reload(ORDER);
    expect((await gateway.get(`${PATH}/shop.order`)).json).toMatchObject({ managed_by: "config", producer: null });
  });

  it("change nothing when one of their schemas cannot be used", async () => {
    gateway = await startTestGateway({ yaml: OTHER });
    const bad = ORDER.replace("type: object", "type: objekt") + "sources:\n  - { name: late }\n";
    await expect(gateway.reload(bad)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringMatching(
        /shop\.order is not valid: versions\[0\]\.schema is not a valid JSON Schema/,
      ) as string,
    });
    expect((await gateway.get(`${PATH}/shop.order`)).status).toBe(404);
    expect((await gateway.get(`${PATH}/shop.other`)).json["managed_by"]).toBe("config");
  });
});

describe("a folder of event types", () => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-types-"));
  const write = (files: Record<string, string>) => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, "types"), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  };
  const load = (cwd = "/", env = {}) => loadConfig({ file: join(folder, "posthorn.yaml"), cwd, env }).config;
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("holds one type a file or a list of them, in yaml and JSON, beside those in the file itself", () => {
    write({
      "posthorn.yaml": "event_types_dir: types\nevent_types:\n  - { name: inline.one }\n",
      "types/one.yaml": "name: file.one\nversions:\n  - version: '1'\n    schema: { pattern: '^$${a}$' }\n",
      "types/two.json": '{"event_types":[{"name":"file.two"},{"name":"file.three","consumers":["a"]}]}',
      "types/README.md": "no event type",
    });
    const { eventTypes, eventTypesDir } = load();
    expect(eventTypes.map(({ name }) => name)).toEqual(["inline.one", "file.one", "file.two", "file.three"]);
    // A schema is taken as it is: what looks like a variable is none.
    expect(eventTypes[1]?.versions?.[0]?.schema).toEqual({ pattern: "^$${a}$" });
    expect(eventTypesDir).toBe(join(folder, "types"));
  });

  it("is found from the working directory when the environment names it", () => {
    write({ "posthorn.yaml": "", "types/one.yaml": "name: file.one" });
    expect(load(folder, { POSTHORN_EVENT_TYPES_DIR: "types" }).eventTypes).toEqual([{ name: "file.one" }]);
  });

  it("is rejected with the place of everything that is wrong", () => {
    write({
      "posthorn.yaml": "event_types_dir: types\nevent_types:\n  - { name: twice.one }\n  - { name: test.event }\n",
      "types/a.yaml": "event_types:\n  - { name: twice.one }\n  - { name: a.b, colour: red }\n  - { name: 'a.*' }\n",
      "types/b.yaml": "event_types: 5\nother: 1\n",
      "types/c.json": "{",
    });
    let message = "";
    try {
      load();
    } catch (error) {
      message = (error as Error).message;
    }
    for (const part of [
      /posthorn\.yaml:4:\d+ event_types\[1\]\.name: test\.event is a type of the gateway's own events/,
      /types\/a\.yaml:2:5 name: twice\.one is declared twice/,
      /types\/a\.yaml:3:\d+ event type\.colour: unknown key/,
      /types\/a\.yaml:4:\d+ event type\.name: expected text that matches/,
      /types\/b\.yaml:1:\d+ event_types: expected a list/,
      /types\/b\.yaml:2:1 other: unknown key/,
      /types\/c\.json:1:\d+: /,
    ]) {
      expect(message).toMatch(part);
    }
    write({ "posthorn.yaml": "event_types_dir: nowhere\n" });
    expect(() => load()).toThrow(/nowhere: cannot be read \(ENOENT\)/);
  });
});
