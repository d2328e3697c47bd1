import type { Lane } from "./lane.ts";

/**
 * The slots that all lanes share. A free slot goes to the tenant with the fewest in flight, then to its next lane in
 * turn, so that a flood of one tenant, or one slow destination, stops nobody else.
 */
export interface Slots {
  readonly inFlight: number;
  /** Claimed deliveries in memory, and places kept for claims under way. */
  claimed: number;
  /** How many more deliveries may be claimed into memory. */
  claimRoom(): number;
  /** The lane has something to send. */
  enqueue(lane: Lane): void;
  /** A slot is free and a lane waits for it. */
  readonly hasNext: boolean;
  next(): Lane | undefined;
  occupy(tenantId: string): void;
  vacate(tenantId: string): void;
}

interface TenantQueue {
  inFlight: number;
  lanes: Lane[];
}

/** Claimed deliveries waiting in memory, as a multiple of the slots. */
const CLAIMS_PER_SLOT = 16;

export function createSlots(maxInFlight: number): Slots {
  const tenants = new Map<string, TenantQueue>();
  const waiting = new Set<TenantQueue>();
  let inFlight = 0;
  let claimed = 0;

  function queueOf(tenantId: string): TenantQueue {
    let queue = tenants.get(tenantId);
    if (queue === undefined) tenants.set(tenantId, (queue = { inFlight: 0, lanes: [] }));
    return queue;
  }

  function enqueue(lane: Lane): void {
    if (lane.isQueued) return;
    lane.isQueued = true;
    const queue = queueOf(lane.tenantId);
    queue.lanes.push(lane);
    waiting.add(queue);
  }

  function fewestInFlight(): TenantQueue | undefined {
    let best: TenantQueue | undefined;
    for (const queue of waiting) if (best === undefined || queue.inFlight < best.inFlight) best = queue;
    return best;
  }

  return {
    get inFlight() {
      return inFlight;
    },
    get claimed() {
      return claimed;
    },
    set claimed(count) {
      claimed = count;
    },
    claimRoom: () => maxInFlight * CLAIMS_PER_SLOT - claimed,
    enqueue,
    get hasNext() {
      return inFlight < maxInFlight && waiting.size > 0;
    },
    next() {
      if (inFlight >= maxInFlight) return undefined;
      const queue = fewestInFlight();
      const lane = queue?.lanes.shift();
      if (queue === undefined || lane === undefined) return undefined;
      if (queue.lanes.length === 0) waiting.delete(queue);
      lane.isQueued = false;
      return lane;
    },
    occupy(tenantId) {
      inFlight++;
      queueOf(tenantId).inFlight++;
    },
    vacate(tenantId) {
      inFlight--;
      const queue = queueOf(tenantId);
      queue.inFlight--;
      if (queue.inFlight === 0 && queue.lanes.length === 0) tenants.delete(tenantId);
    },
  };
}
