import { skipSpace, skipString, skipValue } from "./skip.ts";

/**
 * The text of a member of a JSON object, exactly as it is written, with the white space around it: a body may begin or
 * end with some. Undefined where the object has none of this name.
 */
export function memberText(json: string, name: string): string | undefined {
  let at = skipSpace(json, 0);
  if (json[at] !== "{") return undefined;
  at = skipSpace(json, at + 1);
  while (json[at] === '"') {
    const nameEnd = skipString(json, at);
    const isWanted = JSON.parse(json.slice(at, nameEnd)) === name;
    const start = skipSpace(json, nameEnd) + 1;
    at = skipSpace(json, skipValue(json, skipSpace(json, start)));
    if (isWanted) return json.slice(start, at);
    if (json[at] !== ",") return undefined;
    at = skipSpace(json, at + 1);
  }
  return undefined;
}
