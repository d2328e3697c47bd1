import type { Worker } from "node:worker_threads";
import { failAll, type BatchResult, type WriteBatch } from "../commit/batch.ts";
import { faultError, type FaultReport } from "../commit/faults.ts";
import type { BatchPort } from "../commit/group-commit.ts";
import { reportFault } from "./faults.ts";
import { createQueries, runQuery } from "./queries.ts";
import { holdOpen, openReadConnection } from "./connection.ts";
import { endThread, takeThread } from "./thread-starts.ts";
import { fromResultMessage, toBatchMessage, type ResultMessage } from "../commit/thread-messages.ts";
import { openWriter, type WriterInfo, type WriterOptions } from "./writer.ts";

export interface WriterHandle extends BatchPort {
  readonly info: WriterInfo;
  close(): Promise<void>;
}

export interface ReaderHandle {
  /** Calls a query by port and method name. */
  read(port: string, name: string, args: readonly unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface StoreSides {
  writer: WriterHandle;
  reader: ReaderHandle;
  /** Closed last; see `holdOpen`. */
  holder: { close(): void } | undefined;
}

/** Without threads everything happens in the caller's turn, for simulations in virtual time. */
export function openLocally(options: WriterOptions): StoreSides {
  return { writer: openLocalWriter(options), reader: openLocalReader(options.file), holder: undefined };
}

export async function openThreads(options: WriterOptions): Promise<StoreSides> {
  // Starts in parallel with the writer, and opens the database that the writer has created.
  const readerThread = takeThread("reader");
  try {
    const writer = await startWriterThread(takeThread("writer"), options);
    const holder = holdOpen(options.file);
    return { writer, reader: startReaderThread(readerThread, options.file), holder };
  } catch (error) {
    await endThread(readerThread);
    throw error;
  }
}

function openLocalWriter(options: WriterOptions): WriterHandle {
  const writer = openWriter(options);
  return {
    isApart: false,
    info: writer.info,
    post(batch, done) {
      const result = writer.commit([batch])[0] as BatchResult;
      result.fatal ??= writer.checkpoint();
      // Not before `post` returns: answers come in the order of the batches, as with a thread.
      queueMicrotask(() => done(result));
    },
    async close() {
      writer.close();
    },
  };
}

function openLocalReader(file: string): ReaderHandle {
  const db = openReadConnection(file);
  const queries = createQueries(db);
  return {
    async read(port, name, args) {
      try {
        return runQuery(queries, port, name, args);
      } catch (error) {
        throw faultError(reportFault(error));
      }
    },
    async close() {
      db.close();
    },
  };
}

async function startWriterThread(worker: Worker, options: WriterOptions): Promise<WriterHandle> {
  let waiting: { batch: WriteBatch; done: (result: BatchResult) => void }[] = [];
  let isClosing = false;
  let lost: FaultReport | undefined;
  let onLost: ((report: FaultReport) => void) | undefined;
  const ended = whenEnded(worker);

  const info = await new Promise<WriterInfo>((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (message: { opened: WriterInfo } | { failed: FaultReport }) => {
      worker.off("error", reject);
      if ("failed" in message) reject(faultError(message.failed));
      else resolve(message.opened);
    });
    worker.postMessage(options);
  });
  function lose(failed: FaultReport): void {
    lost ??= failed;
    const left = waiting;
    waiting = [];
    for (const { batch, done } of left) done(failAll(batch, lost));
    onLost?.(lost);
  }
  worker.on("error", (error) => lose({ ...reportFault(error), fault: "fatal" }));
  worker.on("exit", () => isClosing || lose({ fault: "fatal", message: "the writer thread ended" }));
  worker.on("message", (messages: readonly ResultMessage[] | "closed" | { lost: FaultReport }) => {
    if (messages === "closed") return;
    if ("lost" in messages) return lose(messages.lost);
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
    onLost(listener) {
      onLost = listener;
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

function startReaderThread(worker: Worker, file: string): ReaderHandle {
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
  worker.postMessage(file);

  return {
    read: (port, name, args) =>
      new Promise((resolve, reject) => {
        if (lost !== undefined) return reject(lost);
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, port, name, args });
      }),
    async close() {
      worker.postMessage("close");
      await ended;
    },
  };
}

/** Registered at the start, because a thread that has already ended emits no event. */
function whenEnded(worker: Worker): Promise<void> {
  return new Promise((resolve) => worker.once("exit", () => resolve()));
}
