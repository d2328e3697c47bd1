import type { Event, EventPage } from "../../api/types.ts";

/** At most so many events come with one answer. */
export const READ_AT_ONCE = 100;
/** Those that are asked for meanwhile go into one request. */
const GATHERED_MS = 200;

export interface StatusReader {
  /** That these may have another status now. */
  ask(events: readonly Event[]): void;
  close(): void;
}

export interface Span {
  since: string;
  until: string;
}

/**
 * Reads what became of events of which an attempt alone does not tell it: they have several deliveries. One request at a
 * time, for as many as lie close together, so that a busy list costs the gateway little.
 */
export function createStatusReader(
  read: (span: Span) => Promise<EventPage>,
  show: (events: readonly Event[]) => void,
): StatusReader {
  const asked = new Map<string, Event>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isReading = false;
  let isClosed = false;

  function plan(): void {
    if (isReading || isClosed || asked.size === 0) return;
    timer ??= setTimeout(() => void readSome(), GATHERED_MS);
  }

  async function readSome(): Promise<void> {
    timer = undefined;
    isReading = true;
    const newestFirst = [...asked.values()].sort((a, b) => (a.received_at < b.received_at ? 1 : -1));
    asked.clear();
    const [newest] = newestFirst as [Event];
    const oldest = newestFirst.at(-1) as Event;
    try {
      const until = new Date(Date.parse(newest.received_at) + 1).toISOString();
      const { data, next_cursor: next } = await read({ since: oldest.received_at, until });
      const end = data.at(-1)?.received_at;
      const isBehind = ({ received_at: at }: Event) => next !== null && end !== undefined && at <= end;
      const found = new Set(data.map(({ event_id: id }) => id));
      // The newest is not asked for twice, so that this comes to an end.
      for (const event of newestFirst.slice(1)) {
        if (!found.has(event.event_id) && isBehind(event)) asked.set(event.event_id, event);
      }
      if (!isClosed) show(data);
    } catch {
      // They keep the status that they had; their next attempt asks again.
    } finally {
      isReading = false;
      plan();
    }
  }

  return {
    ask(events) {
      for (const event of events) asked.set(event.event_id, event);
      plan();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
