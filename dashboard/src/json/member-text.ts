// Parts of JSON texts, cut out exactly as they are written.
import { skipSpace, skipString, skipValue } from "./skip.ts";

/** The members of an object with their texts and the white space around them; none of what is no object. */
function* spacedMembersOf(json: string): Generator<readonly [name: string, text: string]> {
  let at = skipSpace(json, 0);
  if (json[at] !== "{") return;
  at = skipSpace(json, at + 1);
  while (json[at] === '"') {
    const nameEnd = skipString(json, at);
    const name = JSON.parse(json.slice(at, nameEnd)) as string;
    const start = skipSpace(json, nameEnd) + 1;
    at = skipSpace(json, skipValue(json, skipSpace(json, start)));
    yield [name, json.slice(start, at)];
    if (json[at] !== ",") return;
    at = skipSpace(json, at + 1);
  }
}

/** The members of an object with their texts; none of what is no object. */
export function* membersOf(json: string): Generator<readonly [name: string, text: string]> {
  for (const [name, text] of spacedMembersOf(json)) yield [name, text.trim()];
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

/**
 * With the white space around it, because a body may begin or end with some. Undefined where the object has none of this
 * name.
 */
export function memberText(json: string, name: string): string | undefined {
  for (const [found, text] of spacedMembersOf(json)) if (found === name) return text;
  return undefined;
}
