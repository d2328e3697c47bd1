import { Worker } from "node:worker_threads";

/** Named as their files: the same in a source tree and in a build. */
const NAMES = ["writer", "reader"] as const;
const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const early = new Map<StoreThread, Worker>();

export type StoreThread = (typeof NAMES)[number];

/**
 * A thread takes about as long to come up as all of the gateway's code to be loaded: started before, both happen at
 * once. They wait to be told what to open, and do not keep a process alive that opens nothing after all.
 */
export function startThreadsEarly(): void {
  for (const name of NAMES) {
    const worker = startThread(name);
    worker.unref();
    early.set(name, worker);
  }
}

/** A thread that waits for its first message, which tells it what to open. */
export function takeThread(name: StoreThread): Worker {
  const worker = early.get(name);
  early.delete(name);
  worker?.ref();
  return worker ?? startThread(name);
}

/** Ends those that were not taken. */
export async function endEarlyThreads(): Promise<void> {
  const left = [...early.values()];
  early.clear();
  await Promise.all(left.map(endThread));
}

/**
 * Lets a thread that was told nothing yet end by itself. Stopped from outside while it loads the driver, it would take
 * the whole process with it: the driver aborts.
 */
export async function endThread(worker: Worker): Promise<void> {
  worker.ref();
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  worker.postMessage("close");
  await ended;
}

function startThread(name: StoreThread): Worker {
  return new Worker(new URL(`./${name}-thread${EXTENSION}`, import.meta.url));
}
