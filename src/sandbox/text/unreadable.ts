import { bomLength } from "../../model/json.ts";
import { PosthornError } from "../../model/errors.ts";

/** Where a text stops being readable: in bytes for programs, in lines and columns (from 1, in characters) for people. */
export interface TextFault {
  position: number;
  line: number;
  column: number;
  reason: string;
}

export function unreadableBody(format: "JSON" | "XML", fault: TextFault): PosthornError {
  const { position, line, column, reason } = fault;
  return new PosthornError(
    "unreadable_body",
    `The body is not well-formed ${format}: ${reason} at line ${line}, column ${column} (byte ${position}). ` +
      "Correct the body and send it again.",
    { details: { position, line, column, reason } },
  );
}

/** The fault at a byte of a text in UTF-8 or in an encoding of one byte per character. */
export function faultAt(text: Uint8Array, position: number, reason: string): TextFault {
  let line = 1;
  let column = 1;
  for (let at = bomLength(text); at < position; at++) {
    const byte = text[at] as number;
    if (byte === 0x0a || (byte === 0x0d && text[at + 1] !== 0x0a)) {
      line++;
      column = 1;
    } else if ((byte & 0xc0) !== 0x80 && byte !== 0x0d) {
      column++;
    }
  }
  return { position, line, column, reason };
}
