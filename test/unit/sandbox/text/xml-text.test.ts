import * as fc from "fast-check";
import { ParseOption, XmlDocument } from "libxml2-wasm";
import { beforeAll, describe, expect, it } from "vitest";
import { PosthornError } from "../../../../src/model/errors.ts";
import { loadXmlReader, type XmlReader } from "../../../../src/sandbox/text/xml-text.ts";

let reader: XmlReader;
beforeAll(async () => {
  reader = await loadXmlReader();
});

function refusal(body: string | Buffer, charset?: string): PosthornError | undefined {
  try {
    reader.check(Buffer.from(body as string), charset, 128);
    return undefined;
  } catch (error) {
    if (error instanceof PosthornError) return error;
    throw error;
  }
}

const BILLION_LAUGHS = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><a>&y;</a>';

function utf16be(text: string): Buffer {
  return Buffer.from(text, "utf16le").swap16();
}

/** What the parser alone makes of a text. */
function judge(body: Buffer): "well-formed" | "doctype" | "malformed" {
  try {
    const document = XmlDocument.fromBuffer(body, { option: ParseOption.XML_PARSE_NOERROR });
    const verdict = document.dtd === null ? "well-formed" : "doctype";
    document.dispose();
    return verdict;
  } catch {
    return "malformed";
  }
}

describe("XML text", () => {
  it.each([
    ["<a/>"],
    [
      '<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n<!-- <!DOCTYPE x> --><?p <!DOCTYPE x>?><a b="x>y">é</a>',
    ],
    ["<a><![CDATA[<!DOCTYPE a><b>]]></a>"],
    ["\ufeff<a>ж</a>"],
    ["<x:a/>"],
    [Buffer.from('\ufeff<?xml version="1.0" encoding="UTF-16"?><a>ж</a>', "utf16le")],
    [utf16be('\ufeff<?xml version="1.0" encoding="UTF-16"?><a>ж</a>')],
    [Buffer.from('<?xml version="1.0" encoding="iso-8859-1"?><a>\xe9</a>', "latin1")],
  ])("is accepted when it is well-formed: %j", (body) => {
    expect(refusal(body)).toBeUndefined();
  });

  it.each([
    [BILLION_LAUGHS],
    ['<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'],
    [`<?xml version="1.0"?>\r\n\t <!-- a --> <?p?>\n${BILLION_LAUGHS}`],
    [`\ufeff${BILLION_LAUGHS}`],
    [Buffer.from(`\ufeff${BILLION_LAUGHS}`, "utf16le")],
    [utf16be(`\ufeff${BILLION_LAUGHS}`)],
    [Buffer.from(`<?xml version="1.0" encoding="utf-16"?>${BILLION_LAUGHS}`, "utf16le")],
    [utf16be(`<?xml version="1.0"?>${BILLION_LAUGHS}`)],
  ])("is rejected for a document type before it is parsed: %j", (body) => {
    expect(refusal(body)?.details?.["reason"]).toBe("a document type declaration (DOCTYPE), which is not accepted");
  });

  it("never lets a document type through to the parser", () => {
    const start = fc.constantFrom("", "\ufeff", "<?xml version='1.0'?>", "\ufeff<?xml version='1.0'?>", "\n");
    const misc = fc.array(
      fc.constantFrom(" ", "\n", "<!---->", "<!-- > -->", "<?p <!-- ?>", "<!--", "-->", "?>", "x", "'"),
      {
        size: "xsmall",
        maxLength: 3,
      },
    );
    const doctype = fc.constantFrom("", "<!DOCTYPE a>", "<!DOCTYPE a [<!ENTITY e '<!-- '>]>", "<!doctype a>");
    const root = fc.constantFrom("<a/>", "<a b='>' c=\"'\"/>", "<a>&e;</a>", "<a><![CDATA[</a>]]></a>", "<a>", "");
    const text = fc
      .tuple(start, misc, doctype, misc, root)
      .map(([first, before, type, after, last]) => [first, ...before, type, ...after, last].join(""));
    const encode = fc.constantFrom<(source: string) => Buffer>(
      (source) => Buffer.from(source),
      (source) => Buffer.from(source, "utf16le"),
      utf16be,
    );
    let doctypes = 0;
    fc.assert(
      fc.property(text, encode, (source, toBytes) => {
        const body = toBytes(source);
        const verdict = judge(body);
        if (verdict === "doctype") doctypes++;
        expect(refusal(body) === undefined).toBe(verdict === "well-formed");
      }),
      { numRuns: 3000 },
    );
    expect(doctypes).toBeGreaterThan(100);
  });

  it.each([
    ["", { position: 0, reason: "no element: the text is empty" }],
    [" \n", { position: 2, line: 2, column: 1 }],
    ["hello", { position: 0, reason: "expected '<'" }],
    [
      "<a>\n <é>é</b>\n</a>",
      { line: 2, column: 10, position: 15, reason: "opening and ending tag mismatch: é line 2 and b" },
    ],
    ["<a>&e;</a>", { reason: "entity 'e' not defined" }],
    ["<a/><b/>", { position: 4, reason: "extra content at the end of the document" }],
    ["<a b=1/>", { position: 5 }],
    ['<?xml version="1.0" encoding="utf-16"?><a/>', { position: 0 }],
    ['<?xml version="1.0" encoding="cp1047"?><a/>', { position: 0 }],
    [Buffer.from("4c6fa79493", "hex"), { position: 0, reason: "expected '<'" }],
    [Buffer.from("0000003c0000006100", "hex"), { reason: "text in UTF-32, which is not supported" }],
    [Buffer.from("<a>\xe9</a>", "latin1"), { position: 3 }],
    [Buffer.from("\ufeff<a>\n<b></a>", "utf16le"), { line: 2, column: 8, position: 24 }],
  ])("says where %j is not well-formed", (body, details) => {
    const error = refusal(body);
    expect(error?.code).toBe("unreadable_body");
    expect(error?.details).toMatchObject(details);
  });

  it("is read in the charset of the header when it names no encoding itself", () => {
    const latin = Buffer.from("<a>\xe9</a>", "latin1");
    expect(refusal(latin, "iso-8859-1")).toBeUndefined();
    expect(refusal('<?xml version="1.0" encoding="utf-8"?><a>é</a>', "shift_jis")).toBeUndefined();
    expect(refusal("<a/>", "utf-7")?.details?.["reason"]).toMatch(/^the encoding "utf-7"/);
  });

  it("is rejected beyond the greatest depth and no earlier", () => {
    const nested = (depth: number): string => `${"<a b='/>'>".repeat(depth)}<c/>${"</a>".repeat(depth)}`;
    expect(refusal(nested(128))).toBeUndefined();
    expect(refusal(nested(129))?.details).toMatchObject({
      reason: "nested deeper than 128 levels",
      column: 128 * 10 + 1,
    });
  });

  it("is not parsed beyond 8 MiB", () => {
    expect(refusal(`<a>${" ".repeat(8_388_601)}</a>`)).toBeUndefined();
    expect(refusal(`<a>${" ".repeat(8_388_602)}</a>`)?.code).toBe("too_large");
  });

  it("finds the fatal fault behind a hundred lesser ones", () => {
    expect(refusal(`<r>${"<x:a/>".repeat(200)}</r>`)).toBeUndefined();
    expect(refusal(`<r>${"<x:a/>".repeat(200)}</q>`)?.code).toBe("unreadable_body");
  });
});
