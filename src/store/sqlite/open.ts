import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { type Clock, createSystemClock } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import type { Store } from "../store.ts";
import type { Commands } from "./commands.ts";
import { makeDurableDirectory } from "./data-dir.ts";
import {
  BATCH_LIMITS,
  failAll,
  type BatchResult,
  type WriteBatch,
  faultError,
  type FaultReport,
} from "../commit/batch.ts";
import { createGroupCommit, type BatchPort } from "../commit/group-commit.ts";
import { type Queries, createQueries, runQuery } from "./queries.ts";
import type { Worker } from "node:worker_threads";
import { reportFault } from "./faults.ts";
import { holdOpen, openReadConnection } from "./connection.ts";
import { endThread, takeThread } from "./thread-starts.ts";
import { fromResultMessage, toBatchMessage, type ResultMessage } from "../commit/thread-messages.ts";
import { openWriter, type WriterInfo, type WriterOptions } from "./writer.ts";
import type { Damage } from "../port/reads.ts";

export interface SqliteStoreOptions {
  file: string;
  /** Creates the clock, which continues from the time that the store has saved; the system clock by default. */
  createClock?: ((lastKnownNow: number) => Clock) | undefined;
  dedupeHorizonMs: number;
  /** The disk failed, and it is unknown whether the last batch was written. The process must end. */
  onFatal: (error: PosthornError) => void;
  /** Called when the callback of a write has thrown. */
  onFault?: ((error: unknown) => void) | undefined;
  /** Called when a batch was answered: roughly how many rows it changed, and how long it took. */
  onCommit?: ((rows: number, tookMs: number) => void) | undefined;
  /** True by default. Without threads everything runs in the caller's turn, for simulations. */
  thread?: boolean | undefined;
  /** 32 bytes in hex from which the key of the audit log is made. Without them its head is not signed. */
  auditSeedHex?: string | undefined;
  /** For tests only. */
  synchronous?: "FULL" | "NORMAL" | "OFF" | undefined;
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { file, createClock = continueSystemClock, thread = true } = options;
  makeDurableDirectory(dirname(file));
  const writerOptions = {
    file,
    synchronous: options.synchronous,
    dedupeHorizonMs: options.dedupeHorizonMs,
    auditSeedHex: options.auditSeedHex,
    hashKeyHex: randomBytes(32).toString("hex"),
    storeId: `str_${randomBytes(16).toString("hex")}`,
  };
  const { writer, holder, reader } = thread ? await openThreads(writerOptions) : openLocally(writerOptions);
  const { storeId, version, syncMode, lastKnownNow, doubt } = writer.info;
  const damages = createDamages();
  if (doubt !== undefined) damages.record(doubt);
  const clock = createClock(lastKnownNow);
  const { onFatal, onFault, onCommit } = options;
  const commits = createGroupCommit({ port: writer, clock, onFatal, onFault, onCommit, onDamage: damages.record });
  let closing: Promise<void> | undefined;

  /** Methods of a port that write, in the group commit. */
  const written = <Port extends keyof Commands, Name extends keyof Commands[Port] & string>(
    port: Port,
    ...names: readonly Name[]
  ) => byName<Commands[Port], Name>(names, (name, args) => damages.watch(commits.command({ port, name, args })));
  /** Methods of a port that only read. */
  const read = <Port extends keyof Queries, Name extends keyof Queries[Port] & string>(
    port: Port,
    ...names: readonly Name[]
  ) =>
    byName<Queries[Port], Name>(names, (name, args) =>
      closing === undefined
        ? damages.watch(reader.read(port, name, args))
        : Promise.reject(new PosthornError("shutting_down", "The store is closed.", { retryAfterS: 5 })),
    );
  const { listDamages } = read("reads", "listDamages");
  const writeRecords = written("records", "write", "recordStates");

  async function close(): Promise<void> {
    await commits.drain();
    await reader.close();
    // If the last checkpoint fails, the holding connection stays open, as after any disk fault.
    await writer.close();
    if (!commits.isLost) holder?.close();
  }

  return {
    info: { id: storeId, driver: "sqlite", version, syncMode },
    limits: BATCH_LIMITS,
    clock,

    events: {
      accept(event, deliveries, done) {
        commits.accept({ event, deliveries }, (result) => {
          if (!("failed" in result)) return done(result);
          done({ kind: "rejected", stage: "accept", error: damages.toError(result.failed) });
        });
      },
      logRequest: commits.logRequest,
      ...written("events", "fanOut", "recordRequestReplay", "eraseBody", "settleMessage", "reopenByMessage"),
      ...read("events", "loadUnfinishedFanOuts"),
    },

    lanes: {
      claim(request, done) {
        commits.claim(request, (result) => {
          if (!("failed" in result)) return done(result);
          damages.toError(result.failed);
          done({ claimed: [], expired: 0, nextDueAt: clock.now() + 1000 });
        });
      },
      settle(settlement, done) {
        commits.settle(settlement, (result) =>
          done("failed" in result ? { failed: damages.toError(result.failed) } : result),
        );
      },
      ...written("lanes", "release", "recover", "load", "expire", "change", "changeLane"),
    },

    records: {
      write: ({ changes, ...rest }) => writeRecords.write(changes, rest),
      recordStates: writeRecords.recordStates,
      ...read("records", "load", "changesSince", "find", "list", "listVersions", "findVersion", "findMark"),
    },

    reads: {
      ...read("reads", "findEvent", "findMessage", "loadEvent", "listEvents", "findEventSpan"),
      ...read("reads", "findDelivery", "listAttempts", "listDeliveries", "listDeadLetters"),
      ...read("reads", "groupDeadLetters", "walk", "countReopened"),
      ...read("reads", "listRequests", "findRequest", "loadRequestBody", "findLogEnd", "readLog"),
      ...read("reads", "loadCounters", "loadDeliveryCounters", "findImbalance", "loadTenantUsage"),
      ...read("reads", "loadAttemptStats", "loadReusableBytes", "findOldestOpen", "countBlockedKeys"),
      async listDamages() {
        return [...(await listDamages()), ...damages.list()];
      },
    },

    jobs: {
      ...written("jobs", "schedule", "start", "renew", "end"),
      ...written("jobs", "setReplayStatus", "stepReplay", "addAttemptStats", "prune"),
      ...written("jobs", "beginErasure", "stepErasure"),
      ...read("jobs", "load", "findReplay", "loadReplayResults", "listReplays", "findErasure", "listErasing"),
    },

    audit: {
      ...written("audit", "note", "begin"),
      ...read("audit", "list", "read"),
    },

    close: () => (closing ??= close()),
  };
}

type Method = (...args: never[]) => unknown;
type Carried<Methods, Name extends keyof Methods> = {
  [N in Name]: Methods[N] extends Method ? (...args: Parameters<Methods[N]>) => Promise<ReturnType<Methods[N]>> : never;
};

function byName<Methods, Name extends keyof Methods & string>(
  names: readonly Name[],
  call: (name: Name, args: readonly unknown[]) => Promise<unknown>,
): Carried<Methods, Name> {
  const entries = names.map((name) => [name, (...args: readonly unknown[]) => call(name, args)]);
  return Object.fromEntries(entries) as Carried<Methods, Name>;
}

function continueSystemClock(lastKnownNow: number): Clock {
  return createSystemClock({ startAt: Math.max(Date.now(), lastKnownNow) });
}

interface WriterHandle extends BatchPort {
  readonly info: WriterInfo;
  close(): Promise<void>;
}

type ReaderHandle = ReturnType<typeof startReaderThread>;

/** Without threads everything happens in the caller's turn, for simulations in virtual time. */
function openLocally(options: WriterOptions) {
  return { writer: openLocalWriter(options), reader: openLocalReader(options.file), holder: undefined };
}

/** The holder is closed last; see `holdOpen`. */
async function openThreads(options: WriterOptions) {
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
  worker.on("message", (messages: readonly ResultMessage[] | { lost: FaultReport }) => {
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

function startReaderThread(worker: Worker, file: string) {
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
    /** Calls a query by port and method name. */
    read: (port: string, name: string, args: readonly unknown[]): Promise<unknown> =>
      new Promise((resolve, reject) => {
        if (lost !== undefined) return reject(lost);
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, port, name, args });
      }),
    close(): Promise<void> {
      worker.postMessage("close");
      return ended;
    },
  };
}

/** Registered at the start, because a thread that has already ended emits no event. */
function whenEnded(worker: Worker): Promise<void> {
  return new Promise((resolve) => worker.once("exit", () => resolve()));
}

const MAX_KEPT = 100;

/** What was found to be damaged since the start. */
function createDamages() {
  const found = new Set<string>();

  function record(description: string): void {
    if (found.size < MAX_KEPT) found.add(description);
  }

  function recordError(error: unknown): void {
    const damage = error instanceof PosthornError ? error.details?.["damage"] : undefined;
    if (typeof damage === "string") record(damage);
  }

  return {
    record,
    async watch<T>(call: Promise<T>): Promise<T> {
      try {
        return await call;
      } catch (error) {
        recordError(error);
        throw error;
      }
    },
    /** The error for a write that failed; records the damage, if that is why. */
    toError(report: FaultReport): PosthornError {
      const error = faultError(report);
      recordError(error);
      return error;
    },
    list: (): readonly Damage[] => [...found].map((description) => ({ description })),
  };
}
