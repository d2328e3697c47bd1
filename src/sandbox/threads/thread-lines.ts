import { PosthornError } from "../../model/errors.ts";
import { createThreadSeat, stopped, type ThreadOptions, type ThreadSeat } from "./thread-seat.ts";

/**
 * Shares a few threads among waiting lines. A line uses one thread at a time; the lines take turns, and so do the
 * senders in a line. Slow lines always leave one thread to the others, so no line waits for the slow work of another. A
 * job that misses its deadline is stopped together with its thread.
 */
export interface ThreadLines<Call, Reply> {
  /**
   * The job has a thread to itself until it settles. Rejects with `overloaded` when too much is waiting: of its sender in
   * this line, of all senders in this line, or in all lines together. Otherwise it rejects with the error of the job.
   */
  run<Result>(
    line: string,
    byteLength: number,
    job: (send: Send<Call, Reply>) => Promise<Result>,
    sender?: string,
  ): Promise<Result>;
  /** Calls that wait or run, and later ones, are rejected with `unavailable`. */
  close(): Promise<void>;
}

/** As in `ThreadSeat`. */
export type Send<Call, Reply> = ThreadSeat<Call, Reply>["send"];

export interface ThreadLinesOptions extends ThreadOptions {
  maxThreads: number;
  /** A thread without work ends after this time. With `keepFirst`, the first thread stays. */
  idleMs: number;
  keepFirst?: boolean;
  /** How much of one sender, and of all together, may wait. One line may use half of what all together may. */
  maxSenderBytes?: number;
  maxWaitingBytes?: number;
}

interface Job<Call, Reply> {
  sender: string;
  byteLength: number;
  start: (send: Send<Call, Reply>) => Promise<void>;
}

interface Line<Call, Reply> {
  readonly name: string;
  /** By sender, in the order of their turns. Holds only senders that wait. */
  readonly waiting: Map<string, Job<Call, Reply>[]>;
  /** Cost of the jobs that wait or run, by sender. */
  readonly bytes: Map<string, number>;
  /** Cost of the jobs of all senders. */
  totalBytes: number;
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

/** A sender with this much work waits one or two seconds at worst, if nobody else sends. */
const MAX_SENDER_BYTES = 8 * 1024 * 1024;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** The cost of a job in addition to its bytes. */
const JOB_BYTES = 1024;
/** A call is slow when it takes more than this part of its deadline. */
const SLOW_PART = 0.25;
const SLOW_FOR_MS = 30_000;

export function createThreadLines<Call, Reply extends object>(options: ThreadLinesOptions): ThreadLines<Call, Reply> {
  const { maxThreads, idleMs, keepFirst = false } = options;
  const { maxSenderBytes = MAX_SENDER_BYTES, maxWaitingBytes = MAX_WAITING_BYTES } = options;
  const maxLineBytes = maxWaitingBytes / 2;
  const maxSlow = Math.max(1, maxThreads - 1);
  /** In the order of their turns. Holds only lines that have work or were slow recently. */
  const lines = new Map<string, Line<Call, Reply>>();
  const places: Place<Call, Reply>[] = [];
  let waitingBytes = 0;
  let isClosed = false;

  function getLine(name: string): Line<Call, Reply> {
    const known = lines.get(name);
    if (known !== undefined) return known;
    const line: Line<Call, Reply> = {
      name,
      waiting: new Map(),
      bytes: new Map(),
      totalBytes: 0,
      isServed: false,
      slowUntil: 0,
    };
    lines.set(name, line);
    return line;
  }

  function isSlow({ slowUntil }: Line<Call, Reply>): boolean {
    return slowUntil > performance.now();
  }

  function findNext(): Line<Call, Reply> | undefined {
    const slowServed = places.filter(({ line }) => line !== undefined && isSlow(line)).length;
    for (const line of lines.values()) {
      if (line.waiting.size > 0 && !line.isServed && (slowServed < maxSlow || !isSlow(line))) return line;
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
      void serve(place, line, takeJob(line));
    }
  }

  /** Of a line that has one. */
  function takeJob({ waiting }: Line<Call, Reply>): Job<Call, Reply> {
    const [[sender, jobs]] = waiting as unknown as [[string, Job<Call, Reply>[]]];
    waiting.delete(sender);
    const job = jobs.shift() as Job<Call, Reply>;
    // Added again at the end, as a line is.
    if (jobs.length > 0) waiting.set(sender, jobs);
    return job;
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
    const left = bytesOf(line, job.sender) - job.byteLength;
    if (left > 0) line.bytes.set(job.sender, left);
    else line.bytes.delete(job.sender);
    line.totalBytes -= job.byteLength;
    waitingBytes -= job.byteLength;
    forgetIdleLines();
    if (!place.staysForEver) place.timer = setTimeout(place.seat.stop, idleMs).unref();
    goOn();
  }

  function forgetIdleLines(): void {
    for (const [name, line] of lines) if (line.bytes.size === 0 && !isSlow(line)) lines.delete(name);
  }

  function bytesOf({ bytes }: Line<Call, Reply>, sender: string): number {
    return bytes.get(sender) ?? 0;
  }

  function refuseTooMuch(line: Line<Call, Reply>, sender: string, byteLength: number): void {
    const isTooMuch = (usedBytes: number, maxBytes: number) => usedBytes > 0 && usedBytes + byteLength > maxBytes;
    if (
      !isTooMuch(bytesOf(line, sender), maxSenderBytes) &&
      !isTooMuch(line.totalBytes, maxLineBytes) &&
      !isTooMuch(waitingBytes, maxWaitingBytes)
    ) {
      return;
    }
    throw new PosthornError("overloaded", "Too much is waiting to be checked.", { retryAfterS: 1 });
  }

  return {
    async run(name, bytes, job, sender = "") {
      if (isClosed) throw stopped();
      const byteLength = JOB_BYTES + bytes;
      const line = getLine(name);
      refuseTooMuch(line, sender, byteLength);
      waitingBytes += byteLength;
      line.totalBytes += byteLength;
      line.bytes.set(sender, bytesOf(line, sender) + byteLength);
      return new Promise((resolve, reject) => {
        const added: Job<Call, Reply> = { sender, byteLength, start: (send) => job(send).then(resolve, reject) };
        const jobs = line.waiting.get(sender);
        if (jobs === undefined) line.waiting.set(sender, [added]);
        else jobs.push(added);
        goOn();
      });
    },
    async close() {
      isClosed = true;
      for (const { timer } of places) clearTimeout(timer);
      const jobs = [...lines.values()].flatMap(({ waiting }) => [...waiting.values()].flat());
      for (const { start } of jobs) void start(() => Promise.reject(stopped()));
      await Promise.all(places.map(({ seat }) => seat.close()));
    },
  };
}
