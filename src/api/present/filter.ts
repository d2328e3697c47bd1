import type { FilterFailure } from "../../model/filter.ts";

const MAX_TEXT = 200;
const MAX_ITEMS = 20;
const MAX_DEPTH = 4;

/** `found` is left out when the event has no value at that path. A large value is shortened. */
export function presentFilterFailure({ path, operator, expected, found }: FilterFailure) {
  return { path, operator, expected, ...(found !== undefined && { found: shorten(found, MAX_DEPTH) }) };
}

function shorten(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.length <= MAX_TEXT ? value : `${value.slice(0, MAX_TEXT)}…`;
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "…";
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ITEMS).map((item) => shorten(item, depth - 1));
    return value.length <= MAX_ITEMS ? shown : [...shown, "…"];
  }
  const members = Object.entries(value);
  const shown = members.slice(0, MAX_ITEMS).map(([name, item]) => [name, shorten(item, depth - 1)] as const);
  return Object.fromEntries(members.length <= MAX_ITEMS ? shown : [...shown, ["…", "…"] as const]);
}
