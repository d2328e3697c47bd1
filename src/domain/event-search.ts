/** What events can be searched for beyond their columns: labels in their metadata, and text in their bodies. */

/** A member of an event's metadata: that it is there, or that it has this value. */
export interface EventLabel {
  name: string;
  value: string | undefined;
}

/** Larger bodies are not looked into: each would be read whole for it. */
export const MAX_SEARCHED_BODY_BYTES = 1024 * 1024;

/**
 * Of the 50 ms that a page takes at most, with its last step and the way to the reader and back; the next page goes on
 * from there.
 */
export const SEARCH_BUDGET_MS = 30;

/** `name`, or `name=value`. */
export function parseLabel(text: string): EventLabel {
  const at = text.indexOf("=");
  return at < 0 ? { name: text, value: undefined } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

/** Each member of the metadata, with its value as text; undefined for one that holds others. */
export function readLabels(details: string | undefined): Map<string, string | undefined> {
  // Metadata stays the text that it was, and most details are without.
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
 * Whether the bytes, read as UTF-8, hold the text, large letters and small ones being the same. What is written as an
 * escape in JSON is compared as it is written.
 */
export function createTextMatch(text: string): (bytes: Uint8Array) => boolean {
  const wanted = text.toLowerCase();
  // In UTF-8 the bytes of other characters are never those of ASCII, so that decoding can be spared.
  const encoding = /^[\x20-\x7e]*$/.test(text) ? "latin1" : "utf8";
  return (bytes) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding).toLowerCase().includes(wanted);
}
