import { useState } from "react";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import type { useView } from "../../layout/use-view.ts";
import { useSession } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { FILTERS, type FilterName } from "./event-filters.ts";

type View = ReturnType<typeof useView>;

const MORE: readonly FilterName[] = ["data", "id", "label", "ordering_key", "tenant_id", "since", "until", "unmatched"];

export function FilterBar({ view }: { view: View }) {
  const session = useSession();
  const used = MORE.filter((name) => view.get(name) !== undefined).length;
  const [isOpen, setOpen] = useState(used > 0);
  const hasAny = FILTERS.some((name) => view.get(name) !== undefined);
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <div className="filter-row">
        <TextFilter
          view={view}
          name="text"
          label="Search in bodies"
          id={SEARCH_ID}
          placeholder="Search in bodies  ( / )"
        />
        <TextFilter view={view} name="event_type" label="Type" placeholder="order.*" />
        <TextFilter view={view} name="source" label="Source" placeholder="shop" />
        <ChoiceFilter
          view={view}
          name="status"
          label="Status"
          options={{ PENDING: "pending", COMPLETED: "completed", FAILED: "failed" }}
        />
        <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          More filters{used > 0 ? ` (${used})` : ""}
        </Button>
        {hasAny && (
          <Button kind="quiet" onClick={() => view.set(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
            Clear
          </Button>
        )}
      </div>
      {isOpen && (
        <div className="filter-row">
          <TextFilter
            view={view}
            name="data"
            label="Payload fields"
            placeholder='{"order":{"total":{"$gt":100}}}'
            isWide
            isMono
          />
          <TextFilter view={view} name="id" label="Id" placeholder="evt_01m7*" isMono />
          <TextFilter view={view} name="label" label="Metadata" placeholder="region=eu" />
          <TextFilter view={view} name="ordering_key" label="Ordering key" />
          {session.tenant_id === null && <TextFilter view={view} name="tenant_id" label="Tenant" />}
          <TextFilter view={view} name="since" label="Since" type="datetime-local" />
          <TextFilter view={view} name="until" label="Until" type="datetime-local" />
          <ChoiceFilter
            view={view}
            name="unmatched"
            label="Wanted by"
            options={{ true: "nobody", false: "somebody" }}
          />
        </div>
      )}
    </form>
  );
}
