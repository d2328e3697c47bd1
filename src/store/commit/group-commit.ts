import type { Done, Duplicate, Stored } from "../../model/accepted.ts";
import type { Clock } from "../../model/clock.ts";
import type { PosthornError } from "../../model/errors.ts";
import type { LoggedRequest } from "../port/event-log.ts";
import type { ClaimRequest, ClaimResult, Settled, Settlement } from "../port/lanes.ts";
import {
  BATCH_LIMITS,
  failAll,
  type AcceptItem,
  type BatchResult,
  type Command,
  type OrFault,
  type WriteBatch,
  faultError,
  type FaultReport,
} from "./batch.ts";

/** Rejected requests are only a log: when this many wait, new ones are dropped. */
const MAX_WAITING_REQUESTS = 1000;
const CLOSED: FaultReport = { fault: "busy", message: "The store is closed.", code: "shutting_down", retryAfterS: 5 };

/** With this many events and an idle writer, the writer starts before the current turn of the event loop ends. */
const EARLY_ACCEPTS = 24;

/** More batches than this wait here, where new items can still join them. */
const MAX_POSTED = 8;

/** Commits batches in the order of posting, all waiting ones in one transaction, and answers in that order. */
export interface BatchPort {
  /** Whether it works in another thread and answers in a later turn. */
  readonly isApart: boolean;
  post(batch: WriteBatch, done: Done<BatchResult>): void;
  /** Called when it is lost, even if no batch waits for an answer. */
  onLost?(listener: (report: FaultReport) => void): void;
}

type Waiting<Item, Result> = { item: Item; done: Done<OrFault<Result>> };

export interface GroupCommitOptions {
  port: BatchPort;
  clock: Pick<Clock, "now" | "wall">;
  onFatal: (error: PosthornError) => void;
  /** Called when the callback of one write has thrown; those of the others are called all the same. */
  onFault?: ((error: unknown) => void) | undefined;
  onCommit?: ((rows: number, tookMs: number) => void) | undefined;
  /** Called for stored data that a batch found to be damaged. */
  onDamage?: ((description: string) => void) | undefined;
}

/**
 * All writes of one turn of the event loop leave as one batch. The writer puts all batches that came while it was busy
 * into one transaction: one fsync for all of them, and no waiting in between.
 */
export function createGroupCommit(options: GroupCommitOptions) {
  const { port, clock, onFatal, onFault = throwLater, onCommit, onDamage } = options;
  let settles: Waiting<Settlement, Settled>[] = [];
  let accepts: Waiting<AcceptItem, Stored | Duplicate>[] = [];
  let commands: Waiting<Command, { value: unknown }>[] = [];
  let claims: Waiting<ClaimRequest, ClaimResult>[] = [];
  let requests: LoggedRequest[] = [];
  let requestBytes = 0;
  let posted = 0;
  let isScheduled = false;
  let closedBy: FaultReport | undefined;
  let onIdle: (() => void) | undefined;

  function add<Item, Result>(list: Waiting<Item, Result>[], item: Item, done: Done<OrFault<Result>>): void {
    if (closedBy !== undefined) return call(done, { failed: closedBy });
    list.push({ item, done });
    schedule();
  }

  function call<Result>(done: Done<Result>, result: Result): void {
    try {
      done(result);
    } catch (error) {
      onFault(error);
    }
  }

  function hand<Item, Result>(waiting: readonly Waiting<Item, Result>[], results: readonly OrFault<Result>[]): void {
    waiting.forEach(({ done }, i) => call(done, results[i] as OrFault<Result>));
  }

  function schedule(): void {
    if (isScheduled || posted >= MAX_POSTED) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      post();
    });
  }

  function hasWork(): boolean {
    return settles.length + accepts.length + commands.length + claims.length + requests.length > 0;
  }

  function post(): void {
    while (hasWork() && posted < MAX_POSTED) {
      posted++;
      const taken = take();
      port.post(taken.batch, (result) => {
        posted--;
        onCommit?.(taken.batch.rows, clock.now() - taken.batch.at.now);
        for (const damage of result.damages ?? []) onDamage?.(damage);
        const isNews = !isLost();
        if (result.fatal !== undefined) stop(result.fatal);
        // Post the waiting batches before the callbacks of this one run, so that the disk does not wait for them.
        else post();
        taken.answer(result);
        if (result.fatal !== undefined && isNews) onFatal(faultError(result.fatal));
        if (isIdle()) onIdle?.();
      });
    }
  }

  function isIdle(): boolean {
    return posted === 0 && !hasWork();
  }

  function take() {
    const budget = { rows: BATCH_LIMITS.maxRows, bytes: BATCH_LIMITS.maxBytes };
    const takenSettles = spend(settles, budget, costOfSettle);
    const takenAccepts = spend(accepts, budget, costOfAccept);
    const takenCommands = spend(commands, budget, costOfCommand);
    settles = settles.slice(takenSettles.length);
    accepts = accepts.slice(takenAccepts.length);
    commands = commands.slice(takenCommands.length);
    const [takenClaims, takenRequests] = [claims, requests];
    claims = [];
    requests = [];
    requestBytes = 0;
    return {
      batch: {
        at: { now: clock.now(), wall: clock.wall() },
        rows: BATCH_LIMITS.maxRows - budget.rows,
        settles: takenSettles.map(({ item }) => item),
        accepts: takenAccepts.map(({ item }) => item),
        commands: takenCommands.map(({ item }) => item),
        claims: takenClaims.map(({ item }) => item),
        requests: takenRequests,
      },
      answer(result: BatchResult) {
        hand(takenAccepts, result.accepts);
        hand(takenSettles, result.settles);
        hand(takenCommands, result.commands);
        hand(takenClaims, result.claims);
      },
    };
  }

  function stop(report: FaultReport): void {
    closedBy = report;
    while (hasWork()) {
      const rest = take();
      rest.answer(failAll(rest.batch, report));
    }
  }

  /**
   * A turn may bring an event from every connection. If they all left at its end, writer and event loop would take
   * turns waiting for each other. Not with a command, which may depend on the events accepted before it.
   */
  function beginEarly(): void {
    if (port.isApart && posted === 0 && accepts.length >= EARLY_ACCEPTS && commands.length === 0) post();
  }

  /** All following batches fail as well; the fault is reported once. */
  function isLost(): boolean {
    return closedBy?.fault === "fatal";
  }

  port.onLost?.((report) => {
    if (isLost()) return;
    stop(report);
    onFatal(faultError(report));
  });

  return {
    /** Whether a disk fault has ended it. */
    get isLost(): boolean {
      return isLost();
    },
    accept(item: AcceptItem, done: Done<OrFault<Stored | Duplicate>>): void {
      beginEarly();
      add(accepts, item, done);
    },
    settle: (item: Settlement, done: Done<OrFault<Settled>>): void => add(settles, item, done),
    claim: (item: ClaimRequest, done: Done<OrFault<ClaimResult>>): void => add(claims, item, done),
    command: (command: Command): Promise<unknown> =>
      new Promise((resolve, reject) => {
        add(commands, command, (result) =>
          "failed" in result ? reject(faultError(result.failed)) : resolve(result.value),
        );
      }),
    logRequest(request: LoggedRequest): void {
      if (closedBy !== undefined || requests.length >= MAX_WAITING_REQUESTS) return;
      if (requestBytes >= BATCH_LIMITS.maxBytes) return;
      requestBytes += request.facts.length + (request.body?.length ?? 0);
      requests.push(request);
      schedule();
    },
    /** Rejects new writes, and resolves when all earlier ones are on disk. */
    async drain(): Promise<void> {
      closedBy ??= CLOSED;
      await new Promise<void>((resolve) => {
        onIdle = resolve;
        if (isIdle()) resolve();
      });
    },
  };
}

type Cost = readonly [rows: number, bytes: number];

function costOfSettle({ attempt }: Settlement): Cost {
  return [2, 1024 + (attempt.record.answer?.length ?? 0)];
}

function costOfAccept({ event, deliveries }: AcceptItem): Cost {
  return [1 + deliveries.length, event.body.length + (event.request?.length ?? 0) + (event.details?.length ?? 0)];
}

/** Each element of a list argument counts as a row: the deliveries of a fan-out, or released deliveries. */
function costOfCommand({ args }: Command): Cost {
  return [args.reduce((rows: number, arg) => rows + (Array.isArray(arg) ? arg.length : 0), 1), 0];
}

function spend<Item, Result>(
  list: readonly Waiting<Item, Result>[],
  budget: { rows: number; bytes: number },
  cost: (item: Item) => Cost,
): Waiting<Item, Result>[] {
  const taken: Waiting<Item, Result>[] = [];
  for (const waiting of list) {
    const [rows, bytes] = cost(waiting.item);
    // One item is always taken, however large; otherwise it would wait for ever.
    if (taken.length > 0 && (budget.rows < rows || budget.bytes < bytes)) break;
    budget.rows -= rows;
    budget.bytes -= bytes;
    taken.push(waiting);
  }
  return taken;
}

/** Where nobody listens, it is an error of the process. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
