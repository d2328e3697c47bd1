import { useInfiniteQuery } from "@tanstack/react-query";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { eventsQuery } from "../../api/queries.ts";
import { useFurtherBack, type FurtherBack } from "../../api/use-further-back.ts";
import type { Event } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { NARROW_LIST, useMedia } from "../../layout/use-media.ts";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { useCanChange } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { LiveControl } from "../../ui/live-control.tsx";
import { formatBytes } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { formatClock, RelativeTime } from "../../ui/time.tsx";
import { BulkDialog } from "../bulk/bulk-dialog.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { canBeReplayed, FILTERS } from "./event-filters.ts";
import { useLiveEvents } from "./use-live-events.ts";

/** As the styles have it. */
const ROW_PX = { wide: 44, narrow: 64 };

export function EventsPage() {
  const view = useView();
  const filters = useMemo(() => readFilters(view.search, FILTERS), [view.search]);
  const query = useInfiniteQuery(eventsQuery(filters));
  const live = useLiveEvents(filters);
  const events = useMemo(() => query.data?.pages.flatMap(({ data }) => data) ?? [], [query.data]);
  const last = query.data?.pages.at(-1);
  const further = useFurtherBack(query, events.length === 0, filters);
  const canReplay = useCanChange() && events.length > 0 && canBeReplayed(filters);
  const [isReplaying, setReplaying] = useState(false);

  return (
    <>
      <PageHead title="Events">
        {live.isPossible ? (
          <LiveControl stream={live} />
        ) : (
          <Button kind="quiet" onClick={() => void query.refetch()}>
            Search again
          </Button>
        )}
        {canReplay && <Button onClick={() => setReplaying(true)}>Replay these</Button>}
      </PageHead>
      <FilterBar view={view} />
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton lines={10} />}
      {live.waiting > 0 && (
        <Button kind="primary" className="new-events" onClick={live.showWaiting}>
          {live.waiting} new {live.waiting === 1 ? "event" : "events"}
        </Button>
      )}
      {events.length > 0 && (
        <EventList
          events={events}
          hasMore={query.hasNextPage}
          isLoading={query.isFetchingNextPage}
          loadMore={() => void query.fetchNextPage()}
        />
      )}
      {query.isSuccess && (
        <Foot
          hasMore={query.hasNextPage}
          isEmpty={events.length === 0}
          further={further}
          searchedUntil={last?.searched_until ?? null}
          isFiltered={view.search !== ""}
          onMore={() => void query.fetchNextPage()}
        />
      )}
      {isReplaying && <BulkDialog action={{ kind: "events", filters }} onClose={() => setReplaying(false)} />}
    </>
  );
}

interface EventListProps {
  events: readonly Event[];
  hasMore: boolean;
  isLoading: boolean;
  loadMore: () => void;
}

function EventList({ events, hasMore, isLoading, loadMore }: EventListProps) {
  const place = useRef<HTMLUListElement>(null);
  const isNarrow = useMedia(NARROW_LIST);
  const rowPx = isNarrow ? ROW_PX.narrow : ROW_PX.wide;
  const rows = useWindowVirtualizer({
    count: events.length,
    estimateSize: () => rowPx,
    overscan: 12,
    scrollMargin: place.current?.offsetTop ?? 0,
  });
  useEffect(() => rows.measure(), [rows, rowPx]);
  const items = rows.getVirtualItems();
  const isNearEnd = (items.at(-1)?.index ?? 0) >= events.length - 20;
  useEffect(() => {
    if (isNearEnd && hasMore && !isLoading) loadMore();
  }, [isNearEnd, hasMore, isLoading, loadMore]);

  return (
    <div className="card list">
      <div className="event-row list-head" aria-hidden="true">
        <span>Received</span>
        <span>Type</span>
        <span>Source</span>
        <span>Status</span>
        <span className="number">Deliveries</span>
        <span className="number">Size</span>
      </div>
      <ul ref={place} className="virtual" style={{ height: rows.getTotalSize() }} aria-label="Events">
        {items.map(({ index, start }) => {
          const event = events[index] as Event;
          return (
            <li key={event.event_id} style={{ transform: `translateY(${start - rows.options.scrollMargin}px)` }}>
              <Link href={`/events/${encodeURIComponent(event.event_id)}`} className="event-row">
                <span className="event-time">
                  <span className="mono">{formatClock(event.received_at)}</span>{" "}
                  <span className="muted small">
                    <RelativeTime at={event.received_at} />
                  </span>
                </span>
                <span className="event-type ellipsis">{event.event_type}</span>
                <span className="ellipsis muted">{event.source}</span>
                <span>{event.unmatched ? <Badge state="unmatched" /> : <Badge state={event.status} />}</span>
                <span className="number wide-only">{event.delivery_count}</span>
                <span className="number muted wide-only">{formatBytes(event.size)}</span>
              </Link>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Foot(props: {
  hasMore: boolean;
  isEmpty: boolean;
  further: FurtherBack;
  searchedUntil: string | null;
  isFiltered: boolean;
  onMore: () => void;
}) {
  const { hasMore, isEmpty, further, searchedUntil, isFiltered, onMore } = props;
  if (hasMore) {
    return (
      <p className="list-foot muted">
        {searchedUntil === null ? (
          ""
        ) : (
          <>
            Searched back to {formatClock(searchedUntil)} (<RelativeTime at={searchedUntil} />
            ).{" "}
          </>
        )}
        {further.isSearching ? (
          <Button onClick={further.stop}>Stop searching</Button>
        ) : (
          <Button onClick={onMore}>{isEmpty ? "Search further back" : "Load more"}</Button>
        )}
      </p>
    );
  }
  if (!isEmpty) return <p className="list-foot muted">That is all.</p>;
  if (isFiltered) return <EmptyState title="No event fits">Change the filters, or clear them.</EmptyState>;
  const command = `curl ${location.origin}/webhook/hello -H 'content-type: application/json' -d '{"hello":"world"}'`;
  return (
    <EmptyState
      title="Nothing has come in yet"
      command={command}
      forPartners="Events that are sent to you appear here at once."
    >
      Send a first webhook from a terminal. It appears here at once.
    </EmptyState>
  );
}
