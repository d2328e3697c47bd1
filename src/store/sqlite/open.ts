import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { PosthornError } from "../../domain/errors.ts";
import type { AcceptResult, Store } from "../store.ts";
import type { Commands } from "./commands.ts";
import { makeDurableDirectory } from "./durable-directory.ts";
import { faultError } from "../commit/faults.ts";
import { BATCH_LIMITS, type Stored } from "../commit/batch.ts";
import { createGroupCommit } from "../commit/group-commit.ts";
import { openLocally, openThreads, type Read } from "./threads.ts";

export interface SqliteStoreOptions {
  file: string;
  wall: () => number;
  dedupeHorizonMs: number;
  /** The disk failed: whether the last batch is on it is unknown. The process must end. */
  onFatal: (error: PosthornError) => void;
  /** Default true. Without threads everything runs in the caller's turn, for simulations. */
  thread?: boolean | undefined;
  /** For tests only. */
  synchronous?: "FULL" | "NORMAL" | "OFF" | undefined;
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { file, thread = true } = options;
  makeDurableDirectory(dirname(file));
  const writerOptions = {
    file,
    synchronous: options.synchronous,
    dedupeHorizonMs: options.dedupeHorizonMs,
    hashKeyHex: randomBytes(32).toString("hex"),
  };
  const { writer, holder, reader } = thread ? await openThreads(writerOptions) : openLocally(writerOptions);
  const commits = createGroupCommit({ port: writer, wall: options.wall, onFatal: options.onFatal });

  const write = <Name extends keyof Commands>(name: Name, ...args: Parameters<Commands[Name]>) =>
    commits.command({ name, args }) as Promise<ReturnType<Commands[Name]>>;
  let closing: Promise<void> | undefined;
  const read: Read = (name, ...args) =>
    closing === undefined
      ? reader.read(name, ...args)
      : Promise.reject(new PosthornError("shutting_down", "The store is closed.", { retryAfterS: 5 }));

  async function close(): Promise<void> {
    await commits.drain();
    await reader.close();
    // Where its last checkpoint fails, the connection that holds stays open; so it does after any fault of the disk.
    await writer.close();
    if (!commits.isLost) holder?.close();
  }

  return {
    info: { driver: "sqlite", version: writer.info.version, syncMode: writer.info.syncMode },
    limits: BATCH_LIMITS,
    lastKnownNow: writer.info.lastKnownNow,

    accept(event, deliveries, done) {
      commits.accept({ event, deliveries }, (result) => {
        done("failed" in result ? { kind: "failed", error: faultError(result.failed) } : toAcceptResult(result));
      });
    },
    claim(request, done) {
      commits.claim(request, (result) =>
        done("failed" in result ? { claimed: [], expired: 0, nextDueAt: request.now + 1000 } : result),
      );
    },
    settle(settlement, done) {
      commits.settle(settlement, (result) => done("failed" in result ? { failed: faultError(result.failed) } : result));
    },
    logRequest: commits.logRequest,

    fanOut: (eventSeq, deliveries, cursor) => write("fanOut", eventSeq, deliveries, cursor, options.wall()),
    loadUnfinishedFanOuts: () => read("loadUnfinishedFanOuts"),
    release: (deliveries) => write("release", deliveries),
    recover: (now, sent) => write("recover", now, options.wall(), sent),
    loadLanes: () => write("loadLanes"),
    expire: (now) => write("expire", now),
    noteNow: (now) => write("noteNow", now),

    retryDelivery: (key, now) => write("retryDelivery", key, now),
    cancelDelivery: (key, now) => write("cancelDelivery", key, now),
    replay: (key, replayOptions, now) => write("replay", key, replayOptions, now),
    cancelLane: (seq, now) => write("cancelLane", seq, now),
    skipHeld: (seq, upTo, now) => write("skipHeld", seq, upTo, now),
    giveUpHeld: (seq, dueBefore, now) => write("giveUpHeld", seq, dueBefore, now),
    makeRetriesDue: (seq, now, which) => write("makeRetriesDue", seq, now, which),
    skipDeadHeads: (seq, now) => write("skipDeadHeads", seq, now),

    noteRequestReplay: (id, replay) => write("noteRequestReplay", id, replay),
    loadTenantUsage: (ids) => read("loadTenantUsage", ids),
    loadOrSave: (name, value) => write("loadOrSave", name, value),

    loadRecords: (kinds) => read("loadRecords", kinds),
    changesSince: (version, kinds) => read("changesSince", version, kinds),
    findRecord: (key) => read("findRecord", key),
    listRecords: (kind, page) => read("listRecords", kind, page),
    async write({ changes, ...rest }) {
      const result = await write("writeRecords", changes, rest);
      return result.kind === "refused" ? result : { ...result, events: result.events.map(toAcceptResult) };
    },
    noteRecordStates: (states) => write("noteRecordStates", states),
    listRecordVersions: (series, page) => read("listRecordVersions", series, page),
    findRecordVersion: (series, number) => read("findRecordVersion", series, number),
    noteRecordVersion: (series, number, state) => write("noteRecordVersion", series, number, state),

    loadJobs: () => read("loadJobs"),
    scheduleJob: (name, at) => write("scheduleJob", name, at),
    startJobRun: (start) => write("startJobRun", start),
    renewJobRun: (name, runner, leaseUntil) => write("renewJobRun", name, runner, leaseUntil),
    endJobRun: (end) => write("endJobRun", end),

    addAttemptStats: (deltas) => write("addAttemptStats", deltas),
    loadAttemptStats: (query) => read("loadAttemptStats", query),
    pruneAttemptStats: (before) => write("pruneAttemptStats", before),
    findIdempotencyKey: (scope, key) => read("findIdempotencyKey", scope, key),
    pruneIdempotencyKeys: (before) => write("pruneIdempotencyKeys", before),
    pruneEvents: (step) => write("pruneEvents", step),
    pruneRequests: (step) => write("pruneRequests", step),
    loadEventSpan: (since, until) => read("loadEventSpan", since, until),
    loadReusableBytes: () => read("loadReusableBytes"),
    insertReplay: (replay) => write("insertReplay", replay),
    setReplayStatus: (id, status, change) => write("setReplayStatus", id, status, change),
    stepReplay: (step, items) => write("stepReplay", step, items),
    findReplay: (id) => read("findReplay", id),
    listReplays: (filter, page) => read("listReplays", filter, page),
    loadRunningReplays: () => read("loadRunningReplays"),
    walkReplay: (walk, after, page) => read("walkReplay", walk, after, page),
    countOpenReplays: (seqs, limit) => read("countOpenReplays", seqs, limit),
    findEventRange: (since, until) => read("findEventRange", since, until),
    loadEventFacts: (eventSeq) => read("loadEventFacts", eventSeq),

    findEvent: (id, tenantId) => read("findEvent", id, tenantId),
    loadBody: (eventSeq) => read("loadBody", eventSeq),
    loadRequest: (eventSeq) => read("loadRequest", eventSeq),
    listEvents: (filter, page) => read("listEvents", filter, page),
    listDeliveriesOfEvent: (eventSeq) => read("listDeliveriesOfEvent", eventSeq),
    findDelivery: (key) => read("findDelivery", key),
    listAttempts: (key) => read("listAttempts", key),
    listDeliveries: (filter, page) => read("listDeliveries", filter, page),
    listDeadLetters: (filter, page) => read("listDeadLetters", filter, page),
    listRequests: (source, page, tenantId, filter) => read("listRequests", source, page, tenantId, filter),
    findRequest: (id) => read("findRequest", id),
    loadRequestBody: (id) => read("loadRequestBody", id),
    loadCounters: () => read("loadCounters"),
    countOpenDeliveries: () => read("countOpenDeliveries"),
    findImbalance: () => read("findImbalance"),

    close: () => (closing ??= close()),
  };
}

function toAcceptResult(stored: Stored): AcceptResult {
  return "duplicateOf" in stored
    ? { kind: "duplicate", eventId: stored.duplicateOf, isReplay: stored.isReplay }
    : { kind: "stored", eventSeq: stored.eventSeq, claimed: stored.claimed };
}
