import type { Lane } from "./lane.ts";

/**
 * The slots that all lanes share. A free slot goes to the tenant with the fewest attempts in flight, then to its next
 * lane in turn, so that a flood of one tenant blocks no other tenant. Slow lanes get only a part of the slots:
 * otherwise they would end up with all of them, and quick lanes would wait for timeouts.
 */
export interface Slots {
  readonly inFlight: number;
  /** The lane has something to send. */
  enqueue(lane: Lane): void;
  /** The lane that gets the next free slot. */
  findNext(): Lane | undefined;
  /** The lane takes its turn and leaves the queue. */
  take(lane: Lane): void;
  occupy(lane: Lane): void;
  vacate(lane: Lane): void;
  /**
   * Called when it is known whether the lane's attempts take long. Moves the lane, with its attempts in flight, to the
   * right pool.
   */
  judge(lane: Lane, isSlow: boolean): void;
}

/** Lanes that compete with each other, by tenant. */
interface Pool {
  readonly tenants: Map<string, TenantQueue>;
  readonly waiting: Set<TenantQueue>;
  inFlight: number;
  /** The number of turns so far, over all pools. */
  readonly turns: { count: number };
}

interface TenantQueue {
  inFlight: number;
  /** The number of its last turn. */
  servedAt: number;
  /** Lanes that have never had an answer: they come first, to find out how fast they are. */
  readonly fresh: Lane[];
  /** Lanes with nothing in flight: they come next. */
  readonly idle: Lane[];
  readonly busy: Lane[];
}

const SHARE_OF_SLOW = 0.5;
/** A slow lane gets a slot while its tenant has fewer than this many attempts for each free slot. */
const PER_FREE = 1;
const PER_FREE_IF_IDLE = 4;

export function createSlots(maxInFlight: number): Slots {
  const turns = { count: 0 };
  const prompt = createPool(turns);
  const slow = createPool(turns);
  const maxSlow = Math.max(1, Math.floor(maxInFlight * SHARE_OF_SLOW));

  function poolOf(lane: Lane): Pool {
    return lane.isSlow ? slow : prompt;
  }

  function enqueue(lane: Lane): void {
    if (lane.isQueued) return;
    lane.isQueued = true;
    const pool = poolOf(lane);
    const queue = queueOf(pool, lane.tenantId);
    listFor(queue, lane).push(lane);
    pool.waiting.add(queue);
  }

  /** Free slots are kept for lanes with nothing in flight, and the last of them for new lanes and other tenants. */
  function mayHaveSlow({ fresh, idle, inFlight }: TenantQueue): boolean {
    const free = maxSlow - slow.inFlight;
    if (fresh.length > 0) return free > 0;
    return inFlight < free * (idle.length > 0 ? PER_FREE_IF_IDLE : PER_FREE);
  }

  return {
    get inFlight() {
      return prompt.inFlight + slow.inFlight;
    },
    enqueue,
    findNext() {
      if (prompt.inFlight + slow.inFlight >= maxInFlight) return undefined;
      const first = fewestInFlight(prompt);
      const firstSlow = fewestInFlight(slow);
      if (firstSlow === undefined || !mayHaveSlow(firstSlow)) return first && headOf(first);
      return headOf(first === undefined || isBefore(firstSlow, first) ? firstSlow : first);
    },
    take(lane) {
      const pool = poolOf(lane);
      queueOf(pool, lane.tenantId).servedAt = ++turns.count;
      unqueue(pool, lane);
    },
    occupy(lane) {
      join(poolOf(lane), lane.tenantId, 1);
    },
    vacate(lane) {
      leave(poolOf(lane), lane.tenantId, 1);
    },
    judge(lane, isSlow) {
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

function createPool(turns: Pool["turns"]): Pool {
  return { tenants: new Map(), waiting: new Set(), inFlight: 0, turns };
}

function queueOf({ tenants, turns }: Pool, tenantId: string): TenantQueue {
  let queue = tenants.get(tenantId);
  // A new queue starts behind those that wait already: otherwise a queue that is forgotten after each turn would always
  // be first.
  if (queue === undefined)
    tenants.set(tenantId, (queue = { inFlight: 0, servedAt: turns.count, fresh: [], idle: [], busy: [] }));
  return queue;
}

function fewestInFlight({ waiting }: Pool): TenantQueue | undefined {
  let best: TenantQueue | undefined;
  for (const queue of waiting) if (best === undefined || isBefore(queue, best)) best = queue;
  return best;
}

/** Among tenants with equally many attempts in flight, the one that was served longest ago comes first. */
function isBefore(a: TenantQueue, b: TenantQueue): boolean {
  return a.inFlight === b.inFlight ? a.servedAt < b.servedAt : a.inFlight < b.inFlight;
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
  if (isEmpty(queue)) pool.waiting.delete(queue);
}

/** The lane is nearly always the first in the list. */
function remove(lanes: Lane[], lane: Lane): boolean {
  if (lanes[0] === lane) return lanes.shift() !== undefined;
  const at = lanes.indexOf(lane);
  return at !== -1 && lanes.splice(at, 1).length > 0;
}

function join(pool: Pool, tenantId: string, count: number): void {
  pool.inFlight += count;
  queueOf(pool, tenantId).inFlight += count;
}

function leave(pool: Pool, tenantId: string, count: number): void {
  const queue = queueOf(pool, tenantId);
  pool.inFlight -= count;
  queue.inFlight -= count;
  if (queue.inFlight === 0 && isEmpty(queue)) pool.tenants.delete(tenantId);
}
