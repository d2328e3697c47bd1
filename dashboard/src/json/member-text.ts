import { skipSpace, skipString, skipValue } from "./skip.ts";

/** The text of a member of a JSON object, exactly as it is written; undefined where the object has none of this name. */
export function memberText(json: string, name: string): string | undefined {
  let at = skipSpace(json, 0);
  if (json[at] !== "{") return undefined;
  at = skipSpace(json, at + 1);
  while (json[at] === '"') {
    const nameEnd = skipString(json, at);
    const isWanted = JSON.parse(json.slice(at, nameEnd)) === name;
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = skipValue(json, start);
    if (isWanted) return json.slice(start, end);
    at = skipSpace(json, end);
    if (json[at] !== ",") return undefined;
    at = skipSpace(json, at + 1);
  }
  return undefined;
}
