import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { EventType, EventTypeInput } from "../../api/types.ts";
import { JsonDialog } from "../../editor/json-dialog.tsx";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange, useIsPartner, useSession } from "../../session/session.tsx";
import { apiCommand } from "../../ui/api-command.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { hasText } from "../../ui/text-search.ts";
import { RelativeTime } from "../../ui/time.tsx";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { eventTypesQuery } from "./event-type-queries.ts";

const FILTERS = ["search", "status"] as const;
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
  return (
    <>
      <ListPage
        title="Event types"
        noun="event type"
        actions={
          <>
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
          </>
        }
        view={view}
        filterNames={FILTERS}
        filters={
          <>
            <SearchFilter view={view} hint="Name or text" />
            <ChoiceFilter
              view={view}
              name="status"
              label="Status"
              options={{ active: "active", deprecated: "deprecated" }}
            />
          </>
        }
        query={query}
        isWanted={({ name, description, producer }) => hasText([name, description, producer], view.get("search"))}
        empty={<NoTypes />}
      >
        {(types) => <TypeTable types={types} />}
      </ListPage>
      {isCreating && (
        <JsonDialog<EventType>
          title="Create event type"
          action="Create"
          first={{ thing: JSON.stringify(FIRST, undefined, 2), etag: undefined }}
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

function NoTypes() {
  const first = { name: FIRST.name, description: FIRST.description };
  return (
    <EmptyState
      title="There are no event types yet"
      command={apiCommand("/api/v1/event-types", first)}
      forPartners="The kinds of events that you can subscribe to are described here as soon as there are any."
    >
      Register an event type to describe its payload. Events that do not fit its schema are rejected.
    </EmptyState>
  );
}

function TypeTable({ types }: { types: readonly EventType[] }) {
  const isPartner = useIsPartner();
  return (
    <section className="card" aria-label="Event types">
      <DataTable
        rows={types}
        keyOf={({ name }) => name}
        columns={[
          {
            title: "Name",
            cell: ({ name, description }) => (
              <>
                <Link href={`/event-types/${encodeURIComponent(name)}`}>{name}</Link>
                {description !== null && <p className="muted small">{description}</p>}
              </>
            ),
          },
          ...(isPartner ? [] : [{ title: "Producer", cell: ({ producer }: EventType) => producer ?? "–" }]),
          { title: "Versions", cell: ({ versions }) => versions.map(({ version }) => version).join(", ") || "–" },
          {
            title: "Status",
            cell: ({ status }) => <Badge state={status} tone={status === "active" ? "good" : "waiting"} />,
          },
          { title: "Changed", cell: ({ updated_at: at }) => <RelativeTime at={at} /> },
        ]}
      />
    </section>
  );
}
