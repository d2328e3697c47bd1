import { isAscii } from "node:buffer";
import { findBodyKind } from "./content-type.ts";
import { checkJsonText, parseJsonText } from "./json-text.ts";
import { faultAt, unreadableBody } from "./unreadable.ts";
import { findXmlReader, loadXmlReader } from "./xml-text.ts";

export type WellFormed = JsonBody | { readonly kind: "xml" } | { readonly kind: "other" };

/** Only a few sources look into a body, and building its value costs twice as much as checking its text. */
export class JsonBody {
  readonly kind = "json";
  readonly #text: Buffer;
  #value: unknown;

  constructor(text: Buffer) {
    this.#text = text;
  }

  get value(): unknown {
    return (this.#value ??= parseJsonText(this.#text));
  }
}

export interface TextLimits {
  maxDepth: number;
}

export const DEFAULT_TEXT_LIMITS: TextLimits = { maxDepth: 128 };

const OTHER: WellFormed = { kind: "other" };
const XML: WellFormed = { kind: "xml" };

/**
 * Checks a body that is JSON or XML by its content type, or by its looks when it has none; any other type is taken as
 * it is. Throws `unreadable_body`. A promise comes back only for the first XML, while its reader is being loaded.
 */
export function checkWellFormed(
  body: Buffer,
  contentType: string | undefined,
  limits: TextLimits = DEFAULT_TEXT_LIMITS,
): WellFormed | Promise<WellFormed> {
  const { format, charset } = findBodyKind(body, contentType);
  if (format === "json") {
    if (charset !== undefined) checkJsonCharset(body, charset);
    checkJsonText(body, limits.maxDepth);
    return new JsonBody(body);
  }
  return format === "xml" ? checkXml(body, charset, limits.maxDepth) : OTHER;
}

function checkXml(body: Buffer, charset: string | undefined, maxDepth: number): WellFormed | Promise<WellFormed> {
  const reader = findXmlReader();
  if (reader === undefined) {
    return loadXmlReader().then((loaded) => {
      loaded.check(body, charset, maxDepth);
      return XML;
    });
  }
  reader.check(body, charset, maxDepth);
  return XML;
}

/** JSON is UTF-8, whatever is claimed; a wrong claim does no harm as long as every byte is ASCII. */
function checkJsonCharset(body: Buffer, charset: string): void {
  if (/^(utf-?8|us-ascii|ascii)$/.test(charset) || isAscii(body)) return;
  const position = body.findIndex((byte) => byte >= 0x80);
  throw unreadableBody("JSON", faultAt(body, position, `text in the charset "${charset}" where UTF-8 is expected`));
}
