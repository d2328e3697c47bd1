import { Worker, type ResourceLimits } from "node:worker_threads";
import { PosthornError } from "../../domain/errors.ts";

/**
 * Calls into a thread, one after the other, each with a deadline. What does not end in time ends with its thread, and
 * the calls behind it go to a new one: nobody pays for another's monster.
 */
export interface ThreadLine<Call, Reply> {
  /**
   * Rejects with `overloaded` when too much is waiting already, with `Overdue` after the deadline, with `unavailable`
   * when the thread was lost twice, by running out of memory for instance.
   */
  call(call: Call, byteLength: number): Promise<Reply>;
  close(): Promise<void>;
}

export interface ThreadLineOptions {
  /** It says `READY` when it has loaded, then answers each call once. */
  thread: URL;
  workerData?: unknown;
  /** Of a call, from when the thread is ready for it. */
  deadlineMs: number;
  /** After so long without a call the thread ends; without it, it stays. */
  idleMs?: number | undefined;
  resourceLimits: ResourceLimits;
}

export const READY = "ready";

export class Overdue extends Error {
  override readonly name = "Overdue";
}

interface Waiting<Call, Reply> {
  call: Call;
  byteLength: number;
  tries: number;
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
}

/** A second or two of the worst that can be sent. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** What a call costs beside its bytes. */
const CALL_BYTES = 1024;
const MAX_TRIES = 2;

export function createThreadLine<Call, Reply>(options: ThreadLineOptions): ThreadLine<Call, Reply> {
  const waiting: Waiting<Call, Reply>[] = [];
  let current: Waiting<Call, Reply> | undefined;
  let waitingBytes = 0;
  let thread: Worker | undefined;
  let isReady = false;
  let timer: NodeJS.Timeout | undefined;
  let ending: Promise<unknown> = Promise.resolve();

  function start(): Worker {
    const started = new Worker(options.thread, {
      workerData: options.workerData,
      resourceLimits: options.resourceLimits,
    });
    started.unref();
    isReady = false;
    started.on("message", (message: Reply | typeof READY) => {
      if (thread !== started) return;
      if (message !== READY) return end((one) => one.resolve(message));
      isReady = true;
      if (current !== undefined) watch();
    });
    const lose = (): void => {
      if (thread !== started) return;
      thread = undefined;
      // It may have ended by itself just when the call came.
      if (current !== undefined && current.tries < MAX_TRIES) return send(current);
      end((one) => one.reject(new PosthornError("unavailable", "It could not be checked now.", { retryAfterS: 5 })));
    };
    started.on("error", lose);
    started.on("exit", lose);
    return started;
  }

  function send(one: Waiting<Call, Reply>): void {
    clearTimeout(timer);
    one.tries++;
    thread ??= start();
    thread.postMessage(one.call);
    if (isReady) watch();
  }

  function watch(): void {
    clearTimeout(timer);
    timer = setTimeout(giveUp, options.deadlineMs);
  }

  function giveUp(): void {
    stop();
    end((one) => one.reject(new Overdue("It takes too long.")));
  }

  function end(settle: (one: Waiting<Call, Reply>) => void): void {
    clearTimeout(timer);
    const ended = current;
    current = undefined;
    if (ended === undefined) return;
    waitingBytes -= ended.byteLength;
    settle(ended);
    goOn();
  }

  function goOn(): void {
    if (current !== undefined) return;
    current = waiting.shift();
    if (current !== undefined) send(current);
    else if (options.idleMs !== undefined) timer = setTimeout(stop, options.idleMs).unref();
  }

  function stop(): void {
    const stopped = thread;
    thread = undefined;
    if (stopped !== undefined) ending = Promise.all([ending, stopped.terminate()]);
  }

  return {
    call(call, bytes) {
      const byteLength = CALL_BYTES + bytes;
      if (waitingBytes + byteLength > MAX_WAITING_BYTES && waitingBytes > 0) {
        const tooMuch = "Too much is waiting to be checked.";
        return Promise.reject(new PosthornError("overloaded", tooMuch, { retryAfterS: 1 }));
      }
      return new Promise((resolve, reject) => {
        waitingBytes += byteLength;
        waiting.push({ call, byteLength, tries: 0, resolve, reject });
        goOn();
      });
    },
    async close() {
      clearTimeout(timer);
      stop();
      await ending;
    },
  };
}
