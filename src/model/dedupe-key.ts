/**
 * Keys that identify an event within its tenant, for deduplication. The first part is the source's name; it is empty
 * for published events, which bring their own id.
 */

export function publishKey(eventId: string): string {
  return `\0${eventId}`;
}

/** Identifies a signature, for sources that treat an equal signature as the same request sent again. */
export function replayKey(source: string, mark: string): string {
  return `${source}\0\0${mark}`;
}

export function webhookKey(source: string, senderId: string): string {
  return `${source}\0${senderId}`;
}
