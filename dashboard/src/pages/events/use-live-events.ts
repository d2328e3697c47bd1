import { useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { getJson } from "../../api/client.ts";
import { eventsQuery, type EventFilters } from "../../api/queries.ts";
import type { Event, EventPage, StreamAttempt, StreamEvent } from "../../api/types.ts";
import { useStream, type LiveStream, type StreamFrame } from "../../api/use-stream.ts";
import { canBeLive, liveQuery } from "./event-filters.ts";
import { createStatusReader, READ_AT_ONCE, type StatusReader } from "./status-reader.ts";

type Pages = InfiniteData<EventPage, string | null>;
type DeliveryState = StreamAttempt["status"];

/** Many frames come at once; the list is drawn once for all of them. */
const GATHERED_MS = 100;
const NONE: readonly Event[] = [];

export interface LiveEvents extends LiveStream {
  isPossible: boolean;
  /** New ones that wait, because somebody reads further down. */
  waiting: number;
  showWaiting: () => void;
}

/** Puts what comes in at the head of the list, and what becomes of it into its row. */
export function useLiveEvents(filters: EventFilters): LiveEvents {
  const client = useQueryClient();
  const isPossible = canBeLive(filters);
  const key = JSON.stringify(filters);
  const frames = useRef<StreamFrame[]>([]);
  const statuses = useRef<StatusReader>(undefined);
  const [held, setHeld] = useState<{ key: string; events: readonly Event[] }>({ key, events: [] });
  const waiting = held.key === key ? held.events : NONE;
  const stream = useStream({ ...liveQuery(filters), types: "event,attempt,mode,alert" }, (frame) => {
    frames.current.push(frame);
  });

  useEffect(() => {
    const chosen = JSON.parse(key) as EventFilters;
    const { queryKey } = eventsQuery(chosen);
    let isShown = true;
    const read = (span: object) => getJson<EventPage>("/api/v1/events", { ...chosen, ...span, limit: READ_AT_ONCE });
    const reader = createStatusReader(read, (events) => {
      const found = new Map(events.map((event) => [event.event_id, event]));
      client.setQueryData<Pages>(
        queryKey,
        (now) => now && mapEvents(now, (event) => found.get(event.event_id) ?? event),
      );
    });
    statuses.current = reader;

    /** What was stored after the list was read and before the stream began is in neither of them. */
    async function catchUp(): Promise<void> {
      const { data } = await read({});
      if (isShown) frames.current.push(...data.reverse().map((event) => ({ name: "event", data: event })));
    }

    const timer = setInterval(() => {
      const pages = client.getQueryData<Pages>(queryKey);
      // What comes before the list itself waits for it.
      if (frames.current.length === 0 || (isPossible && pages === undefined)) return;
      const taken = frames.current;
      frames.current = [];
      if (!isPossible || pages === undefined) return;
      if (taken.some(({ name }) => name === "ready")) void catchUp().catch(() => undefined);
      const attempts = taken.filter(({ name }) => name === "attempt").map(({ data }) => data as StreamAttempt);
      const events = taken
        .filter(({ name }) => ["event", "mode", "alert"].includes(name))
        .map(({ data }) => data as StreamEvent)
        .reverse();
      const isReading = scrollY > 160;
      if (isReading && events.length > 0) {
        setHeld((before) => {
          const earlier = before.key === key ? before.events : NONE;
          return { key, events: [...unknown(events, earlier, pages), ...earlier] };
        });
      }
      const latest = new Map(attempts.map((attempt) => [attempt.event_id, attempt.status]));
      const now = isReading ? pages : prepend(pages, events);
      const open = listEvents(now).filter((event) => !isDecided(event, latest.get(event.event_id)));
      client.setQueryData<Pages>(
        queryKey,
        latest.size === 0 ? now : mapEvents(now, (event) => withStatus(event, latest)),
      );
      reader.ask(open);
    }, GATHERED_MS);
    return () => {
      isShown = false;
      clearInterval(timer);
      reader.close();
    };
  }, [client, key, isPossible]);

  return {
    ...stream,
    isPossible,
    waiting: waiting.length,
    showWaiting() {
      client.setQueryData<Pages>(eventsQuery(filters).queryKey, (pages) => pages && prepend(pages, waiting));
      // What became of them while they waited was told to nobody.
      statuses.current?.ask(waiting);
      setHeld({ key, events: NONE });
      scrollTo({ top: 0 });
    },
  };
}

function prepend(pages: Pages, events: readonly Event[]): Pages {
  const [first, ...rest] = pages.pages;
  if (first === undefined || events.length === 0) return pages;
  const fresh = unknown(events, [], pages);
  const data = [...fresh, ...first.data];
  // What was caught up with may be older than what came live meanwhile.
  const isInOrder = (fresh.at(-1)?.received_at ?? "~") >= (first.data[0]?.received_at ?? "");
  if (!isInOrder) data.sort((a, b) => (a.received_at < b.received_at ? 1 : a.received_at > b.received_at ? -1 : 0));
  return { ...pages, pages: [{ ...first, data }, ...rest] };
}

/** Each event is shown once, however often and from wherever it comes. */
function unknown(events: readonly Event[], waiting: readonly Event[], pages: Pages | undefined): readonly Event[] {
  const shown = pages === undefined ? NONE : listEvents(pages);
  const known = new Set([...waiting, ...shown].map(({ event_id: id }) => id));
  return events.filter(({ event_id: id }) => !known.has(id) && known.add(id));
}

/** Whether the state of one delivery decides the status of its event. */
function isDecided(event: Event, state: DeliveryState | undefined): boolean {
  return state === undefined || state === "pending" || state === "sending" || event.delivery_count === 1;
}

function withStatus(event: Event, latest: ReadonlyMap<string, DeliveryState>): Event {
  const state = latest.get(event.event_id);
  if (state === undefined || !isDecided(event, state)) return event;
  const isOpen = state === "pending" || state === "sending";
  return { ...event, status: isOpen ? "PENDING" : state === "dead" ? "FAILED" : "COMPLETED" };
}

function mapEvents(pages: Pages, change: (event: Event) => Event): Pages {
  return { ...pages, pages: pages.pages.map((page) => ({ ...page, data: page.data.map(change) })) };
}

function listEvents(pages: Pages): readonly Event[] {
  return pages.pages.flatMap(({ data }) => data);
}
