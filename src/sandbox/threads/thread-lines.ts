import { Worker, type ResourceLimits } from "node:worker_threads";
import { PosthornError } from "../../model/errors.ts";
import { readWorkedMs, type Ready, type Thrown } from "./serve-calls.ts";

/** Takes one call at a time. Rejects with `Overdue` after the deadline, and with `unavailable` when its thread was lost. */
export type Send<Call, Reply> = (call: Call, deadlineMs: number) => Promise<Reply>;

export class Overdue extends Error {
  override readonly name = "Overdue";
}

export interface ThreadLinesOptions {
  /** The thread's file, which calls `serveCalls`. */
  thread: URL;
  resourceLimits: ResourceLimits;
  maxThreads: number;
  /** A thread without work ends after this time. With `keepFirst`, the first thread stays. */
  idleMs?: number;
  keepFirst?: boolean;
  /** How much of one sender, and of all together, may wait. One line may use half of what all together may. */
  maxSenderBytes?: number;
  maxWaitingBytes?: number;
}

/** A sender with this much work waits one or two seconds at worst, if nobody else sends. */
const MAX_SENDER_BYTES = 8 * 1024 * 1024;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** The cost of a job in addition to its bytes. */
const JOB_BYTES = 1024;
/** A call is slow when it takes more than this part of its deadline. */
const SLOW_PART = 0.25;
const SLOW_FOR_MS = 30_000;
/** Somebody who works on a document tests it more than once. */
const IDLE_MS = 60_000;

/**
 * Shares a few threads among waiting lines. A line uses one thread at a time; the lines take turns, and so do the
 * senders in a line. Slow lines always leave one thread to the others, so no line waits for the slow work of another. A
 * job that misses its deadline is stopped together with its thread.
 */
export function createThreadLines<Call, Reply extends object>(options: ThreadLinesOptions) {
  interface Job {
    sender: string;
    byteLength: number;
    start: (send: Send<Call, Reply>) => Promise<void>;
  }

  interface Line {
    readonly name: string;
    /** By sender, in the order of their turns. Holds only senders that wait. */
    readonly waiting: Map<string, Job[]>;
    /** Cost of the jobs that wait or run, by sender. */
    readonly bytes: Map<string, number>;
    totalBytes: number;
    isServed: boolean;
    /** The line counts as slow until then, because its recent work took long. */
    slowUntil: number;
  }

  interface Slot {
    readonly seat: ReturnType<typeof createSeat<Reply>>;
    readonly isPermanent: boolean;
    line?: Line | undefined;
    /** The line that used the thread last: the thread still has its schemas in memory. */
    last?: string;
    timer?: NodeJS.Timeout | undefined;
  }

  const { maxThreads, idleMs = IDLE_MS, keepFirst = false } = options;
  const { maxSenderBytes = MAX_SENDER_BYTES, maxWaitingBytes = MAX_WAITING_BYTES } = options;
  const maxLineBytes = maxWaitingBytes / 2;
  const maxSlow = Math.max(1, maxThreads - 1);
  /** In the order of their turns. Holds only lines that have work or were slow recently. */
  const lines = new Map<string, Line>();
  const slots: Slot[] = [];
  let waitingBytes = 0;
  let isClosed = false;

  function getLine(name: string): Line {
    const known = lines.get(name);
    if (known !== undefined) return known;
    const line: Line = { name, waiting: new Map(), bytes: new Map(), totalBytes: 0, isServed: false, slowUntil: 0 };
    lines.set(name, line);
    return line;
  }

  function isSlow({ slowUntil }: Line): boolean {
    return slowUntil > performance.now();
  }

  function findNext(): Line | undefined {
    const slowServed = slots.filter(({ line }) => line !== undefined && isSlow(line)).length;
    for (const line of lines.values()) {
      if (line.waiting.size > 0 && !line.isServed && (slowServed < maxSlow || !isSlow(line))) return line;
    }
    return undefined;
  }

  function findSlot(name: string): Slot | undefined {
    const free = slots.filter(({ line }) => line === undefined);
    const slot = free.find(({ last }) => last === name) ?? free[0];
    if (slot !== undefined || slots.length >= maxThreads) return slot;
    const added: Slot = { seat: createSeat<Reply>(options), isPermanent: keepFirst && slots.length === 0 };
    slots.push(added);
    return added;
  }

  function goOn(): void {
    if (isClosed) return;
    for (let line = findNext(); line !== undefined; line = findNext()) {
      const slot = findSlot(line.name);
      if (slot === undefined) return;
      // Added again at the end: the line's next turn comes after all others.
      lines.delete(line.name);
      lines.set(line.name, line);
      void serve(slot, line, takeJob(line));
    }
  }

  function takeJob({ waiting }: Line): Job {
    const [[sender, jobs]] = waiting as unknown as [[string, Job[]]];
    waiting.delete(sender);
    const job = jobs.shift() as Job;
    // Added again at the end, as a line is.
    if (jobs.length > 0) waiting.set(sender, jobs);
    return job;
  }

  async function serve(slot: Slot, line: Line, job: Job): Promise<void> {
    clearTimeout(slot.timer);
    slot.line = line;
    slot.last = line.name;
    line.isServed = true;
    await job.start(async (call, deadlineMs) => {
      const startedAt = performance.now();
      try {
        return await slot.seat.send(call, deadlineMs);
      } finally {
        const endedAt = performance.now();
        if (endedAt - startedAt > deadlineMs * SLOW_PART) line.slowUntil = endedAt + SLOW_FOR_MS;
      }
    });
    slot.line = undefined;
    line.isServed = false;
    const left = bytesOf(line, job.sender) - job.byteLength;
    if (left > 0) line.bytes.set(job.sender, left);
    else line.bytes.delete(job.sender);
    line.totalBytes -= job.byteLength;
    waitingBytes -= job.byteLength;
    forgetIdleLines();
    if (!slot.isPermanent) slot.timer = setTimeout(slot.seat.stop, idleMs).unref();
    goOn();
  }

  function forgetIdleLines(): void {
    for (const [name, line] of lines) if (line.bytes.size === 0 && !isSlow(line)) lines.delete(name);
  }

  function bytesOf({ bytes }: Line, sender: string): number {
    return bytes.get(sender) ?? 0;
  }

  function rejectTooMuch(line: Line, sender: string, byteLength: number): void {
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
    /**
     * The job has a thread to itself until it settles. Rejects with `overloaded` when too much is waiting: of its sender
     * in this line, of all senders in this line, or in all lines together. Otherwise it rejects with the error of the job.
     */
    async run<Result>(
      name: string,
      bytes: number,
      job: (send: Send<Call, Reply>) => Promise<Result>,
      sender = "",
    ): Promise<Result> {
      if (isClosed) throw stopped();
      const byteLength = JOB_BYTES + bytes;
      const line = getLine(name);
      rejectTooMuch(line, sender, byteLength);
      waitingBytes += byteLength;
      line.totalBytes += byteLength;
      line.bytes.set(sender, bytesOf(line, sender) + byteLength);
      return new Promise((resolve, reject) => {
        const added: Job = { sender, byteLength, start: (send) => job(send).then(resolve, reject) };
        const jobs = line.waiting.get(sender);
        if (jobs === undefined) line.waiting.set(sender, [added]);
        else jobs.push(added);
        goOn();
      });
    },
    /** Calls that wait or run, and later ones, are rejected with `unavailable`. */
    async close(): Promise<void> {
      isClosed = true;
      for (const { timer } of slots) clearTimeout(timer);
      const jobs = [...lines.values()].flatMap(({ waiting }) => [...waiting.values()].flat());
      for (const { start } of jobs) void start(() => Promise.reject(stopped()));
      await Promise.all(slots.map(({ seat }) => seat.close()));
    },
  };
}

interface Pending<Reply> {
  call: unknown;
  deadlineMs: number;
  tries: number;
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
}

const MAX_TRIES = 2;
/** A call may take this many times its deadline by wall time, while its thread gets no CPU time. */
const PATIENCE = 10;

/**
 * A place for one thread. The thread is started when it is needed, stopped when a call takes too long, and then started
 * again. A call is repeated once when its thread was lost, for example because it ran out of memory.
 */
function createSeat<Reply extends object>({ thread: file, resourceLimits }: ThreadLinesOptions) {
  let thread: Worker | undefined;
  let ready: Ready | undefined;
  let current: Pending<Reply> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ending: Promise<unknown> = Promise.resolve();

  function start(): Worker {
    const started = new Worker(file, { resourceLimits });
    started.unref();
    ready = undefined;
    started.on("message", (message: Reply | Ready | Thrown) => {
      if (thread !== started) return;
      if ("thrown" in message) {
        const { code, message: text, details } = message.thrown;
        return end((one) => one.reject(new PosthornError(code, text, { details })));
      }
      if (!("isReady" in message)) return end((one) => one.resolve(message));
      ready = message;
      if (current !== undefined) watch(current, message);
    });
    const lose = (): void => {
      if (thread !== started) return;
      thread = undefined;
      // The thread may have ended by itself just when the call came.
      if (current !== undefined && current.tries < MAX_TRIES) return post(current);
      end((one) => one.reject(unavailable("The check failed because its thread was lost. Try again.")));
    };
    started.on("error", lose);
    started.on("exit", lose);
    return started;
  }

  function post(one: Pending<Reply>): void {
    clearTimeout(timer);
    one.tries++;
    thread ??= start();
    thread.postMessage(one.call);
    if (ready !== undefined) watch(one, ready);
  }

  /**
   * Waits half of the deadline by wall time, then measures the other half in CPU time of the thread. Most calls end
   * before the first measurement.
   */
  function watch({ deadlineMs }: Pending<Reply>, { taskId }: Ready): void {
    const halfMs = deadlineMs / 2;
    const lastLookAt = performance.now() + deadlineMs * PATIENCE;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const before = readWorkedMs(taskId);
      const look = (): void => {
        const now = readWorkedMs(taskId);
        const leftMs = before === undefined || now === undefined ? 0 : halfMs - (now - before);
        if (leftMs <= 0 || performance.now() >= lastLookAt) return giveUp();
        timer = setTimeout(look, Math.ceil(leftMs));
      };
      timer = setTimeout(look, halfMs);
    }, halfMs);
  }

  function giveUp(): void {
    stop();
    end((one) => one.reject(new Overdue("The check took too long and was stopped.")));
  }

  function end(settle: (one: Pending<Reply>) => void): void {
    clearTimeout(timer);
    const ended = current;
    current = undefined;
    if (ended !== undefined) settle(ended);
  }

  function stop(): void {
    const stopped = thread;
    thread = undefined;
    if (stopped !== undefined) ending = Promise.all([ending, stopped.terminate()]);
  }

  return {
    send: (call: unknown, deadlineMs: number) =>
      new Promise<Reply>((resolve, reject) => {
        current = { call, deadlineMs, tries: 0, resolve, reject };
        post(current);
      }),
    /** Ends the thread; the next call starts another. */
    stop,
    /** Resolves when all threads of this seat have ended. */
    async close(): Promise<void> {
      stop();
      end((one) => one.reject(stopped()));
      await ending;
    },
  };
}

/** For calls that have no answer when the gateway stops. */
const stopped = () => unavailable("The gateway stops.");

/** The error of a call that may succeed later. */
export function unavailable(message: string): PosthornError {
  return new PosthornError("unavailable", message, { retryAfterS: 5 });
}
