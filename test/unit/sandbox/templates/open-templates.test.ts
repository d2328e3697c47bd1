import { afterAll, describe, expect, it } from "vitest";
import type { EventContent } from "../../../../src/model/event.ts";
import { openTemplates } from "../../../../src/sandbox/templates/open-templates.ts";
import type { Template, TemplateFacts } from "../../../../src/sandbox/templates/templates.ts";

const templates = openTemplates();
afterAll(() => templates.close());

function facts(data: unknown, subscription = { id: "sub_1", name: "ERP" }): TemplateFacts {
  const event: EventContent = {
    id: "evt_1",
    type: "order.created",
    version: "1.0",
    source: "shop",
    tenantId: "default",
    priority: "normal",
    orderingKey: undefined,
    occurredAt: Date.UTC(2026, 0, 2),
    receivedAt: Date.UTC(2026, 0, 2),
    contentType: "application/json",
    body: Buffer.from(JSON.stringify(data)),
    origin: "publish",
  };
  return { event, subscription, delivery: { id: "dlv_1", attempt: 1 } };
}

const BODY: readonly Template[] = [
  { name: "body", text: '{"order":"{{ data.id }}","at":"{{ event.timestamp }}"}', place: "json" },
  { name: "subject", text: "Order {{ data.id }}", place: "header" },
];
/** Every step is cheap, and no list or text grows: only the deadline ends it. */
const SLOW: Template = {
  name: "slow",
  text: "{% for i in (1..100000) %}{{ data.list | sort: 'a' | map: 'b' | join: 'x' | size }}{% endfor %}",
  place: "text",
};

describe("templates in threads", () => {
  it("are rendered together, in the order of the list", async () => {
    expect(await templates.render(BODY, facts({ id: 'A"1' }))).toEqual({
      texts: [String.raw`{"order":"A\"1","at":"2026-01-02T00:00:00.000Z"}`, 'Order A"1'],
    });
  });

  it("are rendered for many deliveries at once, each with its own facts", async () => {
    const ids = Array.from({ length: 200 }, (_, id) => id);
    const rendered = await Promise.all(
      ids.map((id) => templates.render(BODY, facts({ id }, { id: `sub_${id % 3}`, name: "x" }))),
    );
    expect(rendered.map((one) => ("texts" in one ? one.texts[1] : one))).toEqual(ids.map((id) => `Order ${id}`));
  });

  it("say what went wrong, by the name of the template, and go on with others", async () => {
    const [bad, good] = await Promise.all([
      templates.render(BODY, facts({ id: "a\r\nBcc: all" })),
      templates.render(BODY, facts({ id: "b" })),
    ]);
    expect(bad).toEqual({
      fault: "subject produces a header with a control character (U+000D), such as a line break",
      isPassing: false,
    });
    expect(good).toMatchObject({ texts: [expect.any(String), "Order b"] });
  });

  it("are ended at the deadline, and those that came with them are rendered", async () => {
    const hurried = openTemplates({ renderMs: 100 });
    try {
      const list = Array.from({ length: 20_000 }, (_, at) => ({ a: at % 97, b: "x" }));
      const [slow, ...others] = await Promise.all([
        hurried.render([SLOW], facts({ list })),
        hurried.render(BODY, facts({ id: 1 })),
        hurried.render(BODY, facts({ id: 2 })),
      ]);
      expect(slow).toMatchObject({ fault: expect.stringMatching(/takes too long|too large/), isPassing: false });
      expect(others.map((one) => "texts" in one)).toEqual([true, true]);
    } finally {
      await hurried.close();
    }
  });

  it("that are rendered when the gateway stops are told so", async () => {
    const closing = openTemplates();
    const rendering = closing.render(BODY, facts({ id: 1 }));
    await closing.close();
    expect(await rendering).toMatchObject({ isPassing: true });
  });
});

describe("an examination", () => {
  const SCHEMAS = [{ eventType: "order.created", schema: { properties: { total: { type: "number" } } } }];

  it("finds nothing wrong with what can be used", async () => {
    expect(await templates.examine(BODY)).toEqual([]);
  });

  it("names the template and the field", async () => {
    expect(await templates.examine([{ name: "body", text: "{{ data.totl }}", place: "text" }], SCHEMAS)).toEqual([
      { field: "body", message: "data.totl is not in the schema of order.created; did you mean data.total?" },
    ]);
  });

  it.each<[string, Template["place"], RegExp]>([
    ["{% for i in (1..1000000000) %}x{% endfor %}", "text", /too large/],
    ["{% for i in (1..9999) %}{% for j in (1..9999) %}{% endfor %}{% endfor %}", "text", /does not end/],
    [`{% for i in (1..9999) %}${"x".repeat(9999)}{% endfor %}`, "text", /more than 256 KB/],
    ["https://{{ data.host }}/", "url", /scheme, host or port/],
    ["ftp", "url", /not a URL/],
    ['{"a":{{ data.a }}', "json", /not produce JSON/],
    ["a\r\nX-B: c", "header", /control character/],
    ["{{ data.a | nothing }}", "text", /unknown filter nothing/],
    ["{% include 'x' %}", "text", /unknown tag include/],
  ])("finds what would go wrong with every event: %s", async (text, place, message) => {
    expect(await templates.examine([{ name: "t", text, place }])).toEqual([
      { field: "t", message: expect.stringMatching(message) },
    ]);
  });

  it("leaves alone what depends on the event", async () => {
    const text = '{% if data.a %}{"a":1}{% endif %}';
    expect(await templates.examine([{ name: "t", text, place: "json" }])).toEqual([]);
  });

  it("of a long template with a variable everywhere ends, and finds the line of what is wrong", async () => {
    const terms = { line: "a", withinMs: 60_000 };
    const text = "{{data}}".repeat(8000);
    expect(await templates.examine([{ name: "t", text, place: "text" }], [], terms)).toEqual([]);
    const late = `${"{{data}}\n".repeat(7000)}{{ data | nothing }}`;
    expect(await templates.examine([{ name: "t", text: late, place: "text" }], [], terms)).toEqual([
      { field: "t", message: expect.stringContaining("(line 7001, column 1)") },
    ]);
  });

  it("of one line does not wait for those of another", async () => {
    const [quick] = BODY as [Template];
    // Both threads have started.
    await Promise.all(["many", "one"].map((line) => templates.examine([{ ...quick, name: line }], [], { line })));
    let ended = 0;
    const many = Array.from({ length: 8 }, async (_, n) => {
      const text = `${"{{data}}".repeat(4000)}${n}`;
      await templates.examine([{ name: "t", text, place: "text" }], [], { line: "many" });
      ended++;
    });
    await templates.examine([{ ...quick, text: "{{ data.n }}" }], [], { line: "one" });
    expect(ended).toBeLessThan(8);
    await Promise.all(many);
  });

  it("has the same result for the same text without being made again, but not for another place or schema", async () => {
    const own = openTemplates();
    const template: Template = { name: "body", text: "{{ data.totl }}", place: "text" };
    const first = await own.examine([template], SCHEMAS);
    expect(first).toHaveLength(1);
    expect(await own.examine([template], [{ eventType: "other", schema: { properties: { totl: {} } } }])).toEqual([]);
    expect(await own.examine([{ ...template, place: "json" }], SCHEMAS)).toHaveLength(1);
    await own.close();
    expect(await own.examine([template], SCHEMAS)).toEqual(first);
  });
});
