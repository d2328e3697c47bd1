import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { pagedQuery } from "../../api/paged.ts";
import type { AuditEntry } from "../../api/types.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { useSession } from "../../session/session.tsx";
import { apiCommand } from "../../ui/api-command.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { TenantFilter, TimeFilters } from "../../ui/filters.tsx";
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

  return (
    <ListPage
      title="Audit"
      noun="entry"
      matchHint=" An id needs “About” too."
      actions={
        <>
          {session.tenant_id === null && <Verify />}
          <Button kind="quiet" onClick={() => void query.refetch()}>
            Reload
          </Button>
        </>
      }
      view={view}
      filterNames={FILTERS}
      filters={
        <>
          <ChoiceFilter
            view={view}
            name="kind"
            label="About"
            options={Object.fromEntries(KINDS.map((kind) => [kind, kind.replaceAll("_", " ")]))}
          />
          <TextFilter view={view} name="id" label="Id" placeholder="sub_…" isMono />
          <TextFilter view={view} name="act" label="Action" placeholder="subscription.update" />
          <TextFilter view={view} name="actor" label="By" placeholder="key:ID or config" />
          <TenantFilter view={view} />
          <TimeFilters view={view} />
        </>
      }
      query={query}
      empty={
        <EmptyState title="Nothing has been changed yet" command={apiCommand("/api/v1/audit")}>
          Every change of the configuration and every action of an administrator is listed here.
        </EmptyState>
      }
    >
      {(entries) => (
        <section className="card list" aria-label="Entries">
          <div className="entry-row list-head" aria-hidden="true">
            <span>When</span>
            <span>What was done</span>
            <span>To which</span>
            <span>By</span>
          </div>
          {entries.map((entry) => (
            <Entry key={entry.seq} entry={entry} />
          ))}
        </section>
      )}
    </ListPage>
  );
}
