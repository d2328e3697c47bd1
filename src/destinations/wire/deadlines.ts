import type { Clock, Timer } from "../../model/clock.ts";

/**
 * One timer for the deadlines of all requests: a timer or AbortSignal for each would cost a third of the throughput.
 */
export interface Deadlines<Item extends Expiring> {
  add(item: Item, at: number): void;
  remove(item: Item): void;
  /** Stops the timer and returns all items. */
  clear(): Item[];
}

export interface Expiring {
  /** Both are managed by the deadlines, to find the item again: a Set would hash it twice for each request. */
  sweep: unknown[] | undefined;
  placeInSweep: number;
  expire(): void;
}

const SWEEP_MS = 100;

/** Items expire at their deadline or up to one sweep later. */
export function createDeadlines<Item extends Expiring>(clock: Clock): Deadlines<Item> {
  /** Items by the sweep that ends them: adding and removing take the same time for any number of items. */
  const bySweep = new Map<number, Item[]>();
  let size = 0;
  let timer: Timer | undefined;

  function arm(): void {
    timer ??= clock.setTimer((Math.floor(clock.now() / SWEEP_MS) + 1) * SWEEP_MS, sweep);
  }

  function sweep(): void {
    timer = undefined;
    const now = clock.now();
    for (const [sweepAt, items] of bySweep) {
      if (sweepAt > now) continue;
      bySweep.delete(sweepAt);
      size -= items.length;
      for (const item of items) item.sweep = undefined;
      for (const item of items) item.expire();
    }
    if (size > 0) arm();
    else bySweep.clear();
  }

  return {
    add(item, at) {
      const sweepAt = Math.ceil(at / SWEEP_MS) * SWEEP_MS;
      let items = bySweep.get(sweepAt);
      if (items === undefined) bySweep.set(sweepAt, (items = []));
      item.sweep = items;
      item.placeInSweep = items.push(item) - 1;
      size += 1;
      arm();
    },
    remove(item) {
      const items = item.sweep as Item[] | undefined;
      const last = items?.pop();
      if (items === undefined || last === undefined) return;
      item.sweep = undefined;
      size -= 1;
      if (last === item) return;
      // The last item takes the free place.
      items[item.placeInSweep] = last;
      last.placeInSweep = item.placeInSweep;
    },
    clear() {
      timer?.cancel();
      timer = undefined;
      const left = [...bySweep.values()].flat();
      for (const item of left) item.sweep = undefined;
      bySweep.clear();
      size = 0;
      return left;
    },
  };
}
