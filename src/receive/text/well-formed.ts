import { isAscii } from "node:buffer";
import { scalarTextAt } from "./json-pointer.ts";
import { checkJsonText, parseJsonText } from "./json-text.ts";
import { faultAt, unreadableBody } from "./unreadable.ts";

/** What is known of a body that can be read. */
export interface WellFormed {
  readonly kind: "json" | "xml" | "other";
  /** The scalars at the pointers that were asked for, in their order; none of them in what is not JSON. */
  readonly texts: readonly (string | undefined)[];
  /** What JSON says, where it was asked for and is small; else undefined. */
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

/** JSON is UTF-8, whatever is claimed; a wrong claim does no harm as long as every byte is ASCII. */
function checkJsonCharset(body: Buffer, charset: string): void {
  if (/^(utf-?8|us-ascii|ascii)$/.test(charset) || isAscii(body)) return;
  const position = body.findIndex((byte) => byte >= 0x80);
  throw unreadableBody("JSON", faultAt(body, position, `text in the charset "${charset}" where UTF-8 is expected`));
}
