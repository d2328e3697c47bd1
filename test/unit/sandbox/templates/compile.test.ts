import { describe, expect, it } from "vitest";
import { compileTemplate } from "../../../../src/sandbox/templates/compile.ts";
import { toScope, type SentFacts } from "../../../../src/sandbox/templates/template-scope.ts";
import type { TemplatePlace } from "../../../../src/sandbox/templates/templates.ts";

const FACTS: SentFacts = {
  event: { id: "evt_1", type: "order.created", source: "shop" },
  body: "{}",
  isJson: true,
  request: undefined,
  details: undefined,
  subscription: { id: "sub_1", name: "ERP" },
  delivery: { id: "dlv_1", attempt: 2 },
};

function render(text: string, data: unknown = {}, place: TemplatePlace = "text"): string {
  return renderBody(text, JSON.stringify(data), place);
}

function renderBody(text: string, body: string, place: TemplatePlace = "text", more: Partial<SentFacts> = {}): string {
  return compileTemplate({ name: "body", text, place }).render(toScope({ ...FACTS, body, ...more }));
}

describe("a template", () => {
  it("knows the event, its payload, the request, the metadata, the subscription and the delivery", () => {
    const text =
      "{{ event.type }} {{ data.a }} {{ headers['x-a'] }} {{ query.b | join: '+' }} {{ query.c }} {{ metadata.d }} " +
      "{{ subscription.name }} {{ delivery.attempt }}";
    const rendered = renderBody(text, '{"a":1}', "text", {
      request: JSON.stringify({ headers: { "x-a": "header" }, query: "b=1&b=2&c=3" }),
      details: JSON.stringify({ metadata: { d: 4 } }),
    });
    expect(rendered).toBe("order.created 1 header 1+2 3 4 ERP 2");
  });

  it("has the payload as text where it is not JSON", () => {
    expect(renderBody("{{ data }}", "a,b\n1,2", "text", { isJson: false })).toBe("a,b\n1,2");
    expect(renderBody("{{ data }}", "not json {", "text")).toBe("not json {");
  });

  it("writes numbers as they were sent, whole and in parts", () => {
    const body = '{"id":12345678901234567890,"price":10.50,"e":1E3,"minus":-0,"list":[1.0]}';
    expect(renderBody("{{ data.id }} {{ data.price }} {{ data.e }} {{ data.minus }}", body)).toBe(
      "12345678901234567890 10.50 1E3 -0",
    );
    expect(renderBody("{{ data | json }}", body, "json")).toBe(body);
    expect(renderBody('{"n":{{ data.id }},"t":"{{ data.id }}"}', body, "json")).toBe(
      '{"n":12345678901234567890,"t":"12345678901234567890"}',
    );
    expect(renderBody("{{ data.id | append: '!' }} {{ data.list | join: ',' }}", body)).toBe(
      "12345678901234567890! 1.0",
    );
    expect(renderBody("{{ data.price | times: 2 }}{% if data.price > 10 %} yes{% endif %}", body)).toBe("21 yes");
  });

  it("does not take a text for a number, whatever it looks like", () => {
    const body = String.raw`{"a":"1.50","b":"\u00231.5","c":1.50,"d":"say \"1.50\", 2.0"}`;
    expect(renderBody("{{ data | json }}", body, "json")).toBe(
      String.raw`{"a":"1.50","b":"#1.5","c":1.50,"d":"say \"1.50\", 2.0"}`,
    );
  });

  it("has values for what is not there, and for lists and objects", () => {
    expect(render("[{{ data.none }}] [{{ data.none | default: 'x' }}]")).toBe("[] [x]");
    expect(render("{{ data.a }} {{ data.b }}", { a: [1, "x"], b: { c: null } })).toBe('[1,"x"] {"c":null}');
  });

  it("keeps what it captures as a value like others", () => {
    const text = "{% capture x %}<b>{{ data.a }}</b>{% endcapture %}{{ x }}";
    expect(render(text, { a: "<i>" }, "html")).toBe("&lt;b&gt;&lt;i&gt;&lt;/b&gt;");
  });
});

describe("the place of a template", () => {
  const hostile = "a\"b\\c<d>&'e\nf\u0000";

  it("html escapes what could be markup", () => {
    expect(render("<b>{{ data.a }}</b>", { a: "<script>'\"&" }, "html")).toBe("<b>&lt;script&gt;&#39;&#34;&amp;</b>");
  });

  it("json stays well-formed inside and outside of strings", () => {
    const text = '{"in":"x {{ data.a }}","out":{{ data.a }},"none":{{ data.none }},"json":"{{ data.a | json }}"}';
    expect(JSON.parse(render(text, { a: hostile }, "json"))).toEqual({
      in: `x ${hostile}`,
      out: hostile,
      none: null,
      json: JSON.stringify(hostile),
    });
  });

  it("json knows where its strings end, also behind escapes and in branches", () => {
    const text = String.raw`{"a\"{{ data.a }}":{% if data.b %}"{% else %}"no {% endif %}{{ data.a }}"}`;
    expect(JSON.parse(render(text, { a: '"', b: true }, "json"))).toEqual({ 'a""': '"' });
    expect(JSON.parse(render(text, { a: '"', b: false }, "json"))).toEqual({ 'a""': 'no "' });
  });

  it("json lets no value add members or elements", () => {
    expect(JSON.parse(render('["{{ data.a | json }}"]', { a: ",1," }, "json"))).toEqual(['",1,"']);
    expect(JSON.parse(render('{"n":{{ data.a }}}', { a: '1,"admin":true' }, "json"))).toEqual({ n: '1,"admin":true' });
  });

  it("json that is none in the end is a fault", () => {
    expect(() => render('{"a":}', {}, "json")).toThrow(/^does not produce JSON: /);
  });

  it("url encodes values for one segment or parameter", () => {
    expect(render("https://a.example/x/{{ data.a }}?q={{ data.b }}", { a: "../a/b?c#d", b: "1&z=2" }, "url")).toBe(
      "https://a.example/x/..%2Fa%2Fb%3Fc%23d?q=1%26z%3D2",
    );
    expect(new URL(render("https://a.example/x/{{ data.a }}/y", { a: ".." }, "url")).pathname).toBe("/x/%252E%252E/y");
  });

  it.each([
    "https://{{ data.a }}/",
    "{{ data.a }}",
    "https://a.example{{ data.a }}/",
    "https://a.example:{{ data.a }}/",
  ])("url lets no value choose scheme, host or port: %s", (text) => {
    expect(() => render(text, { a: "x" }, "url")).toThrow(/^has a value in the scheme, host or port/);
  });

  it.each(["\r\nX-Evil: 1", "\n", "\u0000", "\u007f"])("header rejects control characters: %j", (a) => {
    expect(() => render("v{{ data.a }}", { a }, "header")).toThrow(/^produces a header with a control character/);
  });

  it("header keeps everything else", () => {
    expect(render("{{ data.a }}", { a: 'Grüße <1> "2"' }, "header")).toBe('Grüße <1> "2"');
  });
});

describe("a template that asks for too much", () => {
  it.each([
    ["a range without end", "{% for i in (1..100000000) %}x{% endfor %}"],
    ["loops in loops", "{% for i in (1..10000) %}{% for j in (1..10000) %}{% endfor %}{% endfor %}"],
    ["100 MB of output", `{% for i in (1..100000) %}${"x".repeat(1000)}{% endfor %}`],
    ["a text that doubles", "{% for i in (1..99) %}{% capture x %}{{ x }}{{ x }}ab{% endcapture %}{% endfor %}"],
    ["an assigned one", "{% for i in (1..99) %}{% assign x = x | append: x | append: 'ab' %}{% endfor %}"],
    ["tags in tags", `${"{% if 1 %}".repeat(2900)}x${"{% endif %}".repeat(2900)}`],
    ["names in names", `{{ a${"[a".repeat(9000)}${"]".repeat(9000)} }}`],
  ])("is ended: %s", (_, text) => {
    expect(() => render(text)).toThrow(/does not end|too large|more than 256 KB|nested/);
  });

  it("counts bytes and not characters", () => {
    expect(() => render("{{ data.a }}", { a: "ü".repeat(200_000) })).toThrow("produces more than 256 KB");
    expect(render("{{ data.a }}", { a: "u".repeat(200_000) })).toHaveLength(200_000);
  });
});

describe("the language", () => {
  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "has nothing that payloads do not: %s",
    (name) => {
      for (const path of [name, `data.${name}`, `event.${name}`, `data.list.${name}`, `data["${name}"]["x"]`]) {
        expect(render(`[{{ ${path} }}]`, { list: [1] })).toBe("[]");
      }
    },
  );

  it("shows what a payload has under such a name", () => {
    expect(
      renderBody("{{ data.constructor }} {{ data.__proto__.x }}", '{"constructor":"own","__proto__":{"x":1}}'),
    ).toBe("own 1");
  });

  it.each(["render 'x'", "include 'x'", "layout 'x'", "block x", "increment x", "cycle 'a'", "tablerow x in y"])(
    "has no tag %s",
    (tag) => {
      expect(() => render(`{% ${tag} %}`)).toThrow(/has an unknown tag/);
    },
  );

  it("has no filter that is not listed, and says which was meant", () => {
    expect(() => render("{{ data.a | raw }}")).toThrow(/has an unknown filter raw/);
    expect(() => render("{{ data.a | upcas }}")).toThrow(
      "has an unknown filter upcas; did you mean upcase? (line 1, column 1)",
    );
  });

  it("says where a template cannot be read", () => {
    expect(() => render("a\n{{ data.a")).toThrow(/not closed \(line 2, column 1\)/);
    expect(() => render("{% if data.a %}")).toThrow(/not closed/);
  });
});
