import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { usageFailure } from "./failure.ts";
import { getSurroundings, resolvePath, type Surroundings } from "./surroundings.ts";

/** Reads the values of flags and arguments. Each function throws a usage failure that names the flag. */

export function readCount(text: string, flag: string, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageFailure(`${flag}: "${text}" is not a whole number from ${min} to ${max}.`);
}

export function readNumber(text: string, flag: string, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageFailure(`${flag}: "${text}" is not a number from ${min} to ${max}.`);
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The end of the year 9999: RFC 3339 has no later times. */
const MAX_DATE_MS = 253_402_300_799_999;

/** A time as RFC 3339, or how long ago it was: `90s`, `15m`, `2h`, `7d`. */
export function readTime(text: string, flag: string): string {
  const at = Date.now() - (readSpan(text) ?? Number.NaN);
  const timeMs = Number.isNaN(at) ? Date.parse(text) : at;
  if (timeMs >= 0) return new Date(timeMs).toISOString();
  throw usageFailure(`${flag}: "${text}" is not a time; write RFC 3339, or 15m, 2h, 7d.`);
}

/** A future time as RFC 3339, or the time until then: `12h`, `30d`. */
export function readEnd(text: string, flag: string): string {
  const wallMs = Date.now();
  const span = readSpan(text);
  const at = span === undefined ? Date.parse(text) : wallMs + span;
  if (at > wallMs && at <= MAX_DATE_MS) return new Date(at).toISOString();
  throw usageFailure(`${flag}: "${text}" is not a time in the future; write RFC 3339, or 12h, 30d.`);
}

/** In seconds; a number without a unit means seconds. */
export function readDuration(text: string, flag: string): number {
  const span = readSpan(/^\d+$/.test(text) ? `${text}s` : text);
  if (span !== undefined) return span / 1000;
  throw usageFailure(`${flag}: "${text}" is not a duration; write for example 14d, 2h or 0.`);
}

function readSpan(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
}

export const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/;

/** `form` captures the name and the value. */
export function readPairs(pairs: readonly string[], flag: string, form: RegExp): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value = ""] = form.exec(pair) ?? [];
      // The value may be a secret, so the text is not repeated.
      if (name === undefined) throw usageFailure(`${flag}: one value is not a pair of a name and a value.`);
      return [name.trim(), value];
    }),
  );
}

/** JSON, or a file with JSON or yaml. */
export function readJson(text: string, flag: string): unknown {
  if (text.startsWith("@")) return readDocument(text.slice(1));
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw usageFailure(`${flag}: write JSON, or @FILE.`);
  }
}

/** JSON or yaml from a file; `-` is standard input. */
export function readDocument(file: string): unknown {
  const text = readBytes(file).toString("utf8");
  try {
    return parse(text) as unknown;
  } catch (error) {
    throw usageFailure(`${file} is neither JSON nor yaml: ${(error as Error).message.split("\n", 1)[0]}`);
  }
}

export function readObject(file: string): Record<string, unknown> {
  const document = readDocument(file);
  if (typeof document === "object" && document !== null && !Array.isArray(document)) {
    return document as Record<string, unknown>;
  }
  throw usageFailure(`${file} does not contain an object.`);
}

/** Secrets are never read from the command line itself, where other users of the machine could see them. */
export function readSecret(file: string): string {
  return readBytes(file).toString("utf8").trim();
}

/** The bytes of a payload: JSON as it was typed, `@FILE`, or `-` for standard input. */
export function readPayload(text: string): Buffer<ArrayBuffer> {
  if (text === "-") return readBytes(text);
  return text.startsWith("@") ? readBytes(text.slice(1)) : Buffer.from(text);
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const withReadInput = new WeakSet<Surroundings>();

/** `-` is standard input. */
export function readBytes(file: string): Buffer<ArrayBuffer> {
  const surroundings = getSurroundings();
  if (file === "-" && withReadInput.has(surroundings)) throw usageFailure("Standard input can be read only once.");
  if (file === "-") withReadInput.add(surroundings);
  try {
    return file === "-" ? surroundings.readStdin() : readFileSync(resolvePath(file));
  } catch (error) {
    throw usageFailure(`Cannot read ${file} (${(error as NodeJS.ErrnoException).code}).`);
  }
}
