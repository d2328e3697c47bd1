import { useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { eventsQuery, type EventFilters } from "../../api/queries.ts";
import type { StreamFrame } from "../../api/frames.ts";
import type { Event, EventPage, StreamAttempt, StreamEvent } from "../../api/types.ts";
import { useStream, type LiveStream } from "../../api/use-stream.ts";
import { canBeLive, liveQuery } from "./event-filters.ts";

type Pages = InfiniteData<EventPage, string | null>;

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
  const [held, setHeld] = useState<{ key: string; events: readonly Event[] }>({ key, events: [] });
  const waiting = held.key === key ? held.events : NONE;
  const stream = useStream({ ...liveQuery(filters), types: "event,attempt,mode,alert" }, (frame) => {
    frames.current.push(frame);
  });

  useEffect(() => {
    const { queryKey } = eventsQuery(JSON.parse(key) as EventFilters);
    const timer = setInterval(() => {
      const taken = frames.current;
      if (taken.length === 0) return;
      frames.current = [];
      const attempts = taken.filter(({ name }) => name === "attempt").map(({ data }) => data as StreamAttempt);
      const events = taken
        .filter(({ name }) => ["event", "mode", "alert"].includes(name))
        .map(({ data }) => data as StreamEvent)
        .reverse();
      if (!isPossible) return;
      const isReading = scrollY > 160;
      if (isReading && events.length > 0) {
        setHeld((before) => ({ key, events: before.key === key ? [...events, ...before.events] : events }));
      }
      client.setQueryData<Pages>(
        queryKey,
        (pages) => pages && applyAttempts(isReading ? pages : prepend(pages, events), attempts),
      );
    }, GATHERED_MS);
    return () => clearInterval(timer);
  }, [client, key, isPossible]);

  return {
    ...stream,
    isPossible,
    waiting: waiting.length,
    showWaiting() {
      client.setQueryData<Pages>(eventsQuery(filters).queryKey, (pages) => pages && prepend(pages, waiting));
      setHeld({ key, events: NONE });
      scrollTo({ top: 0 });
    },
  };
}

function prepend(pages: Pages, events: readonly Event[]): Pages {
  const [first, ...rest] = pages.pages;
  if (first === undefined || events.length === 0) return pages;
  const known = new Set(first.data.map(({ event_id: id }) => id));
  const fresh = events.filter(({ event_id: id }) => !known.has(id));
  return { ...pages, pages: [{ ...first, data: [...fresh, ...first.data] }, ...rest] };
}

/** What one attempt tells of its event: of several deliveries, one that is dead is enough to have failed. */
function applyAttempts(pages: Pages, attempts: readonly StreamAttempt[]): Pages {
  if (attempts.length === 0) return pages;
  const latest = new Map(attempts.map((attempt) => [attempt.event_id, attempt.status]));
  const judge = (event: Event): Event => {
    const state = latest.get(event.event_id);
    if (state === "dead") return { ...event, status: "FAILED" };
    if (state === "delivered" && event.delivery_count === 1) return { ...event, status: "COMPLETED" };
    return event;
  };
  return { ...pages, pages: pages.pages.map((page) => ({ ...page, data: page.data.map(judge) })) };
}
