import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { sourceKindsQuery, sourceQueuesQuery, sourcesQuery } from "../../api/source-queries.ts";
import type { Source, SourceQueue } from "../../api/types.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { useCanChange, useSession } from "../../session/session.tsx";
import { apiCommand } from "../../ui/api-command.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Item, Items } from "../../ui/items.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { RelativeTime } from "../../ui/time.tsx";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { labelOfKind } from "./presets.ts";

const FILTERS = ["kind", "status"] as const;
const STATUSES: Readonly<Record<Source["status"], string>> = { active: "active", paused: "paused", closed: "closed" };

export function SourcesPage() {
  const view = useView();
  const filters = useMemo(() => readFilters(view.search, FILTERS), [view.search]);
  const query = useInfiniteQuery(sourcesQuery(filters));
  const { data: kinds } = useQuery(sourceKindsQuery);
  const isOperator = useSession().tenant_id === null;
  const { data: queues } = useQuery({ ...sourceQueuesQuery, enabled: isOperator });
  const canChange = useCanChange();
  const labels = Object.fromEntries(kinds?.data.map(({ name }) => [name, labelOfKind(name)]) ?? []);
  return (
    <ListPage
      title="Sources"
      noun="source"
      actions={
        canChange && (
          <Link href="/sources/-new" className="button button-primary">
            Create source
          </Link>
        )
      }
      view={view}
      filterNames={FILTERS}
      filters={
        <>
          <ChoiceFilter view={view} name="kind" label="Kind" options={labels} />
          <ChoiceFilter view={view} name="status" label="Status" options={STATUSES} />
        </>
      }
      query={query}
      empty={<NoSources />}
    >
      {(sources) => (
        <section className="card" aria-label="Declared sources">
          <Items label="Sources">
            {sources.map((source) => (
              <SourceItem
                key={source.name}
                source={source}
                isPulled={kinds?.data.find(({ name }) => name === source.kind)?.pulled === true}
                queue={queues?.data.find((queue) => queue.source === source.name)}
              />
            ))}
          </Items>
        </section>
      )}
    </ListPage>
  );
}

interface SourceItemProps {
  source: Source;
  isPulled: boolean;
  queue: SourceQueue | undefined;
}

function SourceItem({ source, isPulled, queue }: SourceItemProps) {
  const { name, kind, status, last_request_at: last } = source;
  return (
    <Item
      title={name}
      href={`/sources/${encodeURIComponent(name)}`}
      badges={
        <>
          <Badge state={kind} tone="neutral">
            {labelOfKind(kind)}
          </Badge>
          <Badge state={status} />
          {queue !== undefined && queue.trouble !== null && <Badge state="failed">queue not reachable</Badge>}
        </>
      }
      note={
        <>
          {isPulled ? (
            <span>{describeDepth(queue)}</span>
          ) : (
            <span className="mono">
              /webhook/{name}
              {source.path_token === null ? "" : "/***"}
            </span>
          )}
          {source.managed_by === "config" && <span>from posthorn.yaml</span>}
          {source.tenant_id !== "default" && <span>{source.tenant_id}</span>}
        </>
      }
      figure={last === null ? <span className="muted">no request yet</span> : <RelativeTime at={last} />}
    />
  );
}

function describeDepth(queue: SourceQueue | undefined): string {
  if (queue === undefined) return "nothing is taken from its queue";
  return queue.depth === null ? "depth not known" : `${formatCount(queue.depth)} waiting in its queue`;
}

function NoSources() {
  return (
    <EmptyState
      title="No source was declared yet"
      command={apiCommand("/api/v1/sources", { name: "orders", kind: "generic" })}
    >
      Without one the gateway accepts webhooks for every name, unless that is turned off. Declare a source to verify
      signatures, or to take messages from a queue:
    </EmptyState>
  );
}
