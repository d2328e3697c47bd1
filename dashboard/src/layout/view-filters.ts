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

function toIso(value: string): string | undefined {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
