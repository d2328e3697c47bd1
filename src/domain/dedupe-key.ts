/** What an event is known by, within its tenant. The first part is a source's name; events with an id of their own have none. */

export function publishKey(eventId: string): string {
  return `\0${eventId}`;
}

/** What a signature is known by, where an equal one is taken for the same request sent again. */
export function replayKey(source: string, mark: string): string {
  return `${source}\0\0${mark}`;
}

export function webhookKey(source: string, senderId: string): string {
  return `${source}\0${senderId}`;
}
