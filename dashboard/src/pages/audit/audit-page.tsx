import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { pagedQuery } from "../../api/paged.ts";
import type { AuditEntry } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { useSession } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { PagedList } from "../../ui/paged-list.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { Entry } from "./entry.tsx";
import { Verify } from "./verify.tsx";

/** As the API and the address name them. */
const FILTERS = ["kind", "id", "act", "actor", "tenant_id", "since", "until"] as const;
const KINDS = [
  "subscription",
  "source",
  "target",
  "tenant",
  "key",
  "event_type",
  "validation",
  "event",
  "delivery",
  "replay",
  "alert",
  "job",
];

export function AuditPage() {
  const view = useView();
  const session = useSession();
  const filters = useMemo(() => readFilters(view.search, FILTERS), [view.search]);
  const query = useInfiniteQuery(pagedQuery<AuditEntry>("audit", "/api/v1/audit", filters));
  const isFiltered = FILTERS.some((name) => view.get(name) !== undefined);
  const clear = () => view.set(Object.fromEntries(FILTERS.map((name) => [name, undefined])));

  return (
    <>
      <PageHead title="Audit">
        {session.tenant_id === null && <Verify />}
        <Button kind="quiet" onClick={() => void query.refetch()}>
          Reload
        </Button>
      </PageHead>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <ChoiceFilter
            view={view}
            name="kind"
            label="About"
            options={Object.fromEntries(KINDS.map((kind) => [kind, kind.replaceAll("_", " ")]))}
          />
          <TextFilter view={view} name="id" label="Id" placeholder="sub_…" isMono />
          <TextFilter view={view} name="act" label="Act" placeholder="subscription.update" />
          <TextFilter view={view} name="actor" label="By" placeholder="key:ID, config, gateway" />
          {session.tenant_id === null && <TextFilter view={view} name="tenant_id" label="Tenant" />}
          <TextFilter view={view} name="since" label="Since" type="datetime-local" />
          <TextFilter view={view} name="until" label="Until" type="datetime-local" />
          {isFiltered && (
            <Button kind="quiet" onClick={clear}>
              Clear
            </Button>
          )}
        </div>
      </form>
      <PagedList query={query} empty={<NoEntries isFiltered={isFiltered} />}>
        {(entries) => (
          <section className="card list" aria-label="Entries">
            {entries.map((entry) => (
              <Entry key={entry.seq} entry={entry} />
            ))}
          </section>
        )}
      </PagedList>
    </>
  );
}

function NoEntries({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <EmptyState title="No entry matches">Change the filters, or clear them. An id needs “About” too.</EmptyState>
    );
  }
  const command = `curl ${location.origin}/api/v1/audit -H "authorization: Bearer $POSTHORN_API_KEY"`;
  return (
    <EmptyState title="Nothing has been changed yet" command={command}>
      Every change of the configuration and every act of an administrator is listed here.
    </EmptyState>
  );
}
