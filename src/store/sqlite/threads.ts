import { Worker } from "node:worker_threads";
import type { BatchResult, WriteBatch } from "./batch.ts";
import { faultError, reportFault, type FaultReport } from "./faults.ts";
import type { BatchPort } from "./group-commit.ts";
import { createReadModels, type ReadQueries } from "./read-models.ts";
import { openReadConnection } from "./connection.ts";
import { fromResultMessage, toBatchMessage, type ResultMessage } from "./thread-messages.ts";
import { failAll, openWriter, type WriterInfo, type WriterOptions } from "./writer.ts";

/** The same file names in a source tree and in a build. */
const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

export interface WriterHandle extends BatchPort {
  readonly info: WriterInfo;
  close(): Promise<void>;
}

export type Read = <Name extends keyof ReadQueries>(
  name: Name,
  ...args: Parameters<ReadQueries[Name]>
) => Promise<ReturnType<ReadQueries[Name]>>;

export interface ReaderHandle {
  read: Read;
  close(): Promise<void>;
}

/** Without a thread everything happens in the caller's turn: for simulations in virtual time. */
export function openLocalWriter(options: WriterOptions): WriterHandle {
  const writer = openWriter(options);
  return {
    isApart: false,
    info: writer.info,
    post(batch, done) {
      const [result] = writer.commit([batch]);
      // Not before `post` returns: answers are given in the order of the batches, as they are with a thread.
      queueMicrotask(() => done(result as BatchResult));
    },
    async close() {
      writer.close();
    },
  };
}

export function openLocalReader(file: string): ReaderHandle {
  const db = openReadConnection(file);
  const reads = createReadModels(db);
  return {
    read: async (name, ...args) => (reads[name] as (...args: readonly unknown[]) => never)(...args),
    async close() {
      db.close();
    },
  };
}

export async function startWriterThread(options: WriterOptions): Promise<WriterHandle> {
  const worker = new Worker(new URL(`./writer-thread${EXTENSION}`, import.meta.url), { workerData: options });
  let waiting: { batch: WriteBatch; done: (result: BatchResult) => void }[] = [];
  let isClosing = false;
  let lost: FaultReport | undefined;
  const ended = whenEnded(worker);

  const info = await new Promise<WriterInfo>((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (message: { opened: WriterInfo } | { failed: FaultReport }) => {
      worker.off("error", reject);
      if ("failed" in message) reject(faultError(message.failed));
      else resolve(message.opened);
    });
  });
  function lose(failed: FaultReport): void {
    lost ??= failed;
    const left = waiting;
    waiting = [];
    for (const { batch, done } of left) done(failAll(batch, lost));
  }
  worker.on("error", (error) => lose({ ...reportFault(error), fault: "fatal" }));
  worker.on("exit", () => isClosing || lose({ fault: "fatal", message: "the writer thread ended" }));
  worker.on("message", (messages: readonly ResultMessage[] | "closed") => {
    if (messages === "closed") return;
    const answered = waiting.splice(0, messages.length);
    answered.forEach(({ batch, done }, i) => done(fromResultMessage(messages[i] as ResultMessage, batch)));
  });

  return {
    isApart: true,
    info,
    post(batch, done) {
      if (lost !== undefined) {
        const result = failAll(batch, lost);
        return queueMicrotask(() => done(result));
      }
      waiting.push({ batch, done });
      const { message, transfer } = toBatchMessage(batch);
      worker.postMessage(message, transfer);
    },
    async close() {
      isClosing = true;
      const lostBefore = lost;
      worker.postMessage("close");
      await ended;
      if (lost !== undefined && lost !== lostBefore) throw faultError(lost);
    },
  };
}

export function startReaderThread(file: string): ReaderHandle {
  const worker = new Worker(new URL(`./reader-thread${EXTENSION}`, import.meta.url), { workerData: { file } });
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: unknown) => void }>();
  const ended = whenEnded(worker);
  let lastId = 0;
  let lost: Error | undefined;

  function failWaiting(report: FaultReport): void {
    lost ??= faultError(report);
    for (const { reject } of waiting.values()) reject(lost);
    waiting.clear();
  }
  worker.on("error", (error) => failWaiting({ ...reportFault(error), fault: "fatal" }));
  worker.on("exit", () => failWaiting({ fault: "busy", message: "the reader is closed" }));
  worker.on("message", (answer: { id: number; value: never } | { id: number; failed: FaultReport }) => {
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ("failed" in answer) call?.reject(faultError(answer.failed));
    else call?.resolve(answer.value);
  });

  return {
    read: (name, ...args) =>
      new Promise((resolve, reject) => {
        if (lost !== undefined) return reject(lost);
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, name, args });
      }),
    async close() {
      worker.postMessage("close");
      await ended;
    },
  };
}

/** From the start: one that has already ended says nothing any more. */
function whenEnded(worker: Worker): Promise<void> {
  return new Promise((resolve) => worker.once("exit", () => resolve()));
}
