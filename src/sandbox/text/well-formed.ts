import { isAscii } from "node:buffer";
import { scalarTextAt } from "../../model/json.ts";
import { checkJsonText, parseJsonText } from "./json-text.ts";
import { faultAt, unreadableBody } from "./unreadable.ts";

/** Facts about a well-formed body. */
export interface WellFormed {
  readonly kind: "json" | "xml" | "other";
  /** The scalars at the requested pointers, in their order; none if the body is not JSON. */
  readonly texts: readonly (string | undefined)[];
  /** The parsed JSON, if it was requested and is small. */
  readonly value?: unknown;
}

/** Throws `unreadable_body` unless the body is JSON. */
export function checkJsonBody(
  body: Buffer,
  charset: string | undefined,
  maxDepth: number,
  pointers: readonly (readonly string[])[],
  wantsValue = false,
): WellFormed {
  if (charset !== undefined) checkJsonCharset(body, charset);
  let value: unknown;
  if (wantsValue) value = parseJsonText(body, maxDepth);
  else checkJsonText(body, maxDepth);
  return { kind: "json", texts: pointers.map((pointer) => scalarTextAt(body, pointer)), value };
}

/** JSON is UTF-8, whatever the charset says; a wrong charset does no harm if all bytes are ASCII. */
function checkJsonCharset(body: Buffer, charset: string): void {
  if (/^(utf-?8|us-ascii|ascii)$/.test(charset) || isAscii(body)) return;
  const position = body.findIndex((byte) => byte >= 0x80);
  throw unreadableBody("JSON", faultAt(body, position, `text in the charset "${charset}" where UTF-8 is expected`));
}
