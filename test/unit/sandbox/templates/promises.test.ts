import { filters } from "liquidjs";
import { describe, expect, it } from "vitest";
import { createCompiler, type CompilerParts, createLanguage } from "../../../../src/sandbox/templates/compile.ts";
import { openTemplates } from "../../../../src/sandbox/templates/open-templates.ts";
import { createPlaceWriter, type PlaceWriter } from "../../../../src/sandbox/templates/place-writers.ts";
import { toScope } from "../../../../src/sandbox/templates/template-scope.ts";
import type { Template, TemplateFacts, TemplatePlace } from "../../../../src/sandbox/templates/templates.ts";

type Render = (text: string, data: unknown, place?: TemplatePlace) => string;

function createRender(parts?: Partial<CompilerParts>): Render {
  const { compile } = createCompiler(parts);
  return (text, data, place = "text") =>
    compile({ name: "body", text, place }).render(
      toScope({
        event: {},
        body: JSON.stringify(data),
        isJson: true,
        request: undefined,
        details: undefined,
        subscription: undefined,
        delivery: undefined,
      }),
    );
}

function faultOf(run: () => unknown): string {
  try {
    return `none, but ${JSON.stringify(run()).slice(0, 60)}`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** As if every place were plain text. */
const escapeNothing = { createWriter: () => createPlaceWriter("text") };

/** As the emitter of liquidjs does it. */
function createEndlessWriter(): PlaceWriter {
  let buffer = "";
  return {
    get buffer() {
      return buffer;
    },
    write: (written: unknown) => void (buffer += String(written)),
    finish: () => buffer,
  };
}

function breakLanguage(change: (language: ReturnType<typeof createLanguage>) => void) {
  const language = createLanguage();
  change(language);
  return { language };
}

interface Promised {
  name: string;
  /** Throws where it does not hold. */
  holds: (render: Render) => void;
  /** What keeps it, taken away. */
  broken: () => Partial<CompilerParts>;
}

const PROMISES: readonly Promised[] = [
  {
    name: "values are escaped in HTML",
    holds: (render) => expect(render("<b>{{ data.a }}</b>", { a: "<i>" }, "html")).toBe("<b>&lt;i&gt;</b>"),
    broken: () => escapeNothing,
  },
  {
    name: "values are escaped in JSON",
    holds: (render) =>
      expect(JSON.parse(render('{"a":"{{ data.a }}"}', { a: '","admin":"yes' }, "json"))).toEqual({
        a: '","admin":"yes',
      }),
    broken: () => escapeNothing,
  },
  {
    name: "values are escaped in URLs",
    holds: (render) =>
      expect(render("https://a.example/x?q={{ data.a }}", { a: "1&admin=yes" }, "url")).toBe(
        "https://a.example/x?q=1%26admin%3Dyes",
      ),
    broken: () => escapeNothing,
  },
  {
    name: "values do not choose the host of a URL",
    holds: (render) =>
      expect(faultOf(() => render("https://{{ data.a }}/x", { a: "evil.example" }, "url"))).toContain(
        "has a value in the scheme, host or port",
      ),
    broken: () => escapeNothing,
  },
  {
    name: "values add no lines to a header",
    holds: (render) =>
      expect(faultOf(() => render("Order {{ data.a }}", { a: "1\r\nBcc: all@example.com" }, "header"))).toContain(
        "produces a header with a control character",
      ),
    broken: () => escapeNothing,
  },
  {
    name: "nothing is read but what payloads have themselves",
    holds: (render) => expect(render("[{{ data.list.pop }}]", { list: [1] })).toBe("[]"),
    broken: () => breakLanguage(({ options }) => Object.assign(options, { ownPropertyOnly: false })),
  },
  {
    name: "there are no filters but the listed ones",
    holds: (render) =>
      expect(faultOf(() => render("{{ data.a | raw }}", { a: "<i>" }, "html"))).toContain("has an unknown filter raw"),
    broken: () => breakLanguage((language) => language.registerFilter("raw", filters["raw"] as never)),
  },
  {
    name: "what is made is bounded",
    holds: (render) =>
      expect(faultOf(() => render(`{% for i in (1..999) %}${"x".repeat(1000)}{% endfor %}`, {}))).toContain(
        "produces more than 256 KB",
      ),
    broken: () => ({ createWriter: createEndlessWriter }),
  },
  {
    name: "loops end after so many steps",
    holds: (render) =>
      expect(
        faultOf(() => render("{% for i in (1..999) %}{% for j in (1..999) %}{% endfor %}{% endfor %}", {})),
      ).toContain("does not end"),
    broken: () => ({ maxSteps: Number.POSITIVE_INFINITY }),
  },
];

describe("what templates promise", () => {
  it.each(PROMISES)("$name; without what keeps it, the test fails", ({ holds, broken }) => {
    holds(createRender());
    expect(() => holds(createRender(broken()))).toThrow(/expected|no JSON/);
  });
});

/** Each step is slow and takes no memory: nothing but the deadline ends it. */
const SLOW: readonly Template[] = [
  {
    name: "slow",
    text: "{% for i in (1..90000) %}{% if data.text contains data.part %}{% endif %}{% endfor %}",
    place: "text",
  },
];
const FACTS: TemplateFacts = {
  event: {
    id: "evt_1",
    type: "order.created",
    version: "1.0",
    source: "shop",
    tenantId: "default",
    priority: "normal",
    orderingKey: undefined,
    occurredAt: 0,
    receivedAt: 0,
    contentType: "application/json",
    body: Buffer.from(JSON.stringify({ text: "a".repeat(900_000), part: `${"a".repeat(500)}b` })),
    origin: "publish",
  },
};

describe("the deadline of a template", () => {
  it("ends what nothing else would end; without it, the thread is lost to it", async () => {
    const [hurried, patient] = [openTemplates({ renderMs: 100 }), openTemplates({ renderMs: 3_600_000 })];
    try {
      let isOver = false;
      const endless = patient.render(SLOW, FACTS).then((rendered) => {
        isOver = true;
        return rendered;
      });
      for (let times = 0; times < 3; times++) {
        expect(await hurried.render(SLOW, FACTS)).toEqual({ fault: "rendering takes too long", isPassing: false });
      }
      expect(isOver).toBe(false);
      await patient.close();
      expect(await endless).toMatchObject({ fault: "the gateway stops" });
    } finally {
      await Promise.all([hurried.close(), patient.close()]);
    }
  });
});
