import { isAscii } from "node:buffer";
import { findBodyKind } from "./content-type.ts";
import { checkJsonText } from "./json-text.ts";
import { faultAt, unreadableBody } from "./unreadable.ts";
import type { XmlChecker } from "./xml-check.ts";

export interface WellFormed {
  readonly kind: "json" | "xml" | "other";
}

export interface TextLimits {
  maxDepth: number;
}

export const DEFAULT_TEXT_LIMITS: TextLimits = { maxDepth: 128 };

const JSON_BODY: WellFormed = { kind: "json" };
const XML_BODY: WellFormed = { kind: "xml" };
const OTHER: WellFormed = { kind: "other" };

/**
 * Checks a body that is JSON or XML by its content type, or by its looks when it has none; any other type is taken as
 * it is. Throws `unreadable_body`. A promise comes back only for XML.
 */
export function checkWellFormed(
  body: Buffer,
  contentType: string | undefined,
  xml: Pick<XmlChecker, "check">,
  limits: TextLimits = DEFAULT_TEXT_LIMITS,
): WellFormed | Promise<WellFormed> {
  const { format, charset } = findBodyKind(body, contentType);
  if (format === "json") {
    if (charset !== undefined) checkJsonCharset(body, charset);
    checkJsonText(body, limits.maxDepth);
    return JSON_BODY;
  }
  return format === "xml" ? xml.check(body, charset, limits.maxDepth).then(() => XML_BODY) : OTHER;
}

/** JSON is UTF-8, whatever is claimed; a wrong claim does no harm as long as every byte is ASCII. */
function checkJsonCharset(body: Buffer, charset: string): void {
  if (/^(utf-?8|us-ascii|ascii)$/.test(charset) || isAscii(body)) return;
  const position = body.findIndex((byte) => byte >= 0x80);
  throw unreadableBody("JSON", faultAt(body, position, `text in the charset "${charset}" where UTF-8 is expected`));
}
