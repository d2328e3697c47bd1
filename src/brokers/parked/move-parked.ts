import { MAX_LOOK_BYTES, type HeldParked, type ParkedMessage, type ParkedQueue } from "./parked.ts";

/** Acts on parked messages, for every kind of broker: each with how far it came. */

export interface ParkedFilter {
  reason?: string | undefined;
  /** Keys of messages. */
  keys?: readonly string[] | undefined;
}

export interface ParkedPage {
  messages: ParkedMessage[];
  /** There are, or may be, more; undefined as well where this broker cannot go on. */
  next: string | undefined;
}

export interface Requeued {
  requeued: number;
  /** Nothing tells which queue they came from: they stay. */
  withoutOrigin: number;
  /** The walk ended at its limit: there may be more. */
  isCutOff: boolean;
}

export type Purged = { purged: number; isCutOff: boolean } | { current: number };

/** In one walk: they are held meanwhile, and locks end. */
const MAX_WALK = 500;
const STEP = 32;

function fits({ reason, keys }: ParkedFilter, message: ParkedMessage): boolean {
  return (reason === undefined || message.reason === reason) && (keys === undefined || keys.includes(message.key));
}

function isFiltering({ reason, keys }: ParkedFilter): boolean {
  return reason !== undefined || keys !== undefined;
}

export async function listParked(
  queue: ParkedQueue,
  filter: ParkedFilter,
  { max, after }: { max: number; after?: string | undefined },
): Promise<ParkedPage> {
  const { looksAt } = queue.limits;
  const asked = isFiltering(filter) ? looksAt : Math.min(max, looksAt);
  const seen = await queue.peek(asked, after);
  const messages = seen.filter((message) => fits(filter, message)).slice(0, max);
  const last = messages.length === max ? messages.at(-1) : seen.at(-1);
  const hasMore = messages.length === max || seen.length === asked;
  return { messages, next: hasMore ? last?.place : undefined };
}

export async function findParked(queue: ParkedQueue, key: string): Promise<ParkedMessage | undefined> {
  const { messages } = await listParked(queue, { keys: [key] }, { max: 1 });
  return messages[0];
}

/**
 * First into the queue that it came from, then out of this one: whoever is interrupted in between leaves a message twice
 * and never none. All are held before the first goes back: what is parked again meanwhile is not seen again here.
 */
export async function requeueParked(queue: ParkedQueue, filter: ParkedFilter): Promise<Requeued> {
  return onHeld(queue, filter, async (found, isCutOff) => {
    const able = found.filter(({ cameFrom }) => cameFrom !== undefined);
    for (const message of able) {
      await message.copyBack();
      await message.remove();
    }
    return { requeued: able.length, withoutOrigin: found.length - able.length, isCutOff };
  });
}

/** Deletes nothing unless there are as many as `count` says. No broker counts by reason: what is held is counted then. */
export async function purgeParked(queue: ParkedQueue, filter: ParkedFilter, count: number): Promise<Purged> {
  const current = isFiltering(filter) ? undefined : await queue.count();
  if (current !== undefined && current !== count) return { current };
  return onHeld(queue, filter, async (found, isCutOff) => {
    if (current === undefined && found.length !== count) return { current: found.length };
    let purged = 0;
    for (const message of found.slice(0, count)) if ((await message.remove()) === "settled") purged++;
    return { purged, isCutOff };
  });
}

/** With those that fit, from the oldest on; true when there may be more of them. */
async function onHeld<Result>(
  queue: ParkedQueue,
  filter: ParkedFilter,
  act: (found: readonly HeldParked[], isCutOff: boolean) => Promise<Result>,
): Promise<Result> {
  const walk = queue.openWalk();
  try {
    const found: HeldParked[] = [];
    let [seen, bytes] = [0, 0];
    let isEnded = false;
    while (!isEnded && seen < MAX_WALK && bytes < MAX_LOOK_BYTES) {
      const messages = await walk.next(Math.min(STEP, MAX_WALK - seen));
      isEnded = messages.length === 0;
      seen += messages.length;
      for (const message of messages) {
        bytes += message.body.length;
        if (fits(filter, message)) found.push(message);
      }
    }
    return await act(found, !isEnded);
  } finally {
    await walk.close();
  }
}
