import { describe, expect, it, vi } from "vitest";
import { compileTemplate } from "../../../../src/sandbox/templates/compile.ts";
import { findUnknown } from "../../../../src/sandbox/templates/known-fields.ts";

const ORDER = {
  type: "object",
  properties: {
    total: { type: "number" },
    customer: { $ref: "#/$defs/person" },
    items: { type: "array", items: { type: "object", properties: { name: { type: "string" }, tags: {} } } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    anything: {},
    payment: {
      type: "object",
      oneOf: [{ properties: { card: { type: "string" } } }, { properties: { iban: { type: "string" } } }],
    },
  },
  $defs: { person: { type: "object", properties: { name: { type: "string" }, parent: { $ref: "#/$defs/person" } } } },
};

function find(text: string, schema: object = ORDER): string | undefined {
  const schemas = [{ eventType: "order.created", schema }];
  return findUnknown(compileTemplate({ name: "body", text, place: "text" }).parts, schemas);
}

describe("an unknown field", () => {
  it.each([
    ["{{ data.totl }}", "data.totl is not in the schema of order.created; did you mean data.total?"],
    [
      "{{ data.customer.nam }}",
      "data.customer.nam is not in the schema of order.created; did you mean data.customer.name?",
    ],
    ["{{ data.total.cents }}", "data.total.cents is not in the schema of order.created"],
    ["{% if data.totl > 3 %}x{% endif %}", "data.totl is not"],
    ["{% assign t = data.totl %}", "data.totl is not"],
    ["{{ event.type | append: data.totl }}", "data.totl is not"],
    ["{% for i in data.items %}{{ i.nam }}{% endfor %}", "data.items.nam is not"],
    ["{% for i in data.items %}{% for t in i.tagz %}{{ t }}{% endfor %}{% endfor %}", "data.items.tagz is not"],
    ["{{ data.payment.cash }}", "data.payment.cash is not"],
    ["{{ data.constructor }}", "data.constructor is not"],
    ["{{ dat.total }}", "dat is not known here; did you mean data?"],
    ["{{ event.typ }}", "event.typ is not known here; did you mean event.type?"],
    ["{{ delivery.number }}", "delivery.number is not known here; delivery has id, attempt"],
    ["{{ __proto__ }}", "__proto__ is not known here; templates know event, data"],
  ])("is named: %s", (text, expected) => {
    expect(find(text)).toContain(expected);
  });

  it.each([
    "{{ data.total }} {{ data['total'] }} {{ data }}",
    "{{ data.customer.parent.parent.name }}",
    "{% for i in data.items %}{{ i.name }} {{ forloop.index }}{% endfor %}",
    "{% for i in data.items %}{% for t in i.tags %}{{ t.any.thing }}{% endfor %}{% endfor %}",
    "{% for pair in data.labels %}{{ pair[0] }}={{ pair[1] }}{% endfor %}",
    "{{ data.items[0].name }} {{ data.items.size }} {{ data.items.first.name }}",
    "{{ data.labels.whatever }} {{ data.anything.at.all }}",
    "{{ data.payment.card }} {{ data.payment.iban }}",
    "{{ data[event.type] }}",
    "{% assign x = data.total %}{{ x }}{% for i in (1..3) %}{{ x }}{{ i }}{% endfor %}",
    "{{ headers.any }} {{ query.any }} {{ metadata.any }} {{ delivery.attempt }}",
  ])("is nothing that the schema knows or leaves open: %s", (text) => {
    expect(find(text)).toBeUndefined();
  });

  it("is looked for with the lines of the template counted once, however many variables it has", () => {
    const look = vi.spyOn(String.prototype, "indexOf");
    find("{{data}}".repeat(1000));
    const looks = look.mock.calls.filter(([what]) => what === "\n").length;
    look.mockRestore();
    expect(looks).toBe(1);
  });

  it("is known when one of several schemas knows it", () => {
    const { parts } = compileTemplate({ name: "body", text: "{{ data.other }}", place: "text" });
    const other = { eventType: "order.paid", schema: { properties: { other: {} } } };
    const order = { eventType: "order.created", schema: ORDER };
    expect(findUnknown(parts, [order, other])).toBeUndefined();
    expect(findUnknown(parts, [order])).toContain("data.other is not");
    expect(findUnknown(parts, [])).toBeUndefined();
  });

  it.each([
    ["members in parts of a whole", { type: "object", allOf: [{ properties: { a: {} } }] }, "data.b is not"],
    ["closed by hand", { properties: { a: {} }, additionalProperties: false }, "data.b is not"],
    ["open by hand", { properties: { a: {} }, additionalProperties: true }, undefined],
    ["patterns", { properties: { a: {} }, patternProperties: { "^b": {} } }, undefined],
    ["required and not described", { properties: { a: {} }, required: ["b"] }, undefined],
    ["no members at all", { type: "object" }, undefined],
    ["elsewhere", { $ref: "https://schemas.example/order.json" }, undefined],
    ["round in a circle", { properties: { a: {} }, allOf: [{ $ref: "#" }] }, "data.b is not"],
  ])("depends on what a schema says: %s", (_, schema, expected) => {
    expect(find("{{ data.b }}", schema)?.slice(0, "data.b is not".length)).toBe(expected);
  });
});
