import { PosthornError } from "./errors.ts";

/** A JSON Pointer (RFC 6901): the names and indices on the way to a value. */
export function parsePointer(text: string): readonly string[] {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) {
    throw new PosthornError(
      "invalid_field",
      `"${text}" is not a JSON Pointer. Write it as /name/0/name, with ~1 for "/" and ~0 for "~" inside a name.`,
    );
  }
  return text
    .slice(1)
    .split("/")
    .map((token) => (token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token));
}
