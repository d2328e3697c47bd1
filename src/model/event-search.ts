/** Searches beyond an event's columns: labels in its metadata, and text in its body. */

/** A member of an event's metadata. Without a value it only has to exist. */
export interface EventLabel {
  name: string;
  value: string | undefined;
}

/** Larger bodies are not searched, because each would have to be read as a whole. */
export const MAX_SEARCHED_BODY_BYTES = 1024 * 1024;

/**
 * The time for one page. It must stay below 50 ms, the last step and the way to the reader thread included; the next
 * page continues where this one ended.
 */
export const SEARCH_BUDGET_MS = 30;

/** `name`, or `name=value`. */
export function parseLabel(text: string): EventLabel {
  const at = text.indexOf("=");
  return at < 0 ? { name: text, value: undefined } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

/** Each member of the metadata with its value as text; undefined for a value that is an object or a list. */
export function readLabels(details: string | undefined): Map<string, string | undefined> {
  // Metadata is kept as text, and most details have none.
  if (details?.includes('"metadata"') !== true) return new Map();
  const { metadata } = JSON.parse(details) as { metadata?: Record<string, unknown> };
  const labels = new Map<string, string | undefined>();
  for (const [name, value] of Object.entries(metadata ?? {})) {
    labels.set(name, typeof value === "object" && value !== null ? undefined : String(value));
  }
  return labels;
}

export function hasLabels(details: string | undefined, wanted: readonly EventLabel[]): boolean {
  const labels = readLabels(details);
  return wanted.every(({ name, value }) => (value === undefined ? labels.has(name) : labels.get(name) === value));
}

/**
 * Whether the bytes, read as UTF-8, contain the text; upper and lower case are the same. Escapes in JSON are not
 * decoded: they are compared as written.
 */
export function createTextMatch(text: string): (bytes: Uint8Array) => boolean {
  const wanted = text.toLowerCase();
  // In UTF-8 the bytes of other characters are never ASCII bytes, so no decoding is needed.
  const encoding = /^[\x20-\x7e]*$/.test(text) ? "latin1" : "utf8";
  return (bytes) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding).toLowerCase().includes(wanted);
}
