import type * as Libxml from "libxml2-wasm";
import type * as LibxmlErrors from "libxml2-wasm/lib/libxml2.mjs";
import { VALIDATION_LIMITS } from "../../model/validation.ts";
import { SchemaFault, TOO_LONG, tooDeepOr, type Mismatch } from "../schema/faults.ts";
import { loadXmlReader, outlineXml, parseXml } from "../text/xml-text.ts";

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

export type XsdEngine = Awaited<ReturnType<typeof loadXsdEngine>>;

/** XML Schemas, with libxml2. Nothing is loaded: no network, no files, no document type. */
export async function loadXsdEngine() {
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

function createXsdEngine(libxml: typeof Libxml, reader: Awaited<ReturnType<typeof loadXmlReader>>) {
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
    /** Throws `SchemaFault`, or `unreadable_body` when the document is not XML. */
    compile(document: Buffer) {
      try {
        reader.check(document, undefined, maxDepth);
      } catch (error) {
        throw tooDeepOr(error, maxDepth);
      }
      // The compiled schema refers to it, so it must live as long.
      const parsed = parseXml(libxml, document, outlineXml(document, undefined, Number.POSITIVE_INFINITY).encoding);
      let validator: Libxml.XsdValidator;
      try {
        validator = compileParsed(parsed);
      } catch (error) {
        parsed.dispose();
        throw error;
      }
      return {
        check(body: Buffer, charset: string | undefined): readonly Mismatch[] | undefined {
          const { encoding, parts } = outlineXml(body, charset, Number.POSITIVE_INFINITY);
          const tooMuch = findTooMuch(parts);
          if (tooMuch !== undefined) return [{ path: "", message: tooMuch }];
          const read = parseXml(libxml, body, encoding);
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
        dispose(): void {
          validator.dispose();
          parsed.dispose();
        },
      };
    },
  };
}

/** Checked before the tree is built: libxml2 takes quadratic time in the number of texts of an element. */
function findTooMuch({ nodes, cuts }: ReturnType<typeof outlineXml>["parts"]): string | undefined {
  if (nodes > maxXmlNodes) return `has more than ${maxXmlNodes} elements, attributes and texts`;
  if (cuts > maxXmlCuts) return `has more than ${maxXmlCuts} comments, processing instructions and CDATA sections`;
  return undefined;
}

function toReason(message: string): string {
  const text = message.trim().replace(/\s+/g, " ").replace(/\.$/, "");
  return text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}

const PAGE_BYTES = 65_536;
const LARGE_BYTES = 64 * 1024 * 1024;
/** The tree of the largest accepted body takes less than half of it. */
const MAX_BYTES = 384 * 1024 * 1024;

interface MemoryPrototype {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: { prototype: MemoryPrototype } } }).WebAssembly;

/**
 * The parser declares a limit of two gigabytes of memory; in this thread it gets less. For the whole thread, because no
 * limit can be set before a memory is created.
 */
export function limitWasmMemory(maxBytes = MAX_BYTES) {
  const grow = Memory.prototype.grow;
  let bytes = 0;
  let isExhausted = false;
  Memory.prototype.grow = function (this: MemoryPrototype, pages: number) {
    const wanted = this.buffer.byteLength + pages * PAGE_BYTES;
    // The caller may ask again for less.
    isExhausted = wanted > maxBytes;
    if (isExhausted) throw new RangeError("The memory may not grow any more.");
    bytes = Math.max(bytes, wanted);
    return grow.call(this, pages);
  };
  return {
    /** So much memory is used that a restart is worth it. */
    isLarge: () => bytes > LARGE_BYTES || isExhausted,
    isExhausted: () => isExhausted,
  };
}
