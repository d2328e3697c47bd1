import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { type Clock, createSystemClock } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import type { Store } from "../store.ts";
import type { Commands } from "./commands.ts";
import { makeDurableDirectory } from "./durable-directory.ts";
import { createDamages } from "./damages.ts";
import { BATCH_LIMITS } from "../commit/batch.ts";
import { createGroupCommit } from "../commit/group-commit.ts";
import type { Queries } from "./queries.ts";
import { openLocally, openThreads } from "./threads.ts";

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
  if (doubt !== undefined) damages.note(doubt);
  const clock = createClock(lastKnownNow);
  const { onFatal, onFault, onCommit } = options;
  const commits = createGroupCommit({ port: writer, clock, onFatal, onFault, onCommit, onDamage: damages.note });
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
  const readDamaged = read("reads", "listDamagedDeliveries");
  const writeRecords = written("records", "write", "noteStates");

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
      ...written("events", "fanOut", "noteRequestReplay", "eraseBody", "settleMessage", "reopenByMessage"),
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
      noteStates: writeRecords.noteStates,
      ...read("records", "load", "changesSince", "find", "list", "listVersions", "findVersion", "findMark"),
    },

    reads: {
      ...read("reads", "findEvent", "findMessage", "loadEvent", "listEvents", "findEventSpan"),
      ...read("reads", "findDelivery", "listAttempts", "listDeliveries", "listDeadLetters"),
      ...read("reads", "groupDeadLetters", "walk", "countReopened"),
      ...read("reads", "listRequests", "findRequest", "loadRequestBody"),
      ...read("reads", "loadCounters", "findImbalance", "loadTenantUsage", "loadAttemptStats", "loadReusableBytes"),
      ...read("reads", "findLogEnd", "readLog"),
      ...read("reads", "findOldestOpen", "countBlockedKeys"),
      async listDamages() {
        return [...(await readDamaged.listDamagedDeliveries()), ...damages.list()];
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

/** Creates the methods of these names, each carried out by `call`. */
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
