import type { NewEvent } from "../store/port/event-log.ts";

/**
 * An event on its way in: a draft that each stage hands on, the same or another one, and that none writes into. When it
 * is accepted it is frozen. Whoever makes one names every field at once: V8 gives objects with a spread hidden classes of
 * their own, so that is for the few that are changed.
 */
export type IncomingEvent = Readonly<NewEvent>;

/** With one more member of the JSON that is kept with an event; the first stays the first. */
export function addDetail(details: string | undefined, member: string): string {
  return details === undefined ? `{${member}}` : `${details.slice(0, -1)},${member}}`;
}
