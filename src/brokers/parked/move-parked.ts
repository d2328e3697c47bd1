import type { HeldParked, ParkedMessage, ParkedQueue, ParkedWalk } from "./parked.ts";

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
export const MAX_WALK = 1000;
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
 * and never none.
 */
export async function requeueParked(queue: ParkedQueue, filter: ParkedFilter): Promise<Requeued> {
  const result: Requeued = { requeued: 0, withoutOrigin: 0, isCutOff: false };
  result.isCutOff = await walk(queue, async (message) => {
    if (!fits(filter, message)) return;
    if (message.cameFrom === undefined) {
      result.withoutOrigin++;
      return;
    }
    await message.copyBack();
    await message.remove();
    result.requeued++;
  });
  return result;
}

/** Deletes nothing unless there are as many as `count` says. */
export async function purgeParked(queue: ParkedQueue, filter: ParkedFilter, count: number): Promise<Purged> {
  return isFiltering(filter) ? purgeFiltered(queue, filter, count) : purgeAll(queue, count);
}

async function purgeAll(queue: ParkedQueue, count: number): Promise<Purged> {
  const current = await queue.count();
  if (current !== count) return { current };
  let purged = 0;
  const isCutOff = await walk(queue, async (message) => {
    if (purged === count) return;
    if ((await message.remove()) === "settled") purged++;
  });
  return { purged, isCutOff };
}

/** No broker counts by reason; but what is held while it is counted is exactly what is deleted then. */
async function purgeFiltered(queue: ParkedQueue, filter: ParkedFilter, count: number): Promise<Purged> {
  const found: HeldParked[] = [];
  return onWalk(queue, async (opened) => {
    const isCutOff = await step(opened, async (message) => {
      if (fits(filter, message)) found.push(message);
    });
    if (found.length !== count) return { current: found.length };
    let purged = 0;
    for (const message of found) if ((await message.remove()) === "settled") purged++;
    return { purged, isCutOff };
  });
}

async function walk(queue: ParkedQueue, act: (message: HeldParked) => Promise<void>): Promise<boolean> {
  return onWalk(queue, (opened) => step(opened, act));
}

async function onWalk<Result>(queue: ParkedQueue, act: (opened: ParkedWalk) => Promise<Result>): Promise<Result> {
  const opened = queue.openWalk();
  try {
    return await act(opened);
  } finally {
    await opened.close();
  }
}

/** True when it ended at its limit. */
async function step(opened: ParkedWalk, act: (message: HeldParked) => Promise<void>): Promise<boolean> {
  for (let seen = 0; seen < MAX_WALK;) {
    const messages = await opened.next(Math.min(STEP, MAX_WALK - seen));
    if (messages.length === 0) return false;
    for (const message of messages) await act(message);
    seen += messages.length;
  }
  return true;
}
