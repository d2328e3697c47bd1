import { Worker } from "node:worker_threads";

/** The names of their files, in a source tree and in a build. */
const NAMES = ["writer", "reader"] as const;
const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const early = new Map<ThreadName, Worker>();

type ThreadName = (typeof NAMES)[number];

/**
 * Starting a thread takes about as long as loading the gateway's code, so threads are started first and both happen at
 * once. They wait for a message that says what to open, and do not keep a process alive that opens nothing.
 */
export function startThreadsEarly(): void {
  for (const name of NAMES) {
    const worker = startThread(name);
    worker.unref();
    early.set(name, worker);
  }
}

/** A thread that waits for its first message, which says what to open. */
export function takeThread(name: ThreadName): Worker {
  const worker = early.get(name);
  early.delete(name);
  worker?.ref();
  return worker ?? startThread(name);
}

/** Ends the threads that were not used. */
export async function endEarlyThreads(): Promise<void> {
  const left = [...early.values()];
  early.clear();
  await Promise.all(left.map(endThread));
}

/** Lets an unused thread end by itself: terminated while it loads the driver, it would abort the whole process. */
export async function endThread(worker: Worker): Promise<void> {
  worker.ref();
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  worker.postMessage("close");
  await ended;
}

function startThread(name: ThreadName): Worker {
  return new Worker(new URL(`./${name}-thread${EXTENSION}`, import.meta.url));
}
