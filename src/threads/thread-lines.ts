import { PosthornError } from "../domain/errors.ts";
import { createThreadSeat, type ThreadOptions, type ThreadSeat } from "./thread-seat.ts";

/**
 * Shares a few threads among senders. Each sender has a waiting line, which uses one thread at a time; the lines take
 * turns. Slow lines always leave one thread to the others, so no sender waits for the slow work of another. A job that
 * misses its deadline is stopped together with its thread.
 */
export interface ThreadLines<Call, Reply> {
  /**
   * The job has a thread to itself until it settles. Rejects with `overloaded` when too much is waiting in this line or
   * in all lines together; otherwise with the error of the job.
   */
  run<Result>(line: string, byteLength: number, job: (send: Send<Call, Reply>) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** As in `ThreadSeat`. */
export type Send<Call, Reply> = ThreadSeat<Call, Reply>["send"];

export interface ThreadLinesOptions extends ThreadOptions {
  maxThreads: number;
  /** A thread without work ends after this time. With `keepFirst`, the first thread stays. */
  idleMs: number;
  keepFirst?: boolean;
}

interface Job<Call, Reply> {
  byteLength: number;
  start: (send: Send<Call, Reply>) => Promise<void>;
}

interface Line<Call, Reply> {
  readonly name: string;
  readonly waiting: Job<Call, Reply>[];
  /** Cost of the jobs that wait or run. */
  bytes: number;
  isServed: boolean;
  /** The line counts as slow until then, because its recent work took long. */
  slowUntil: number;
}

interface Place<Call, Reply> {
  readonly seat: ThreadSeat<Call, Reply>;
  readonly staysForEver: boolean;
  line: Line<Call, Reply> | undefined;
  /** The line that used the thread last: the thread still has its schemas in memory. */
  last: string | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** A line with this much work waits one or two seconds at worst. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** The cost of a job in addition to its bytes. */
const JOB_BYTES = 1024;
/** A call is slow when it takes more than this part of its deadline. */
const SLOW_PART = 0.25;
const SLOW_FOR_MS = 30_000;

export function createThreadLines<Call, Reply extends object>(options: ThreadLinesOptions): ThreadLines<Call, Reply> {
  const { maxThreads, idleMs, keepFirst = false } = options;
  const maxSlow = Math.max(1, maxThreads - 1);
  /** In the order of their turns. Holds only lines that have work or were slow recently. */
  const lines = new Map<string, Line<Call, Reply>>();
  const places: Place<Call, Reply>[] = [];
  let waitingBytes = 0;
  let isClosed = false;

  function getLine(name: string): Line<Call, Reply> {
    const known = lines.get(name);
    if (known !== undefined) return known;
    const line: Line<Call, Reply> = { name, waiting: [], bytes: 0, isServed: false, slowUntil: 0 };
    lines.set(name, line);
    return line;
  }

  function isSlow({ slowUntil }: Line<Call, Reply>): boolean {
    return slowUntil > performance.now();
  }

  function findNext(): Line<Call, Reply> | undefined {
    const slowServed = places.filter(({ line }) => line !== undefined && isSlow(line)).length;
    for (const line of lines.values()) {
      if (line.waiting.length > 0 && !line.isServed && (slowServed < maxSlow || !isSlow(line))) return line;
    }
    return undefined;
  }

  function findPlace(name: string): Place<Call, Reply> | undefined {
    const free = places.filter(({ line }) => line === undefined);
    const place = free.find(({ last }) => last === name) ?? free[0];
    if (place !== undefined || places.length >= maxThreads) return place;
    const added: Place<Call, Reply> = {
      seat: createThreadSeat<Call, Reply>(options),
      staysForEver: keepFirst && places.length === 0,
      line: undefined,
      last: undefined,
      timer: undefined,
    };
    places.push(added);
    return added;
  }

  function goOn(): void {
    if (isClosed) return;
    for (let line = findNext(); line !== undefined; line = findNext()) {
      const place = findPlace(line.name);
      if (place === undefined) return;
      // Added again at the end: the line's next turn comes after all others.
      lines.delete(line.name);
      lines.set(line.name, line);
      void serve(place, line, line.waiting.shift() as Job<Call, Reply>);
    }
  }

  async function serve(place: Place<Call, Reply>, line: Line<Call, Reply>, job: Job<Call, Reply>): Promise<void> {
    clearTimeout(place.timer);
    place.line = line;
    place.last = line.name;
    line.isServed = true;
    await job.start(async (call, deadlineMs) => {
      const startedAt = performance.now();
      try {
        return await place.seat.send(call, deadlineMs);
      } finally {
        const endedAt = performance.now();
        if (endedAt - startedAt > deadlineMs * SLOW_PART) line.slowUntil = endedAt + SLOW_FOR_MS;
      }
    });
    place.line = undefined;
    line.isServed = false;
    line.bytes -= job.byteLength;
    waitingBytes -= job.byteLength;
    forgetIdleLines();
    if (!place.staysForEver) place.timer = setTimeout(place.seat.stop, idleMs).unref();
    goOn();
  }

  function forgetIdleLines(): void {
    for (const [name, line] of lines) if (line.bytes === 0 && !isSlow(line)) lines.delete(name);
  }

  function refuseTooMuch(line: Line<Call, Reply>, byteLength: number): void {
    const isLineFull = line.bytes > 0 && line.bytes + byteLength > MAX_LINE_BYTES;
    if (!isLineFull && (waitingBytes === 0 || waitingBytes + byteLength <= MAX_WAITING_BYTES)) return;
    throw new PosthornError("overloaded", "Too much is waiting to be checked.", { retryAfterS: 1 });
  }

  return {
    async run(name, bytes, job) {
      const byteLength = JOB_BYTES + bytes;
      const line = getLine(name);
      refuseTooMuch(line, byteLength);
      waitingBytes += byteLength;
      line.bytes += byteLength;
      return new Promise((resolve, reject) => {
        line.waiting.push({ byteLength, start: (send) => job(send).then(resolve, reject) });
        goOn();
      });
    },
    async close() {
      isClosed = true;
      for (const { timer } of places) clearTimeout(timer);
      await Promise.all(places.map(({ seat }) => seat.close()));
    },
  };
}
