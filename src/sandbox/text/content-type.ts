import { bomLength } from "../../model/json.ts";

export type BodyFormat = "json" | "xml" | "other";

export interface BodyKind {
  format: BodyFormat;
  charset: string | undefined;
}

const JSON_KIND: BodyKind = { format: "json", charset: undefined };
const OTHER_KIND: BodyKind = { format: "other", charset: undefined };
const XML_KIND: BodyKind = { format: "xml", charset: undefined };

/** The format of a body by its content type or, without one, by its first bytes. */
export function findBodyKind(body: Uint8Array, contentType: string | undefined): BodyKind {
  if (contentType === "application/json") return JSON_KIND;
  if (contentType === undefined || contentType.trim() === "") return sniff(body);
  const [essence = "", ...parameters] = contentType.toLowerCase().split(";");
  const format = formatOf(essence.trim());
  return format === "other" ? OTHER_KIND : { format, charset: charsetOf(parameters) };
}

function formatOf(essence: string): BodyFormat {
  if (essence.endsWith("/json") || essence.endsWith("+json")) return "json";
  return essence.endsWith("/xml") || essence.endsWith("+xml") ? "xml" : "other";
}

function charsetOf(parameters: readonly string[]): string | undefined {
  for (const parameter of parameters) {
    const match = /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/.exec(parameter);
    if (match) return match[1];
  }
  return undefined;
}

function sniff(body: Uint8Array): BodyKind {
  let at = bomLength(body);
  while (isSpace(body[at])) at++;
  if (body[at] === 0x7b || body[at] === 0x5b) return JSON_KIND;
  return body[at] === 0x3c || isUtf16Markup(body) ? XML_KIND : OTHER_KIND;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** `<` as the first character of UTF-16, after a BOM or without one. JSON has no other encoding than UTF-8. */
function isUtf16Markup(body: Uint8Array): boolean {
  const [first, second] = body;
  const at = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) ? 2 : 0;
  const littleEndian = body[at] === 0x3c && body[at + 1] === 0 && body[at + 3] === 0;
  return littleEndian || (body[at] === 0 && body[at + 1] === 0x3c && body[at + 2] === 0);
}
