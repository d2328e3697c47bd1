import type { NewEvent } from "../store/port/event-log.ts";

/**
 * An event on its way in: a draft that each stage passes on, changed only by making a new one. It is frozen when it
 * is accepted. Code that creates a draft names every field: V8 gives objects made with a spread hidden classes of
 * their own, so a spread is used only for the few drafts that are changed.
 */
export type IncomingEvent = Readonly<NewEvent>;

/** Adds a member to the JSON that is kept with an event, at its end. */
export function addDetail(details: string | undefined, member: string): string {
  return details === undefined ? `{${member}}` : `${details.slice(0, -1)},${member}}`;
}
