import type * as Libxml from "libxml2-wasm";
import { PosthornError } from "../../model/errors.ts";
import { unreadableBody, faultAt, type TextFault } from "./json-text.ts";
import { bomLength } from "../../model/json.ts";

export type XmlReader = Awaited<ReturnType<typeof loadXmlReader>>;

const FATAL = 3;

/** The tree takes up to twenty times the size of the text, in memory that the parser never releases. */
const MAX_XML_BYTES = 8_388_608;

export async function loadXmlReader() {
  return createXmlReader(await import("libxml2-wasm"));
}

/** Nothing is loaded: no network, no files. A quiet parser reports no errors beside the one that ends it. */
export function parseXml(libxml: typeof Libxml, body: Buffer, encoding: string | undefined, isQuiet = true) {
  const { XML_PARSE_NO_XXE, XML_PARSE_NONET, XML_PARSE_NOERROR, XML_PARSE_NOWARNING } = libxml.ParseOption;
  const loud = XML_PARSE_NO_XXE | XML_PARSE_NONET | XML_PARSE_NOWARNING;
  const option = isQuiet ? loud | XML_PARSE_NOERROR : loud;
  return libxml.XmlDocument.fromBuffer(body, encoding === undefined ? { option } : { option, encoding });
}

function createXmlReader(libxml: typeof Libxml) {
  function findError(body: Buffer, encoding: string | undefined, isQuiet: boolean): Libxml.XmlParseError | undefined {
    try {
      parseXml(libxml, body, encoding, isQuiet).dispose();
      return undefined;
    } catch (error) {
      if (error instanceof libxml.XmlParseError) return error;
      throw error;
    }
  }

  return {
    /** Throws `unreadable_body`, or `too_large` beyond 8 MiB, unless the body is well-formed XML without a document type. */
    check(body: Buffer, charset: string | undefined, maxDepth: number): void {
      if (body.length > MAX_XML_BYTES) {
        throw new PosthornError(
          "too_large",
          `The body has ${body.length} bytes; XML is accepted up to ${MAX_XML_BYTES} bytes. Send it in parts.`,
        );
      }
      const { encoding, fault } = outlineXml(body, charset, maxDepth);
      if (fault !== undefined) throw unreadableBody("XML", fault);
      // Reports are left out at first: they are capped at 100, and one that is no more than a bad namespace is no failure.
      if (findError(body, encoding, true) === undefined) return;
      const details = findError(body, encoding, false)?.details ?? [];
      const { line, col, message } = details.find(({ level }) => level >= FATAL) ??
        details.at(-1) ?? { line: 1, col: 1, message: "unreadable text" };
      throw unreadableBody("XML", parserFault(body, line, col, reasonOf(message)));
    },
  };
}

function reasonOf(message: string): string {
  const text = message.trim().replace(/\s+/g, " ");
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/**
 * Reads no more of an XML text than its encoding, its prolog and its tags: a document type or too deep a nesting
 * must be rejected before a parser sees it.
 */
interface XmlOutline {
  /** The encoding that the parser must be told; undefined if it detects the encoding itself. */
  encoding: string | undefined;
  fault: TextFault | undefined;
  parts: XmlParts;
}

/** The size of the tree that a parser would build, up to the first error. */
interface XmlParts {
  /** Elements, attributes and texts. */
  nodes: number;
  /** Comments, processing instructions and CDATA sections: each splits a text in two. */
  cuts: number;
}

/** One unit is one byte or one UTF-16 code unit; every mark of XML's syntax is one unit in all of them. */
interface Units {
  text: string;
  skippedBytes: number;
  bytesPerUnit: 1 | 2;
}

/** ASCII inside, so that the scan below sees the same tags as the parser. EBCDIC, UTF-7 and ISO-2022 are not. */
const ASCII_SUPERSETS =
  /^(utf-?8|us-ascii|ascii|iso-8859-\d{1,2}|latin1|windows-125\d|koi8-[ru]|shift_jis|euc-(jp|kr)|gb2312|gbk|gb18030|big5)$/i;

export function outlineXml(body: Buffer, charset: string | undefined, maxDepth: number): XmlOutline {
  const units = readUnits(body);
  const parts: XmlParts = { nodes: 0, cuts: 0 };
  if (units === undefined) {
    return { encoding: undefined, fault: faultAt(body, 0, "text in UTF-32, which is not supported"), parts };
  }
  const fail = (at: number, reason: string): XmlOutline => ({
    encoding: undefined,
    fault: faultAtUnit(body, units, at, reason),
    parts,
  });

  const declared = declaredEncoding(units.text);
  let encoding: string | undefined;
  if (units.bytesPerUnit === 2) {
    if (declared !== undefined && !/^utf-16(le|be)?$/i.test(declared)) {
      return fail(0, `text in UTF-16 that declares the encoding "${declared}"`);
    }
  } else {
    // The document's declaration wins over the header: frameworks add a charset without checking it.
    const named = declared ?? (bomLength(body) > 0 ? undefined : charset);
    if (named !== undefined && !ASCII_SUPERSETS.test(named)) {
      return fail(0, `the encoding "${named}", which is not supported or not that of the text,`);
    }
    encoding = declared === undefined ? named : undefined;
  }
  const found = scanTags(units.text, maxDepth, parts);
  return found === undefined ? { encoding, fault: undefined, parts } : fail(found.at, found.reason);
}

function readUnits(body: Buffer): Units | undefined {
  const [a, b, c, d] = body;
  const isZeroPair = (left: number | undefined, right: number | undefined): boolean => left === 0 && right === 0;
  if (isZeroPair(a, b) || (isZeroPair(c, d) && (a === 0xff || b === 0))) return undefined;
  if (a === 0xff && b === 0xfe) return { text: body.toString("utf16le", 2), skippedBytes: 2, bytesPerUnit: 2 };
  if (a === 0xfe && b === 0xff) return { text: decodeBigEndian(body, 2), skippedBytes: 2, bytesPerUnit: 2 };
  if (a === 0 && b !== undefined) return { text: decodeBigEndian(body, 0), skippedBytes: 0, bytesPerUnit: 2 };
  if (b === 0) return { text: body.toString("utf16le"), skippedBytes: 0, bytesPerUnit: 2 };
  const skippedBytes = bomLength(body);
  return { text: body.toString("latin1", skippedBytes), skippedBytes, bytesPerUnit: 1 };
}

function decodeBigEndian(body: Buffer, start: number): string {
  const even = start + ((body.length - start) & ~1);
  return Buffer.from(body.subarray(start, even)).swap16().toString("utf16le");
}

function declaredEncoding(text: string): string | undefined {
  if (!text.startsWith("<?xml")) return undefined;
  const end = text.indexOf("?>");
  return /\sencoding\s*=\s*["']([^"']*)["']/.exec(text.slice(0, end === -1 ? 256 : end))?.[1];
}

/** Stops without an error at malformed text: the parser will stop there, too, with a better message. */
function scanTags(text: string, maxDepth: number, parts: XmlParts): { at: number; reason: string } | undefined {
  const first = text.search(/[^ \t\r\n]/);
  if (first === -1) return { at: text.length, reason: "no element: the text is empty" };
  if (text[first] !== "<") return { at: first, reason: "expected '<'" };
  let depth = 0;
  let at = first;
  while (at !== -1) {
    const next = text[at + 1];
    if (next === "!") {
      if (/^<!doctype/i.test(text.slice(at, at + 9))) {
        return { at, reason: "a document type declaration (DOCTYPE), which is not accepted" };
      }
      parts.cuts++;
      at = text.startsWith("<!--", at) ? after(text, "-->", at + 4) : after(text, "]]>", at + 9);
    } else if (next === "?") {
      parts.cuts++;
      at = after(text, "?>", at + 2);
    } else if (next === "/") {
      depth--;
      at = after(text, ">", at + 2);
    } else {
      parts.nodes++;
      const end = tagEnd(text, at + 1, parts);
      if (end !== -1 && text[end - 1] !== "/" && ++depth > maxDepth) {
        return { at, reason: `nested deeper than ${maxDepth} levels` };
      }
      at = end === -1 ? -1 : end + 1;
    }
    if (at === -1) break;
    const nextTag = text.indexOf("<", at);
    if (nextTag > at) parts.nodes++;
    at = nextTag;
  }
  return undefined;
}

function after(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at === -1 ? -1 : at + mark.length;
}

/** Finds the `>` that ends a start tag, skipping those inside quotes. */
function tagEnd(text: string, from: number, parts: XmlParts): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3e) return at;
    if (code === 0x22 || code === 0x27) {
      parts.nodes++;
      at = text.indexOf(code === 0x22 ? '"' : "'", at + 1);
      if (at === -1) return -1;
    }
  }
  return -1;
}

function faultAtUnit(body: Buffer, units: Units, at: number, reason: string): TextFault {
  const position = units.skippedBytes + at * units.bytesPerUnit;
  if (units.bytesPerUnit === 1) return faultAt(body, position, reason);
  const before = units.text.slice(0, at).split("\n");
  return { position, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, reason };
}

/** The byte where the parser stopped; the parser itself counts lines and characters. */
function parserFault(body: Buffer, line: number, column: number, reason: string): TextFault {
  const units = readUnits(body) ?? { text: "", skippedBytes: 0, bytesPerUnit: 1 };
  let at = 0;
  for (let passed = 1; passed < line; passed++) {
    const end = units.text.indexOf("\n", at);
    if (end === -1) break;
    at = end + 1;
  }
  for (let passed = 1; passed < column && at < units.text.length; passed++) {
    at++;
    while (units.bytesPerUnit === 1 && (units.text.charCodeAt(at) & 0xc0) === 0x80) at++;
  }
  return { position: units.skippedBytes + at * units.bytesPerUnit, line, column, reason };
}
