import { isCredentialHeader } from "./credential-header.ts";
import { MASK } from "./mask.ts";

/**
 * Headers as they go over the wire, `Name: value` and CR LF for each: written once for all requests that have them in
 * common, and kept for users as the same text.
 */
export type HeaderBlock = string;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** A line break would begin another header, and what is beyond Latin-1 cannot be written. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export function isFieldName(text: string): boolean {
  return NAME.test(text);
}

export function isFieldValue(text: string): boolean {
  return VALUE.test(text);
}

/** One line of a block. Throws for what HTTP cannot say. */
export function headerLine(name: string, value: string): HeaderBlock {
  if (!isFieldName(name)) throw new TypeError(`${JSON.stringify(name)} is no name of a header`);
  return `${name}: ${headerValue(value)}\r\n`;
}

/** The value itself, if HTTP can say it; throws otherwise. */
export function headerValue(value: string): string {
  if (isFieldValue(value)) return value;
  throw new TypeError(`${JSON.stringify(value)} cannot be the value of a header`);
}

export function toHeaderBlock(headers: Readonly<Record<string, string>>): HeaderBlock {
  let block = "";
  for (const [name, value] of Object.entries(headers)) block += headerLine(name, value);
  return block;
}

export function parseHeaderBlock(block: HeaderBlock): Record<string, string> {
  return Object.fromEntries(toLines(block));
}

/** What may be kept and shown. */
export function maskCredentials(block: HeaderBlock): HeaderBlock {
  return toLines(block)
    .map(([name, value]) => `${name}: ${isCredentialHeader(name) ? MASK : value}\r\n`)
    .join("");
}

export function maskAll(block: HeaderBlock): HeaderBlock {
  return toLines(block)
    .map(([name]) => `${name}: ${MASK}\r\n`)
    .join("");
}

/** What may go to another origin. */
export function withoutCredentials(block: HeaderBlock): HeaderBlock {
  return (
    toLines(block)
      // A signature may be called X-Auth-Signature; it proves the event and opens nothing.
      .filter(([name]) => !isCredentialHeader(name) || /signature/i.test(name))
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")
  );
}

function toLines(block: HeaderBlock): [name: string, value: string][] {
  return block
    .split("\r\n")
    .slice(0, -1)
    .map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)];
    });
}
