/** Time that passes only when it is told to: for tests that move the clock, and for simulations of whole days. */
import { type Clock, type Timer, createSystemClock } from "../../src/model/clock.ts";

export interface VirtualTime {
  /** True milliseconds since the beginning, as a perfect clock would count them. */
  readonly elapsedMs: number;
  /** What the machine's clock shows; can be set wrong with `jump`. */
  wall(): number;
  jump(byMs: number): void;
  /** Calls `run` after `delayMs`. Timers of one moment run in the order in which they were set. */
  after(delayMs: number, run: () => void): Timer;
  /** When the next timer is due; undefined when there is none. */
  nextAt(): number | undefined;
  /** Moves on to the next timer and runs it. */
  step(): void;
  /** Moves on to `elapsedMs`; the timers before it must have run. */
  moveTo(elapsedMs: number): void;
}

interface Waiting {
  at: number;
  order: number;
  run: (() => void) | undefined;
}

export function createVirtualTime(wallAtStart: number): VirtualTime {
  const heap: Waiting[] = [];
  let elapsedMs = 0;
  let wallOffsetMs = wallAtStart;
  let order = 0;

  function isBefore(a: Waiting, b: Waiting): boolean {
    return a.at === b.at ? a.order < b.order : a.at < b.at;
  }

  function swap(i: number, j: number): void {
    [heap[i], heap[j]] = [heap[j] as Waiting, heap[i] as Waiting];
  }

  function push(waiting: Waiting): void {
    let at = heap.push(waiting) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(heap[at] as Waiting, heap[parent] as Waiting)) return;
      swap(at, parent);
      at = parent;
    }
  }

  function removeFirst(): void {
    const last = heap.pop() as Waiting;
    if (heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && isBefore(heap[child] as Waiting, heap[least] as Waiting)) least = child;
      }
      if (least === at) return;
      swap(at, least);
      at = least;
    }
  }

  function nextAt(): number | undefined {
    while (heap[0] !== undefined && heap[0].run === undefined) removeFirst();
    return heap[0]?.at;
  }

  return {
    get elapsedMs() {
      return elapsedMs;
    },
    wall: () => Math.floor(wallOffsetMs + elapsedMs),
    jump(byMs) {
      wallOffsetMs += byMs;
    },
    after(delayMs, run) {
      const waiting: Waiting = { at: elapsedMs + Math.max(0, delayMs), order: order++, run };
      push(waiting);
      return { cancel: () => void (waiting.run = undefined) };
    },
    nextAt,
    step() {
      if (nextAt() === undefined) return;
      const { at, run } = heap[0] as Waiting;
      removeFirst();
      elapsedMs = at;
      run?.();
    },
    moveTo(next) {
      elapsedMs = Math.max(elapsedMs, next);
    },
  };
}

/** The gateway's own clock, with its slow return to a wall clock that jumped, in virtual time. */
export function createVirtualClock(time: VirtualTime, startAt = time.wall()): Clock {
  return createSystemClock({
    startAt,
    wall: time.wall,
    monotonic: () => time.elapsedMs,
    setTimeout: (run, delayMs) => time.after(delayMs, run),
    clearTimeout: (timer) => (timer as Timer).cancel(),
  });
}

/** Everything that was begun is done when nothing more happens without the clock. */
export async function moveClock(time: VirtualTime, byMs: number, settle: () => Promise<void>): Promise<void> {
  const end = time.elapsedMs + byMs;
  await settle();
  for (let at = time.nextAt(); at !== undefined && at <= end; at = time.nextAt()) {
    time.step();
    await settle();
  }
  time.moveTo(end);
}
