import { useLocation, useSearch } from "wouter";

export interface View {
  get(name: string): string | undefined;
  set(changes: Readonly<Record<string, string | undefined>>): void;
  /** The address with these changes, for links. */
  hrefWith(changes: Readonly<Record<string, string | undefined>>): string;
  search: string;
}

/** The URL is the view: what is chosen on a page stands in its query, so that it can be sent to somebody. */
export function useView(): View {
  const search = useSearch();
  const [path, navigate] = useLocation();
  function hrefWith(changes: Readonly<Record<string, string | undefined>>): string {
    const next = new URLSearchParams(search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === "") next.delete(name);
      else next.set(name, value);
    }
    const query = next.toString();
    return query === "" ? path : `${path}?${query}`;
  }
  return {
    search,
    get: (name) => new URLSearchParams(search).get(name) ?? undefined,
    set: (changes) => navigate(hrefWith(changes), { replace: true }),
    hrefWith,
  };
}
