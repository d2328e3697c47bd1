import { describe, expect, it } from "vitest";
import { changesOf, concerns, draftOf } from "../../../dashboard/src/forms/draft.ts";
import { fieldsOf, shapeOf, type Field } from "../../../dashboard/src/forms/fields.ts";
import { labelOf } from "../../../dashboard/src/forms/field-name.ts";
import type { JsonSchema, Schemas } from "../../../dashboard/src/forms/json-schema.ts";
import { wordsOf } from "../../../dashboard/src/forms/words-of.ts";
import { kindsFor, subscriptionFields, toDraft } from "../../../dashboard/src/pages/subscriptions/form-fields.ts";
import { labelOfKind } from "../../../dashboard/src/pages/subscriptions/kind-labels.ts";
import { KINDS, SubscriptionSchema } from "../../../src/destinations/kinds.ts";
import { createSchemaWriter } from "../../../src/api/openapi/schema-writer.ts";
import "../../../src/api/routes/subscription-shape.ts";

// Names the schemas.

const writer = createSchemaWriter();
writer.write(SubscriptionSchema);
const schemas = writer.components as Schemas;
const form = subscriptionFields(schemas, true);

function fieldOf(schema: JsonSchema): Field {
  return fieldsOf({ type: "object", properties: { a: schema } }, {})[0] as Field;
}

describe("the form of a subscription", () => {
  it("names every kind of destination in words", () => {
    expect(KINDS.filter(({ name }) => labelOfKind(name) === name)).toEqual([]);
    expect(labelOfKind("carrier-pigeon")).toBe("carrier-pigeon");
  });

  it("has every kind of destination with each of its settings, as the gateway knows them", () => {
    const known = KINDS.map(({ name, isFlat = false, operatorOnly, settings }) => ({
      name,
      isFlat,
      operatorSettings: typeof operatorOnly === "object" ? operatorOnly : [],
      fields: Object.keys(settings.properties),
    }));
    expect(form.kinds.map((kind) => ({ ...kind, fields: kind.fields.map(({ name }) => name) }))).toEqual(known);
  });

  it("offers a tenant the kinds that the gateway allows it, without the settings of operators", () => {
    const session = { tenant_id: "acme", destination_kinds: ["http", "batch"] };
    const [http, batch, ...others] = kindsFor(form.kinds, session);
    expect([http?.name, batch?.name, others]).toEqual(["http", "batch", []]);
    expect(batch?.fields.map(({ name }) => name)).not.toContain("path");
    expect(http?.fields).toEqual(form.kinds.find(({ name }) => name === "http")?.fields);
    // The control: an operator has all of them.
    const all = kindsFor(form.kinds, { tenant_id: null, destination_kinds: KINDS.map(({ name }) => name) });
    expect(all).toEqual(form.kinds);
  });

  it("has a control for every setting; only what may be anything is written as JSON", () => {
    const asJson = [...form.all, ...form.kinds.flatMap(({ fields }) => fields)]
      .filter(({ shape }) => shape.kind === "json")
      .map(({ name }) => name);
    expect(new Set(asJson)).toEqual(new Set(["event_filter", "destination"]));
  });

  it("shows each setting once", () => {
    const { what, which, tries, rest, kinds } = form;
    const flat = kinds.filter(({ isFlat }) => isFlat).flatMap(({ fields }) => fields);
    const shown = [...what, ...which, ...tries, ...rest, ...flat].map(({ name }) => name);
    expect(new Set(shown).size).toBe(shown.length);
    expect(new Set([...shown, "kind", "destination"])).toEqual(new Set(form.all.map(({ name }) => name)));
  });

  it("knows which fields belong to which way to log in", () => {
    const auth = form.kinds.find(({ name }) => name === "http")?.fields.find(({ name }) => name === "auth");
    expect(auth?.shape).toMatchObject({ kind: "object", byType: { bearer: ["token", "ca"] } });
  });

  it("begins with what is set and nothing else", () => {
    const draft = toDraft(
      { name: "Mail", kind: "email", rate_limit: null, destination: { to: "a@example.com", cc: null }, stats: {} },
      form,
    );
    expect(draft).toEqual({ name: "Mail", kind: "email", destination: { to: "a@example.com" } });
  });
});

describe("what a form sends", () => {
  const fields = fieldsOf(
    {
      properties: {
        a: { type: "string" },
        b: { anyOf: [{ type: "integer" }, { type: "null" }], default: 5 },
        c: { type: "integer", default: 30 },
      },
    },
    {},
  );

  it("is what was changed; what was emptied is null, or what holds without it", () => {
    const before = draftOf({ a: "x", b: 1, c: 2, other: 3 }, fields);
    expect(changesOf(before, before, fields)).toEqual({});
    expect(changesOf(before, { ...before, a: "y" }, fields)).toEqual({ a: "y" });
    expect(changesOf(before, { a: "x" }, fields)).toEqual({ b: null, c: 30 });
  });
});

describe("a field", () => {
  it.each([
    [{ type: "boolean" }, "flag"],
    [{ enum: ["a", "b"] }, "choice"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "text"],
    [{ type: "array", items: { type: "string" } }, "list"],
    [{ anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] }, "list"],
    [{ type: "object", additionalProperties: { type: "string" } }, "map"],
    [{ anyOf: [{ enum: ["a"] }, { type: "object", properties: {} }] }, "choice-or-object"],
    [{}, "json"],
  ] as const)("%j is entered as %s", (schema, kind) => {
    expect(shapeOf(schema, {}).kind).toBe(kind);
    expect(fieldOf(schema).name).toBe("a");
  });

  it("is at fault when a complaint is about it or a part of it, and not about one that begins alike", () => {
    const about = (field: string) => concerns({ field, message: "" }, "retry");
    expect(["retry", "retry.0", "retry[0]", "retry_count", "re"].map(about)).toEqual([true, true, true, false, false]);
  });

  it("has the words of the schema inside, where it may also be null", () => {
    const inside = { anyOf: [{ type: "string", description: "Who" }, { type: "null" }] };
    expect(fieldOf(inside).schema.description).toBe("Who");
    expect(fieldOf({ ...inside, description: "What" }).schema.description).toBe("What");
  });

  it("speaks of empty fields, and never of null", () => {
    expect(wordsOf("Attempts per minute; null for no limit")).toBe("Attempts per minute; empty for no limit");
    const described = [...form.all, ...form.kinds.flatMap(({ fields }) => fields)].map(({ schema }) => schema);
    const words = described.map(({ description = "" }) => wordsOf(description));
    expect(words.filter((text) => /\bnull\b/.test(text))).toEqual([]);
    expect(described.filter(({ description = "" }) => /\bnull\b/.test(description)).length).toBeGreaterThan(2);
  });

  it("is called as people write it", () => {
    expect(["health_url", "max_age_s", "name"].map(labelOf)).toEqual(["Health URL", "Max age (seconds)", "Name"]);
  });
});
