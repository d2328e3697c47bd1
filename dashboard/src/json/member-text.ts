// Parts of JSON texts, cut out exactly as they are written.
import { skipSpace, skipString, skipValue } from "./skip.ts";

/** The members of an object with their texts; none of what is no object. */
export function* membersOf(json: string): Generator<readonly [name: string, text: string]> {
  let at = skipSpace(json, 0);
  if (json[at] !== "{") return;
  at = skipSpace(json, at + 1);
  while (json[at] === '"') {
    const nameEnd = skipString(json, at);
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = skipValue(json, start);
    yield [JSON.parse(json.slice(at, nameEnd)) as string, json.slice(start, end)];
    at = skipSpace(json, end);
    if (json[at] !== ",") return;
    at = skipSpace(json, at + 1);
  }
}

/** The texts of the items of a list; none of what is no list. */
export function* itemsOf(json: string): Generator<string> {
  let at = skipSpace(json, 0);
  if (json[at] !== "[") return;
  at = skipSpace(json, at + 1);
  while (at < json.length && json[at] !== "]") {
    const end = skipValue(json, at);
    yield json.slice(at, end);
    at = skipSpace(json, end);
    if (json[at] !== ",") return;
    at = skipSpace(json, at + 1);
  }
}

/** Undefined where the object has none of this name. */
export function memberText(json: string, name: string): string | undefined {
  for (const [found, text] of membersOf(json)) if (found === name) return text;
  return undefined;
}
