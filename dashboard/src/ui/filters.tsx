import type { ReactNode } from "react";
import type { View } from "../layout/use-view.ts";
import { SEARCH_ID } from "../layout/shortcuts.tsx";
import { useSession } from "../session/session.tsx";
import { Button } from "./button.tsx";
import { TextFilter } from "./view-filters.tsx";

interface FiltersProps {
  view: View;
  /** All that the page can be narrowed by: where one of them is set, there is a way to clear them. */
  names: readonly string[];
  children: ReactNode;
  /** Below the first row. */
  more?: ReactNode;
}

/** What a list is narrowed by. */
export function Filters({ view, names, children, more }: FiltersProps) {
  return (
    <search>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          {children}
          {isFiltered(view, names) && (
            <Button kind="quiet" onClick={() => view.set(Object.fromEntries(names.map((name) => [name, undefined])))}>
              Clear
            </Button>
          )}
        </div>
        {more}
      </form>
    </search>
  );
}

export function isFiltered(view: View, names: readonly string[]): boolean {
  return names.some((name) => view.get(name) !== undefined);
}

interface SearchFilterProps {
  view: View;
  name?: string;
  label?: string;
  /** What is searched. */
  hint: string;
  isWide?: boolean;
}

/** The one that `/` puts the cursor into. */
export function SearchFilter({ view, name = "search", label = "Search", hint, isWide = false }: SearchFilterProps) {
  return (
    <TextFilter view={view} name={name} label={label} id={SEARCH_ID} placeholder={`${hint}  ( / )`} isWide={isWide} />
  );
}

/** For those who see more than one tenant. */
export function TenantFilter({ view, label = "Tenant", hint }: { view: View; label?: string; hint?: string }) {
  const { tenant_id: own } = useSession();
  if (own !== null) return null;
  return <TextFilter view={view} name="tenant_id" label={label} placeholder={hint} />;
}

interface TimeFiltersProps {
  view: View;
  since?: string;
  until?: string;
}

/** Between two times, of which each may be left out. */
export function TimeFilters({ view, since = "Since", until = "Until" }: TimeFiltersProps) {
  return (
    <>
      <TextFilter view={view} name="since" label={since} type="datetime-local" />
      <TextFilter view={view} name="until" label={until} type="datetime-local" />
    </>
  );
}
