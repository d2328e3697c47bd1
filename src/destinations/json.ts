/** JSON that others wrote, and that may be none. */

/** Undefined when the text is not JSON. */
export function parseJson(text: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof text === "string" ? text : viewOf(text).toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Undefined when the text is not a JSON object. */
export function parseObject(text: string | Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

/** The same bytes, not a copy. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
