import { randomUUID } from "node:crypto";
import { Drop } from "liquidjs";

/** A number that JavaScript would write differently than its sender did: beyond 2^53, or `10.50`. */
export class ExactNumber extends Drop {
  readonly text: string;
  constructor(text: string) {
    super();
    this.text = text;
  }
  override valueOf(): number {
    return Number(this.text);
  }
  override toString(): string {
    return this.text;
  }
}

/** A text or a number in a document that is known to be JSON. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*/g;
/** Most documents have no such number, and are read only once. A match inside a text is possible. */
const MAY_DIFFER = /-0|[0-9]{16}|[0-9][.eE]/;
/** A prefix for numbers that are kept as texts for a moment. No sender can know it. */
const MARK = `${randomUUID()}:`;

/** Like JSON.parse, but keeps numbers as they were written. Throws for invalid JSON. */
export function parseExactJson(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  if (!MAY_DIFFER.test(text)) return plain;
  let isMarked = false;
  const marked = text.replace(TOKEN, (token) => {
    if (token.startsWith('"') || String(Number(token)) === token) return token;
    isMarked = true;
    return `"${MARK}${token}"`;
  });
  if (!isMarked) return plain;
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value,
  );
}

/** Like JSON.stringify, but writes numbers as they were written; undefined becomes null. */
export function writeExactJson(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (value instanceof Drop) return writeExactJson(value.valueOf());
  if (Array.isArray(value)) return `[${value.map(writeExactJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${writeExactJson(member)}`)
    .join(",")}}`;
}
