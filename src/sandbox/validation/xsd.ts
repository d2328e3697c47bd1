import type * as Libxml from "libxml2-wasm";
import type * as LibxmlErrors from "libxml2-wasm/lib/libxml2.mjs";
import { PosthornError } from "../../model/errors.ts";
import { VALIDATION_LIMITS } from "../../model/validation.ts";
import type { Mismatch } from "../schema/payload-schema.ts";
import { SchemaFault, TOO_LONG } from "../schema/schema-fault.ts";
import { outlineXml, type XmlParts } from "../text/xml-outline.ts";
import { loadXmlReader, type XmlReader } from "../text/xml-text.ts";

/** XML Schemas, with libxml2. Nothing is loaded: no network, no files, no document type. */
export interface XsdEngine {
  /** Throws `SchemaFault`, or `unreadable_body` when the document is not XML. */
  compile(document: Buffer): Xsd;
}

export interface Xsd {
  /** The errors of a body; undefined when it is valid. */
  check(body: Buffer, charset: string | undefined): readonly Mismatch[] | undefined;
  dispose(): void;
}

const XS = "http://www.w3.org/2001/XMLSchema";
const ELSEWHERE = ["import", "include", "redefine", "override"]
  .map((name) => `//xs:${name}[@schemaLocation]`)
  .join("|");
const ERROR = 2;
const MAX_MESSAGE_LENGTH = 300;
const { maxDepth, maxErrors, maxXmlNodes, maxXmlCuts } = VALIDATION_LIMITS;

/** Only this many errors are listed: listing all would take quadratic time. */
class EnoughErrors extends Error {
  readonly details: readonly Libxml.ErrorDetail[];
  constructor(details: readonly Libxml.ErrorDetail[]) {
    super("so much is wrong that the rest is not named");
    this.details = details;
  }
}

export async function loadXsdEngine(): Promise<XsdEngine> {
  const [libxml, { error }, reader] = await Promise.all([
    import("libxml2-wasm"),
    import("libxml2-wasm/lib/libxml2.mjs"),
    loadXmlReader(),
  ]);
  limitErrors(error.storage);
  return createXsdEngine(libxml, reader);
}

type ErrorStorage = typeof LibxmlErrors.error.storage;

/** The thread has one instance of the library: the limit applies only to callers that ask for it. */
let isLimited = false;

function withFewErrors<Result>(run: () => Result): Result {
  isLimited = true;
  try {
    return run();
  } finally {
    isLimited = false;
  }
}

/** The library collects errors without a limit. */
function limitErrors(storage: ErrorStorage): void {
  const get = storage.get.bind(storage);
  storage.get = (index) => {
    const details = get(index);
    if (!isLimited || details.length <= maxErrors) return details;
    storage.free(index);
    throw new EnoughErrors(details);
  };
}

function createXsdEngine(libxml: typeof Libxml, reader: XmlReader): XsdEngine {
  const { XML_PARSE_NO_XXE, XML_PARSE_NONET, XML_PARSE_NOERROR, XML_PARSE_NOWARNING } = libxml.ParseOption;
  const option = XML_PARSE_NO_XXE | XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;

  function parse(bytes: Buffer, charset: string | undefined): Libxml.XmlDocument {
    return parseOutlined(bytes, outlineXml(bytes, charset, Number.POSITIVE_INFINITY).encoding);
  }

  function parseOutlined(bytes: Buffer, encoding: string | undefined): Libxml.XmlDocument {
    return libxml.XmlDocument.fromBuffer(bytes, encoding === undefined ? { option } : { option, encoding });
  }

  function compileParsed(parsed: Libxml.XmlDocument): Libxml.XsdValidator {
    const { name, namespaceUri } = parsed.root;
    if (name !== "schema" || namespaceUri !== XS)
      throw new SchemaFault("is not an XML Schema: its root is not xs:schema");
    if (parsed.find(ELSEWHERE, { xs: XS }).length > 0) {
      throw new SchemaFault(
        "refers to another file by schemaLocation; only references within the schema itself are allowed",
      );
    }
    try {
      return withFewErrors(() => libxml.XsdValidator.fromDoc(parsed));
    } catch (error) {
      if (!(error instanceof libxml.XmlError || error instanceof EnoughErrors)) throw error;
      const [first] = describe(error);
      throw new SchemaFault(
        `does not compile: ${first?.message ?? error.message}${first?.line === undefined ? "" : ` at line ${first.line}`}`,
      );
    }
  }

  function describe(error: Error): Mismatch[] {
    const details = error instanceof libxml.XmlLibError || error instanceof EnoughErrors ? error.details : [];
    return details
      .filter(({ level }) => level >= ERROR)
      .slice(0, maxErrors)
      .map(({ message, xpath, line }) => ({ path: xpath ?? "", message: toReason(message), line }));
  }

  return {
    compile(document) {
      try {
        reader.check(document, undefined, maxDepth);
      } catch (error) {
        throw isTooDeep(error) ? new SchemaFault(`is nested more than ${maxDepth} levels deep`) : error;
      }
      // The compiled schema refers to it, so it must live as long.
      const parsed = parse(document, undefined);
      let validator: Libxml.XsdValidator;
      try {
        validator = compileParsed(parsed);
      } catch (error) {
        parsed.dispose();
        throw error;
      }
      return {
        check(body, charset) {
          const { encoding, parts } = outlineXml(body, charset, Number.POSITIVE_INFINITY);
          const tooMuch = findTooMuch(parts);
          if (tooMuch !== undefined) return [{ path: "", message: tooMuch }];
          const read = parseOutlined(body, encoding);
          try {
            withFewErrors(() => validator.validate(read));
            return undefined;
          } catch (error) {
            if (!(error instanceof libxml.XmlError || error instanceof EnoughErrors)) throw error;
            const mismatches = describe(error);
            // The library silently gives up on a pattern that takes too many steps.
            return mismatches.length > 0 ? mismatches : [{ path: "", message: TOO_LONG }];
          } finally {
            read.dispose();
          }
        },
        dispose() {
          validator.dispose();
          parsed.dispose();
        },
      };
    },
  };
}

/** Checked before the tree is built: libxml2 takes quadratic time in the number of texts of an element. */
function findTooMuch({ nodes, cuts }: XmlParts): string | undefined {
  if (nodes > maxXmlNodes) return `has more than ${maxXmlNodes} elements, attributes and texts`;
  if (cuts > maxXmlCuts) return `has more than ${maxXmlCuts} comments, processing instructions and CDATA sections`;
  return undefined;
}

function isTooDeep(error: unknown): boolean {
  return error instanceof PosthornError && String(error.details?.["reason"]).startsWith("nested deeper");
}

function toReason(message: string): string {
  const text = message.trim().replace(/\s+/g, " ").replace(/\.$/, "");
  return text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}
