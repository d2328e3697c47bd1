import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { EventType, EventTypeInput } from "../../api/types.ts";
import { JsonDialog } from "../../editor/json-dialog.tsx";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange, useIsPartner, useSession } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { PagedList } from "../../ui/paged-list.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { eventTypesQuery } from "./event-type-queries.ts";

const FIRST: EventTypeInput = {
  name: "order.created",
  description: "A customer has placed an order",
  producer: "shop",
  versions: [
    {
      version: "1.0",
      schema: { type: "object", required: ["order_id"], properties: { order_id: { type: "integer" } } },
      example: { order_id: 1001 },
    },
  ],
};

export function useCanChangeTypes(): boolean {
  const { tenant_id: tenantId } = useSession();
  return useCanChange() && tenantId === null;
}

export function EventTypesPage() {
  const view = useView();
  const [, navigate] = useLocation();
  const query = useInfiniteQuery(eventTypesQuery(view.get("status")));
  const canChange = useCanChangeTypes();
  const isPartner = useIsPartner();
  const [isCreating, setCreating] = useState(false);
  const search = view.get("search")?.toLowerCase() ?? "";
  const isWanted = ({ name, description, producer }: EventType) =>
    [name, description ?? "", producer ?? ""].some((text) => text.toLowerCase().includes(search));
  return (
    <>
      <PageHead title="Event types">
        {!isPartner && (
          <a className="button button-quiet" href="/api/v1/event-types/export" download="event-types.json">
            Export as OpenAPI
          </a>
        )}
        {canChange && (
          <Button kind="primary" onClick={() => setCreating(true)}>
            Create event type
          </Button>
        )}
      </PageHead>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <TextFilter view={view} name="search" label="Search" id={SEARCH_ID} placeholder="Name or text  ( / )" />
          <ChoiceFilter
            view={view}
            name="status"
            label="Status"
            options={{ active: "active", deprecated: "deprecated" }}
          />
        </div>
      </form>
      <PagedList query={query} empty={<NoTypes isFiltered={view.get("status") !== undefined} />}>
        {(types) => <TypeTable types={types.filter(isWanted)} />}
      </PagedList>
      {isCreating && (
        <JsonDialog<EventType>
          title="Create event type"
          act="Create"
          initialText={JSON.stringify(FIRST, undefined, 2)}
          save={(text) => sendJson("POST", "/api/v1/event-types", text)}
          changes={["event-types"]}
          says="The event type is created."
          onClose={() => setCreating(false)}
          onDone={({ name }) => navigate(`/event-types/${encodeURIComponent(name)}`)}
        />
      )}
    </>
  );
}

function NoTypes({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <EmptyState title="No event type matches">Change the filters, or clear them.</EmptyState>;
  const command =
    `curl ${location.origin}/api/v1/event-types -H "authorization: Bearer $POSTHORN_API_KEY" ` +
    `-H 'content-type: application/json' -d '{"name":"order.created","description":"A customer has placed an order"}'`;
  return (
    <EmptyState
      title="There are no event types yet"
      command={command}
      forPartners="The kinds of events that you can subscribe to are described here as soon as there are any."
    >
      Register an event type to describe its payload. Events that do not fit its schema are rejected.
    </EmptyState>
  );
}

function TypeTable({ types }: { types: readonly EventType[] }) {
  if (types.length === 0) {
    return <EmptyState title="No event type matches">Change the filters, or clear them.</EmptyState>;
  }
  return (
    <section className="card" aria-label="Event types">
      <table className="table table-stack">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Producer</th>
            <th scope="col">Versions</th>
            <th scope="col">Status</th>
            <th scope="col">Changed</th>
          </tr>
        </thead>
        <tbody>
          {types.map(({ name, description, producer, versions, status, updated_at: at }) => (
            <tr key={name}>
              <td>
                <Link href={`/event-types/${encodeURIComponent(name)}`}>{name}</Link>
                {description !== null && <p className="muted small">{description}</p>}
              </td>
              <td data-label="Producer">{producer ?? "–"}</td>
              <td data-label="Versions">{versions.map(({ version }) => version).join(", ") || "–"}</td>
              <td data-label="Status">
                <span>
                  <Badge state={status} tone={status === "active" ? "good" : "waiting"} />
                </span>
              </td>
              <td data-label="Changed">
                <RelativeTime at={at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
