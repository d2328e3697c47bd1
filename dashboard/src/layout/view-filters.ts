/** What a list is narrowed by, as the address and the API name it. */
export type Filters = Readonly<Record<string, string | undefined>>;

/** Typed as a local time, asked for as the moment that it is. */
export function readFilters(search: string, names: readonly string[]): Filters {
  const query = new URLSearchParams(search);
  return Object.fromEntries(
    names.map((name) => {
      const value = query.get(name) ?? undefined;
      const isTime = (name === "since" || name === "until") && value !== undefined;
      return [name, isTime ? toIso(value) : value];
    }),
  );
}

/** Without those that say nothing: the API does not take undefined members for none. */
export function givenFilters(filters: Filters): Record<string, string> {
  return Object.fromEntries(
    Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""),
  );
}

function toIso(value: string): string | undefined {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
