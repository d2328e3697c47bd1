import { beforeAll, describe, expect, it } from "vitest";
import { PosthornError } from "../../../../src/model/errors.ts";
import { loadXsdEngine, type XsdEngine, limitWasmMemory } from "../../../../src/sandbox/checks/xsd.ts";

let engine: XsdEngine;
beforeAll(async () => {
  engine = await loadXsdEngine();
});

const schema = (inner: string) => `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">${inner}</xs:schema>`;
const LIST = schema(
  `<xs:element name="o"><xs:complexType><xs:sequence>
    <xs:element name="q" type="xs:int" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>`,
);

function check(document: string | Buffer, body: string | Buffer, charset?: string) {
  const xsd = engine.compile(Buffer.from(document));
  try {
    return xsd.check(Buffer.from(body), charset);
  } finally {
    xsd.dispose();
  }
}

describe("an XML Schema", () => {
  it("says nothing of what conforms, and names each place that does not, with its line", () => {
    expect(check(LIST, "<o><q>1</q><q>2</q></o>")).toBeUndefined();
    expect(check(LIST, "<o>\n<q>x</q>\n<q>2</q>\n<z/></o>")).toEqual([
      { path: "/o/q[1]", message: "Element 'q': 'x' is not a valid value of the atomic type 'xs:int'", line: 2 },
      { path: "/o/z", message: "Element 'z': This element is not expected. Expected is ( q )", line: 4 },
    ]);
    expect(check(LIST, "<p/>")?.[0]?.path).toBe("/p");
  });

  it("is read in its own encoding, and so is the body", () => {
    const latin = Buffer.from('<?xml version="1.0" encoding="iso-8859-1"?><grüße>1</grüße>', "latin1");
    const text = `<?xml version="1.0" encoding="iso-8859-1"?>${schema('<xs:element name="grüße" type="xs:int"/>')}`;
    const document = Buffer.from(text, "latin1");
    expect(check(document, latin)).toBeUndefined();
    const wide = Buffer.from("\ufeff<grüße>1</grüße>", "utf16le");
    expect(check(document, wide)).toBeUndefined();
    expect(check(document, Buffer.from("<grüße>1</grüße>", "latin1"), "iso-8859-1")).toBeUndefined();
  });

  it("stops naming after a hundred places, so that much of the same costs no more than that", () => {
    const found = check(LIST, `<o>${"<q>x</q>".repeat(150_000)}</o>`);
    expect(found).toHaveLength(100);
    // And the engine goes on as before.
    expect(check(LIST, "<o><q>1</q></o>")).toBeUndefined();
  });

  it("is called unreadable for what is wrong with it behind a hundred lesser faults", () => {
    const unreadable = `<r>${"<x:a/>".repeat(200)}</q>`;
    expect(() => engine.compile(Buffer.from(unreadable))).toThrow(PosthornError);
    expect(() => engine.compile(Buffer.from(unreadable))).toThrow(/mismatch/);
  });

  it("counts what a body is made of before it is parsed, and rejects what libxml2 would take too long for", () => {
    const text = schema('<xs:element name="o" type="xs:string"/>');
    for (const cut of ["<!---->", "<?a?>", "<![CDATA[]]>"]) {
      expect(check(text, `<o>${`x${cut}`.repeat(1000)}</o>`)).toBeUndefined();
      expect(check(text, `<o>${`x${cut}`.repeat(10_001)}</o>`)).toEqual([
        { path: "", message: "has more than 10000 comments, processing instructions and CDATA sections" },
      ]);
    }
    const message = "has more than 400000 elements, attributes and texts";
    const attributes = Array.from({ length: 400_000 }, (_, n) => `a${n}=''`).join(" ");
    expect(check(text, `<o ${attributes}/>`)).toEqual([{ path: "", message }]);
    expect(check(text, `<o>${"<q/>".repeat(400_000)}</o>`)).toEqual([{ path: "", message }]);
    expect(check(LIST, `<o>${"<q>1</q>".repeat(200_000)}</o>`)).toEqual([{ path: "", message }]);
    // It is what is between the tags that counts, not what looks like a tag.
    expect(check(text, `<o>${"x &lt;!-- > ' ".repeat(20_000)}</o>`)).toBeUndefined();
    expect(check(text, `<o><!--${"<a b='c'>".repeat(200_000)}--></o>`)).toBeUndefined();
  });

  it("follows no hint of a body to another schema", () => {
    const hint =
      'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="file:///etc/passwd"';
    expect(check(LIST, `<o ${hint}><q>1</q></o>`)).toBeUndefined();
  });

  it("may name other namespaces, but no places", () => {
    expect(() => engine.compile(Buffer.from(schema('<xs:import namespace="urn:a"/>')))).not.toThrow();
    for (const name of ["import", "include", "redefine", "override"]) {
      const document = Buffer.from(schema(`<xs:${name} schemaLocation="other.xsd"/>`));
      expect(() => engine.compile(document)).toThrow(/schemaLocation/);
    }
  });

  it("cannot be hurt by its own pattern", () => {
    for (const pattern of ["(a|a)*b", "(a+)+b", "(.*)*b", "(a{1,50}){1,50}b"]) {
      const type = `<xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="${pattern}"/></xs:restriction></xs:simpleType>`;
      const found = check(schema(`<xs:element name="o">${type}</xs:element>`), `<o>${"a".repeat(2000)}</o>`);
      expect(found).toHaveLength(1);
    }
  });
});

interface Memory {
  grow(pages: number): number;
}
const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: new (size: { initial: number }) => Memory } })
  .WebAssembly;
const MEGABYTE_PAGES = 16;

describe("the memory of a parser", () => {
  it("grows up to its limit and no further, and who asks for less is served again", () => {
    const watched = limitWasmMemory(100 * 1024 * 1024);
    const memory = new Memory({ initial: 1 });
    memory.grow(50 * MEGABYTE_PAGES);
    expect([watched.isLarge(), watched.isExhausted()]).toEqual([false, false]);
    expect(() => memory.grow(60 * MEGABYTE_PAGES)).toThrow(/may not grow/);
    expect([watched.isLarge(), watched.isExhausted()]).toEqual([true, true]);
    memory.grow(30 * MEGABYTE_PAGES);
    expect([watched.isLarge(), watched.isExhausted()]).toEqual([true, false]);
  });
});
