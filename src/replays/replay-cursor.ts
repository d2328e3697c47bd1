import type { DeliveryKey } from "../store/port/lanes.ts";

/**
 * The position of a job. It walks over all deliveries in one order. A lane whose window is full leaves that
 * walk and continues with its own, so that one slow or paused subscription does not delay the others.
 */
export interface ReplayCursor {
  /** Undefined when the common walk has ended. */
  at: DeliveryKey | undefined;
  /** By subscription: the event that its own walk has reached; undefined when it has ended. */
  lanes: Map<number, number | undefined>;
}

interface CursorText {
  at: readonly [eventSeq: number, subscriptionSeq: number] | null;
  lanes: Readonly<Record<string, number | null>>;
}

export function formatCursor({ at, lanes }: ReplayCursor): string {
  const text: CursorText = {
    at: at === undefined ? null : [at.eventSeq, at.subscriptionSeq],
    lanes: Object.fromEntries([...lanes].map(([seq, eventSeq]) => [seq, eventSeq ?? null])),
  };
  return JSON.stringify(text);
}

export function parseCursor(text: string): ReplayCursor {
  const { at, lanes } = JSON.parse(text) as CursorText;
  return {
    at: at === null ? undefined : { eventSeq: at[0], subscriptionSeq: at[1] },
    lanes: new Map(Object.entries(lanes).map(([seq, eventSeq]) => [Number(seq), eventSeq ?? undefined])),
  };
}

/** A job for one subscription has only that lane's walk. */
export function firstCursor(afterSeq: number, subscriptionSeq: number | undefined): ReplayCursor {
  return subscriptionSeq === undefined
    ? { at: { eventSeq: afterSeq, subscriptionSeq: Number.MAX_SAFE_INTEGER }, lanes: new Map() }
    : { at: undefined, lanes: new Map([[subscriptionSeq, afterSeq]]) };
}

export function isAtEnd({ at, lanes }: ReplayCursor): boolean {
  return at === undefined && [...lanes.values()].every((eventSeq) => eventSeq === undefined);
}
