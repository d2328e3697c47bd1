import { MASK } from "./secrets.ts";

/**
 * Headers as they are sent, one `Name: value` line each, ended by CR LF. Written once for all requests that share them,
 * and stored in the same form to be shown to users.
 */
export type HeaderBlock = string;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** A line break would begin another header, and characters beyond Latin-1 cannot be sent. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export function isFieldName(text: string): boolean {
  return NAME.test(text);
}

export function isFieldValue(text: string): boolean {
  return VALUE.test(text);
}

/** One line of a block. Throws when HTTP cannot carry the name or the value. */
export function headerLine(name: string, value: string): HeaderBlock {
  if (!isFieldName(name)) throw new TypeError(`${JSON.stringify(name)} is not a valid header name`);
  return `${name}: ${headerValue(value)}\r\n`;
}

/** Returns the value, or throws when HTTP cannot carry it. */
export function headerValue(value: string): string {
  if (isFieldValue(value)) return value;
  throw new TypeError(`${JSON.stringify(value)} is not a valid header value`);
}

export function toHeaderBlock(headers: Readonly<Record<string, string>>): HeaderBlock {
  let block = "";
  for (const [name, value] of Object.entries(headers)) block += headerLine(name, value);
  return block;
}

export function parseHeaderBlock(block: HeaderBlock): Record<string, string> {
  return Object.fromEntries(toLines(block));
}

/** The headers in a form that may be stored and shown. */
export function maskCredentials(block: HeaderBlock): HeaderBlock {
  return mapValues(block, (name, value) => (isCredentialHeader(name) ? MASK : value));
}

export function maskAll(block: HeaderBlock): HeaderBlock {
  return mapValues(block, () => MASK);
}

/** `names`: in lower case. */
export function withoutHeaders(block: HeaderBlock, names: ReadonlySet<string>): HeaderBlock {
  return mapValues(block, (name, value) => (names.has(name.toLowerCase()) ? undefined : value));
}

/** The headers that may be sent to another origin. */
export function withoutCredentials(block: HeaderBlock): HeaderBlock {
  // A signature may be called X-Auth-Signature; it proves the event's origin and gives no access.
  const isSent = (name: string) => !isCredentialHeader(name) || /signature/i.test(name);
  return mapValues(block, (name, value) => (isSent(name) ? value : undefined));
}

/** Lines without a value are left out. */
function mapValues(block: HeaderBlock, toValue: (name: string, value: string) => string | undefined): HeaderBlock {
  let mapped = "";
  for (const [name, given] of toLines(block)) {
    const value = toValue(name, given);
    if (value !== undefined) mapped += `${name}: ${value}\r\n`;
  }
  return mapped;
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

const CREDENTIAL =
  /auth|cookie|token|secret|passw|credential|session|jwt|(?:api|access|private|subscription|functions|message)[-_]?key/i;
const MAX_CACHED_NAMES = 1000;
/** A cache, because header names repeat from request to request. */
const cache = new Map<string, boolean>();

/** Whether a header's name suggests a secret: such values are masked, and not sent on to another origin. */
export function isCredentialHeader(name: string): boolean {
  let isCredential = cache.get(name);
  if (isCredential === undefined) {
    isCredential = CREDENTIAL.test(name);
    if (cache.size >= MAX_CACHED_NAMES) cache.clear();
    cache.set(name, isCredential);
  }
  return isCredential;
}
