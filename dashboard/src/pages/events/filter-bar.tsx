import { useState } from "react";
import type { View } from "../../layout/use-view.ts";
import { Button } from "../../ui/button.tsx";
import { Filters, SearchFilter, TenantFilter, TimeFilters } from "../../ui/filters.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { FILTERS, type FilterName } from "./event-filters.ts";

const MORE: readonly FilterName[] = ["data", "id", "label", "ordering_key", "tenant_id", "since", "until", "unmatched"];

export function FilterBar({ view }: { view: View }) {
  const used = MORE.filter((name) => view.get(name) !== undefined).length;
  const [isOpen, setOpen] = useState(used > 0);
  return (
    <Filters view={view} names={FILTERS} more={isOpen && <MoreFilters view={view} />}>
      <SearchFilter view={view} name="text" label="Search in bodies" hint="Search in bodies" />
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
    </Filters>
  );
}

function MoreFilters({ view }: { view: View }) {
  return (
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
      <TenantFilter view={view} />
      <TimeFilters view={view} />
      <ChoiceFilter
        view={view}
        name="unmatched"
        label="Subscribers"
        options={{ true: "none", false: "at least one" }}
      />
    </div>
  );
}
