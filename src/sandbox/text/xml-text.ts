import type * as Libxml from "libxml2-wasm";
import { PosthornError } from "../../model/errors.ts";
import { outlineXml, parserFault } from "./xml-outline.ts";
import { unreadableBody } from "./unreadable.ts";

export interface XmlReader {
  /** Throws `unreadable_body`, or `too_large` beyond 8 MiB, unless the body is well-formed XML without a document type. */
  check(body: Buffer, charset: string | undefined, maxDepth: number): void;
}

const FATAL = 3;

/** The tree takes up to twenty times the size of the text, in memory that the parser never releases. */
const MAX_XML_BYTES = 8_388_608;

export async function loadXmlReader(): Promise<XmlReader> {
  return createXmlReader(await import("libxml2-wasm"));
}

function createXmlReader(libxml: typeof Libxml): XmlReader {
  const { XML_PARSE_NO_XXE, XML_PARSE_NONET, XML_PARSE_NOERROR, XML_PARSE_NOWARNING } = libxml.ParseOption;
  const loud = XML_PARSE_NO_XXE | XML_PARSE_NONET | XML_PARSE_NOWARNING;
  // Reports are left out at first: they are capped at 100, and one that is no more than a bad namespace is no failure.
  const quiet = loud | XML_PARSE_NOERROR;

  function parse(body: Buffer, encoding: string | undefined, option: number): Libxml.XmlParseError | undefined {
    try {
      libxml.XmlDocument.fromBuffer(body, encoding === undefined ? { option } : { option, encoding }).dispose();
      return undefined;
    } catch (error) {
      if (error instanceof libxml.XmlParseError) return error;
      throw error;
    }
  }

  return {
    check(body, charset, maxDepth) {
      if (body.length > MAX_XML_BYTES) {
        throw new PosthornError(
          "too_large",
          `The body has ${body.length} bytes; XML is accepted up to ${MAX_XML_BYTES} bytes. Send it in parts.`,
        );
      }
      const { encoding, fault } = outlineXml(body, charset, maxDepth);
      if (fault !== undefined) throw unreadableBody("XML", fault);
      if (parse(body, encoding, quiet) === undefined) return;
      const details = parse(body, encoding, loud)?.details ?? [];
      const { line, col, message } = details.find(({ level }) => level >= FATAL) ??
        details.at(-1) ?? { line: 1, col: 1, message: "unreadable text" };
      throw unreadableBody("XML", parserFault(body, line, col, reasonOf(message)));
    },
  };
}

/** Turns the parser's line into a part of a sentence. */
function reasonOf(message: string): string {
  const text = message.trim().replace(/\s+/g, " ");
  return text.charAt(0).toLowerCase() + text.slice(1);
}
