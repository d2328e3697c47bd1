import { parseExactly } from "./exact-json.ts";
import { createRandomId } from "../bytes.ts";

/** JSON that is sent as it is written, byte for byte. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * JSON that you have already, as text or UTF-8 bytes: it is sent as it is. For numbers that JavaScript cannot hold, and
 * for bodies whose exact bytes count.
 */
export function rawJson(json: string | Uint8Array): RawJson {
  const text =
    typeof json === "string" ? json : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(json);
  JSON.parse(text);
  return new RawJson(text);
}

/** Nobody can guess it, so no text of a payload is taken for a place that something raw belongs to. */
const MARK = createRandomId();
const MARKED = new RegExp(`"${MARK}:(\\d+)"`, "g");
/** From here on a number is written with an exponent, and says so itself that it is not exact. */
const EXPONENT = 1e21;

/** As `JSON.stringify`, and exact: a bigint is written with all its digits, and a number that has lost some is rejected. */
export function writeJson(value: unknown): string {
  const raw: string[] = [];
  const mark = (text: string) => `${MARK}:${raw.push(text) - 1}`;

  function replace(key: string, member: unknown): unknown {
    if (typeof member === "bigint") return mark(String(member));
    if (member instanceof RawJson) return mark(member.text);
    if (typeof member === "number") rejectInexact(key, member);
    return member;
  }

  const text = JSON.stringify(value, replace) as string | undefined;
  if (text === undefined) throw new TypeError("There is nothing to send: the value is undefined or a function.");
  return raw.length === 0 ? text : text.replaceAll(MARKED, (_, index: string) => raw[Number(index)] as string);
}

function rejectInexact(key: string, value: number): void {
  if (!Number.isFinite(value)) throw new TypeError(`${key} is ${value}, which JSON cannot hold.`);
  if (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= EXPONENT) return;
  throw new TypeError(
    `${key} is ${value}: beyond 2^53 a number may have lost digits. Give it as a bigint, as text, or the JSON by rawJson().`,
  );
}

const MANY_DIGITS = /\d{16}/;

/** As `JSON.parse`, and exact: an integer beyond 2^53 is a bigint. */
export function parseJson(text: string): unknown {
  return MANY_DIGITS.test(text) ? parseExactly(text) : (JSON.parse(text) as unknown);
}
