import type { Lane } from "./lane.ts";

const SHARE_OF_SLOW = 0.5;
/** A slow lane gets a slot while its tenant has fewer than this many attempts for each free slot. */
const PER_FREE = 1;
const PER_FREE_IF_IDLE = 4;

export type Slots = ReturnType<typeof createSlots>;

/**
 * The slots that all lanes share. A free slot goes to the tenant with the fewest attempts in flight, then to its next
 * lane in turn, so that a flood of one tenant blocks no other tenant. Slow lanes get only a part of the slots:
 * otherwise they would end up with all of them, and quick lanes would wait for timeouts.
 */
export function createSlots(maxInFlight: number) {
  const turns = { count: 0, waits: 0 };
  const prompt = createPool(turns);
  const slow = createPool(turns);
  const maxSlow = Math.max(1, Math.floor(maxInFlight * SHARE_OF_SLOW));

  function poolOf(lane: Lane): Pool {
    return lane.isSlow ? slow : prompt;
  }

  /** The lane has something to send. */
  function enqueue(lane: Lane): void {
    if (lane.isQueued) return;
    lane.isQueued = true;
    const pool = poolOf(lane);
    const queue = queueOf(pool, lane.tenantId);
    listFor(queue, lane).push(lane);
    if (queue.place !== undefined) return;
    queue.waitsAs = ++turns.waits;
    queue.place = pool.waiting.push(queue) - 1;
    moveUp(pool.waiting, queue);
  }

  /** Free slots are kept for lanes with nothing in flight, and the last of them for new lanes and other tenants. */
  function mayHaveSlow({ fresh, idle, inFlight }: TenantQueue): boolean {
    const free = maxSlow - slow.inFlight;
    if (fresh.length > 0) return free > 0;
    return inFlight < free * (idle.length > 0 ? PER_FREE_IF_IDLE : PER_FREE);
  }

  return {
    get inFlight(): number {
      return prompt.inFlight + slow.inFlight;
    },
    enqueue,
    /** The lane that gets the next free slot. */
    findNext(): Lane | undefined {
      if (prompt.inFlight + slow.inFlight >= maxInFlight) return undefined;
      const [first] = prompt.waiting;
      const [firstSlow] = slow.waiting;
      if (firstSlow === undefined || !mayHaveSlow(firstSlow)) return first && headOf(first);
      return headOf(first === undefined || isBefore(firstSlow, first) ? firstSlow : first);
    },
    /** The lane takes its turn and leaves the queue. */
    take(lane: Lane): void {
      const pool = poolOf(lane);
      const queue = queueOf(pool, lane.tenantId);
      queue.servedAt = ++turns.count;
      moveDown(pool.waiting, queue);
      unqueue(pool, lane);
    },
    occupy(lane: Lane): void {
      join(poolOf(lane), lane.tenantId, 1);
    },
    vacate(lane: Lane): void {
      leave(poolOf(lane), lane.tenantId, 1);
    },
    /** It is known whether the lane's attempts take long: with those in flight it moves to the right pool. */
    setSpeed(lane: Lane, isSlow: boolean): void {
      if (lane.isSlow === isSlow) return;
      const { inFlight, tenantId, isQueued } = lane;
      if (isQueued) unqueue(poolOf(lane), lane);
      if (inFlight > 0) leave(poolOf(lane), tenantId, inFlight);
      lane.isSlow = isSlow;
      if (inFlight > 0) join(poolOf(lane), tenantId, inFlight);
      if (isQueued) enqueue(lane);
    },
  };
}

/** Lanes that compete with each other, by tenant. */
function createPool(turns: { count: number; waits: number }) {
  return {
    tenants: new Map<string, TenantQueue>(),
    /** Those with lanes that wait, as a binary heap: with thousands of them, each attempt looks at only a few. */
    waiting: [] as TenantQueue[],
    inFlight: 0,
    /** The number of turns so far, over all pools. */
    turns,
  };
}

type Pool = ReturnType<typeof createPool>;

/** It starts behind those that wait already: otherwise a queue that is forgotten after each turn would always be first. */
function createQueue(servedAt: number) {
  return {
    inFlight: 0,
    /** The number of its last turn. */
    servedAt,
    /** Its place in `waiting`; undefined while nothing waits. */
    place: undefined as number | undefined,
    /** The number of its wait, over all pools. */
    waitsAs: 0,
    /** Lanes that have never had an answer: they come first, to find out how fast they are. */
    fresh: [] as Lane[],
    /** Lanes with nothing in flight: they come next. */
    idle: [] as Lane[],
    busy: [] as Lane[],
  };
}

type TenantQueue = ReturnType<typeof createQueue>;

function queueOf({ tenants, turns }: Pool, tenantId: string): TenantQueue {
  let queue = tenants.get(tenantId);
  if (queue === undefined) tenants.set(tenantId, (queue = createQueue(turns.count)));
  return queue;
}

/** Among tenants with equally many attempts in flight, the one that was served longest ago comes first. */
function isBefore(a: TenantQueue, b: TenantQueue): boolean {
  if (a.inFlight !== b.inFlight) return a.inFlight < b.inFlight;
  return a.servedAt === b.servedAt ? a.waitsAs < b.waitsAs : a.servedAt < b.servedAt;
}

function putAt(waiting: TenantQueue[], place: number, queue: TenantQueue): void {
  waiting[place] = queue;
  queue.place = place;
}

/** The queue may come before others than it did. Does nothing when it does not wait. */
function moveUp(waiting: TenantQueue[], queue: TenantQueue): void {
  if (queue.place === undefined) return;
  let place: number = queue.place;
  while (place > 0) {
    const above = (place - 1) >> 1;
    const other = waiting[above] as TenantQueue;
    if (!isBefore(queue, other)) break;
    putAt(waiting, place, other);
    place = above;
  }
  putAt(waiting, place, queue);
}

/** The queue may come after others than it did. Does nothing when it does not wait. */
function moveDown(waiting: TenantQueue[], queue: TenantQueue): void {
  if (queue.place === undefined) return;
  let place: number = queue.place;
  for (;;) {
    const left = 2 * place + 1;
    const [one, other] = [waiting[left], waiting[left + 1]];
    const next = one !== undefined && other !== undefined && isBefore(other, one) ? other : one;
    if (next === undefined || !isBefore(next, queue)) break;
    const below = next.place as number;
    putAt(waiting, place, next);
    place = below;
  }
  putAt(waiting, place, queue);
}

function removeFrom(waiting: TenantQueue[], queue: TenantQueue): void {
  const { place } = queue;
  if (place === undefined) return;
  queue.place = undefined;
  const last = waiting.pop() as TenantQueue;
  if (last === queue) return;
  putAt(waiting, place, last);
  moveUp(waiting, last);
  moveDown(waiting, last);
}

function listFor(queue: TenantQueue, lane: Lane): Lane[] {
  if (lane.inFlight > 0) return queue.busy;
  return lane.state.attemptTime.averageMs === undefined ? queue.fresh : queue.idle;
}

function headOf({ fresh, idle, busy }: TenantQueue): Lane | undefined {
  return fresh[0] ?? idle[0] ?? busy[0];
}

function isEmpty({ fresh, idle, busy }: TenantQueue): boolean {
  return fresh.length + idle.length + busy.length === 0;
}

function unqueue(pool: Pool, lane: Lane): void {
  const queue = queueOf(pool, lane.tenantId);
  if (!remove(queue.fresh, lane) && !remove(queue.idle, lane)) remove(queue.busy, lane);
  lane.isQueued = false;
  if (isEmpty(queue)) removeFrom(pool.waiting, queue);
}

/** The lane is nearly always the first in the list. */
function remove(lanes: Lane[], lane: Lane): boolean {
  if (lanes[0] === lane) return lanes.shift() !== undefined;
  const at = lanes.indexOf(lane);
  return at !== -1 && lanes.splice(at, 1).length > 0;
}

function join(pool: Pool, tenantId: string, count: number): void {
  const queue = queueOf(pool, tenantId);
  pool.inFlight += count;
  queue.inFlight += count;
  moveDown(pool.waiting, queue);
}

function leave(pool: Pool, tenantId: string, count: number): void {
  const queue = queueOf(pool, tenantId);
  pool.inFlight -= count;
  queue.inFlight -= count;
  moveUp(pool.waiting, queue);
  if (queue.inFlight === 0 && isEmpty(queue)) pool.tenants.delete(tenantId);
}
