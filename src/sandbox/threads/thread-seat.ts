import { readFileSync, readlinkSync } from "node:fs";
import { Worker, type MessagePort, type ResourceLimits } from "node:worker_threads";
import { PosthornError } from "../../model/errors.ts";

/**
 * A place for one thread. The thread is started when it is needed, stopped when a call takes too long, and then started
 * again.
 */
export interface ThreadSeat<Call, Reply> {
  /**
   * Takes one call at a time. Rejects with `Overdue` after the deadline, and with `unavailable` when the thread was
   * lost twice, for example because it ran out of memory.
   */
  send(call: Call, deadlineMs: number): Promise<Reply>;
  /** Ends the thread; the next call starts another. */
  stop(): void;
  /** Rejects the running call with `unavailable`. Resolves when all threads of this seat have ended. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  /** The thread's file. The thread calls `announceReady` when it has loaded, then answers each call once. */
  thread: URL;
  workerData?: unknown;
  resourceLimits: ResourceLimits;
}

export class Overdue extends Error {
  override readonly name = "Overdue";
}

interface Ready {
  readonly isReady: true;
  readonly taskId: number | undefined;
}

interface Pending<Call, Reply> {
  call: Call;
  deadlineMs: number;
  tries: number;
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
}

const MAX_TRIES = 2;
/** A call may take this many times its deadline by wall time, while its thread gets no CPU time. */
const PATIENCE = 10;

/** Called by the thread: the deadline of a call counts from now on. */
export function announceReady(port: Pick<MessagePort, "postMessage">): void {
  port.postMessage({ isReady: true, taskId: findOwnTaskId() } satisfies Ready);
}

export function createThreadSeat<Call, Reply extends object>(options: ThreadOptions): ThreadSeat<Call, Reply> {
  let thread: Worker | undefined;
  let ready: Ready | undefined;
  let current: Pending<Call, Reply> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ending: Promise<unknown> = Promise.resolve();

  function start(): Worker {
    const { workerData, resourceLimits } = options;
    const started = new Worker(options.thread, { workerData, resourceLimits });
    started.unref();
    ready = undefined;
    started.on("message", (message: Reply | Ready) => {
      if (thread !== started) return;
      if (!("isReady" in message)) return end((one) => one.resolve(message));
      ready = message;
      if (current !== undefined) watch(current, message);
    });
    const lose = (): void => {
      if (thread !== started) return;
      thread = undefined;
      // The thread may have ended by itself just when the call came.
      if (current !== undefined && current.tries < MAX_TRIES) return post(current);
      end((one) =>
        one.reject(
          new PosthornError("unavailable", "The check failed because its thread was lost. Try again.", {
            retryAfterS: 5,
          }),
        ),
      );
    };
    started.on("error", lose);
    started.on("exit", lose);
    return started;
  }

  function post(one: Pending<Call, Reply>): void {
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
  function watch({ deadlineMs }: Pending<Call, Reply>, { taskId }: Ready): void {
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

  function end(settle: (one: Pending<Call, Reply>) => void): void {
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
    send: (call, deadlineMs) =>
      new Promise((resolve, reject) => {
        current = { call, deadlineMs, tries: 0, resolve, reject };
        post(current);
      }),
    stop,
    async close() {
      stop();
      end((one) => one.reject(stopped()));
      await ending;
    },
  };
}

/** For calls that have no answer when the gateway stops. */
export function stopped(): PosthornError {
  return new PosthornError("unavailable", "The gateway stops.", { retryAfterS: 5 });
}

/**
 * The CPU time of a thread. On a busy machine, a deadline by wall time would stop checks that did nothing wrong. Only
 * Linux reports this; on other systems all of these are undefined.
 */

/** Called by the thread itself. */
export function findOwnTaskId(): number | undefined {
  try {
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return undefined;
  }
}

/** CPU time of a thread of this process since the thread started. */
export function readWorkedMs(taskId: number | undefined): number | undefined {
  if (taskId === undefined) return undefined;
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${taskId}/schedstat`, "utf8").split(" ");
    const ms = Number(nanoseconds) / 1e6;
    return Number.isFinite(ms) ? ms : undefined;
  } catch {
    return undefined;
  }
}
