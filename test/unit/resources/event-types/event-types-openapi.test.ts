import { describe, expect, it } from "vitest";
import type { EventType } from "../../../../src/model/event-type.ts";
import { exportOpenApi, readOpenApi } from "../../../../src/resources/event-types/event-types-openapi.ts";

const TYPE: EventType = {
  name: "order.created",
  description: "New order",
  producer: "shop",
  consumers: ["stock"],
  status: "deprecated",
  deprecatedAt: Date.UTC(2026, 0, 31),
  replacedBy: "order.placed",
  enforce: false,
  versions: [
    { version: "1.0", schema: { type: "object" }, example: undefined, createdAt: 0 },
    { version: "2.0", schema: { $defs: { a: {} }, $ref: "#/$defs/a" }, example: { id: 1 }, createdAt: 0 },
  ],
  managedBy: "api",
  createdAt: 0,
  updatedAt: 0,
};
const webhook = (schema: unknown, more: object = {}) => ({
  post: { requestBody: { content: { "application/json": { schema, ...more } } } },
});
const read = (webhooks: object, more: object = {}) => readOpenApi({ openapi: "3.1.0", webhooks, ...more });

describe("event types as an OpenAPI document", () => {
  it("come back as they went out, with all versions", () => {
    const document = JSON.parse(JSON.stringify(exportOpenApi([TYPE]))) as object;
    expect(readOpenApi(document)).toEqual([
      {
        name: "order.created",
        description: "New order",
        producer: "shop",
        consumers: ["stock"],
        status: "deprecated",
        deprecated_at: "2026-01-31T00:00:00.000Z",
        replaced_by: "order.placed",
        enforce: false,
        versions: [
          { version: "1.0", schema: { type: "object" } },
          { version: "2.0", schema: { $defs: { a: {} }, $ref: "#/$defs/a" }, example: { id: 1 } },
        ],
      },
    ]);
  });

  it("give each schema an id, so that its references mean itself and not the document", () => {
    const { webhooks } = exportOpenApi([TYPE]) as { webhooks: Record<string, { post: Record<string, unknown> }> };
    const body = JSON.stringify(webhooks["order.created"]?.post["requestBody"]);
    expect(body).toContain('"$id":"urn:posthorn:event-type:order.created:2.0"');
  });
});

describe("a foreign OpenAPI document", () => {
  it("lends its components to the schemas that use them, also in circles", () => {
    const schemas = {
      Order: { properties: { lines: { items: { $ref: "#/components/schemas/Line" } } } },
      Line: {
        properties: { parent: { $ref: "#/components/schemas/Line" }, unit: { $ref: "#/components/schemas/a~1b" } },
      },
      "a/b": { type: "string" },
      Unused: {},
    };
    const [type] = read(
      { "order.placed": webhook({ $ref: "#/components/schemas/Order" }) },
      { components: { schemas } },
    );
    expect(type?.versions).toEqual([
      {
        version: "1.0",
        schema: {
          $ref: "#/$defs/Order",
          $defs: {
            Order: { properties: { lines: { items: { $ref: "#/$defs/Line" } } } },
            Line: { properties: { parent: { $ref: "#/$defs/Line" }, unit: { $ref: "#/$defs/a~1b" } } },
            "a/b": { type: "string" },
          },
        },
      },
    ]);
  });

  it("may name path items and bodies by reference, and give examples by name", () => {
    const components = {
      pathItems: { hook: { post: { summary: "Short", requestBody: { $ref: "#/components/requestBodies/body" } } } },
      requestBodies: {
        body: { content: { "application/vnd.x+json": { schema: {}, examples: { one: { value: { a: 1 } } } } } },
      },
    };
    const types = read({ "a.b": { $ref: "#/components/pathItems/hook" } }, { components });
    expect(types).toEqual([
      {
        name: "a.b",
        description: "Short",
        status: "active",
        versions: [{ version: "1.0", schema: {}, example: { a: 1 } }],
      },
    ]);
  });

  it("may have a webhook without a body", () => {
    expect(read({ "a.b": { post: {} } })).toEqual([{ name: "a.b", status: "active", versions: [] }]);
  });

  it.each([
    ["is of version 3.0", { openapi: "3.0.3", webhooks: {} }, "openapi"],
    ["has no webhooks", { openapi: "3.1.0" }, "webhooks"],
    ["names no event type", { openapi: "3.1.0", webhooks: { "a b": { post: {} } } }, "webhooks.a b.name"],
    ["refers to another file", { openapi: "3.1.0", webhooks: { a: { $ref: "other.yaml" } } }, "webhooks.a"],
    ["refers to nothing", { openapi: "3.1.0", webhooks: { a: { $ref: "#/x" } } }, "webhooks.a"],
    ["has no operation", { openapi: "3.1.0", webhooks: { a: {} } }, "webhooks.a.post"],
    [
      "misses a component",
      { openapi: "3.1.0", webhooks: { a: webhook({ $ref: "#/components/schemas/No" }) } },
      "webhooks.a: schema of version 1.0",
    ],
  ])("is rejected when it %s", (_, document, field) => {
    expect(() => readOpenApi(document)).toThrow(expect.objectContaining({ code: "invalid_field", field }));
  });
});
