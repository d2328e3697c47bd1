import { isUtf8 } from "node:buffer";
import { JsonFault, mayBeDeeperThan, scanJson } from "./json-scan.ts";
import { faultAt, unreadableBody } from "./unreadable.ts";
import { bomLength } from "../../model/json.ts";

/** Throws `unreadable_body` with the position and the reason unless the body is JSON. A leading BOM is skipped. */
export function checkJsonText(body: Buffer, maxDepth: number): void {
  if (!isUtf8(body)) {
    const reason = utf16Reason(body) ?? "a byte that is not UTF-8";
    throw unreadableBody("JSON", faultAt(body, findInvalidUtf8(body), reason));
  }
  try {
    scanJson(body, bomLength(body), maxDepth);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw unreadableBody("JSON", faultAt(body, error.position, utf16Reason(body) ?? error.message));
  }
}

/**
 * The value of a JSON body, for callers that need it: parsing also checks, and a separate check would cost half as
 * much again. Throws as `checkJsonText` does.
 */
export function parseJsonText(body: Buffer, maxDepth: number): unknown {
  if (!isUtf8(body) || mayBeDeeperThan(body, maxDepth)) checkJsonText(body, maxDepth);
  try {
    return JSON.parse(body.toString("utf8", bomLength(body))) as unknown;
  } catch (error) {
    // The scan reports the position and the reason.
    checkJsonText(body, maxDepth);
    throw error;
  }
}

function utf16Reason(body: Uint8Array): string | undefined {
  const [first, second] = body;
  const hasBom = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const hasZero = body.length > 1 && (first === 0) !== (second === 0);
  return hasBom || hasZero ? "text that looks like UTF-16 where UTF-8 is expected" : undefined;
}

/** Finds U+FFFD that was not in the text: it stands for a byte that cannot be decoded. */
function findInvalidUtf8(body: Buffer): number {
  const text = body.toString("utf8");
  let position = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf("\ufffd", from);
    if (at === -1) return body.length;
    position += Buffer.byteLength(text.slice(from, at));
    if (body[position] !== 0xef || body[position + 1] !== 0xbf || body[position + 2] !== 0xbd) return position;
    position += 3;
    from = at + 1;
  }
}
