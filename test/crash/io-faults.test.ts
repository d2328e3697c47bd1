import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { checkAccounts, describeViolations, type Violation } from "../support/accounting.ts";
import type { BrokenPromises } from "../support/broken-promises.mjs";
import { collectGarbage } from "../support/collect-garbage.ts";
import { databaseOf, startGatewayProcess, writeGatewayFolder, type Ended } from "../support/gateway-process.ts";
import { faultCommand, readFaultTrace, type FaultTrace, type IoFault } from "../support/io-faults.ts";
import { sendLoad, type SentWebhook } from "../support/load.ts";
import { PROOF_SIZE, sized, timeLimit } from "../support/proof-size.ts";
import { openRecordingSink, type RecordingSink } from "../support/recording-sink.ts";
import { count, report } from "../support/report.ts";
import { readStoreFacts } from "../support/store-facts.ts";
import { requireStrace, untilTraced } from "../support/strace.ts";

/** In all, over the kinds; without a number every call of a run is made to fail. */
const FAULTS = sized({ short: 6, middle: 200, long: undefined });
const HAS_ALL_KINDS = PROOF_SIZE !== "short";
const AT_ONCE = 2;
/** Most writes of a short run make the empty database, or end it: where few calls are picked, most are of events. */
const OPTIONS: RunOptions = PROOF_SIZE === "short" ? { isSecondStart: true, maxEvents: 60 } : {};
/** Of the time that the same gateway takes to listen: about a second on a machine that does nothing else. */
const MAX_EXIT_PER_START = 1;

const root = mkdtempSync(join(tmpdir(), "posthorn-faults-"));
let sink: RecordingSink;
let runs = 0;
beforeAll(async () => {
  sink = await openRecordingSink();
});
afterAll(async () => {
  await sink.close();
  await collectGarbage();
  rmSync(root, { recursive: true, force: true });
});

interface RunOptions {
  broken?: BrokenPromises;
  /** Only the calls of a later start are made to fail. */
  isSecondStart?: boolean;
  maxEvents?: number;
  minBytes?: number;
}

interface Run {
  fault: IoFault | undefined;
  isListening: boolean;
  startS: number;
  sent: readonly SentWebhook[];
  ended: Ended;
  trace: FaultTrace;
  violations: readonly Violation[];
}

/** From an empty folder to an orderly end, with one fault on the way; then a start on a disk that is well again. */
async function runWithFault(fault: IoFault | undefined, options: RunOptions = {}): Promise<Run> {
  const { broken, isSecondStart = false, maxEvents = 8, minBytes } = options;
  const folder = join(root, `run-${++runs}`);
  const subscription = `run-${runs}`;
  writeGatewayFolder(folder, [{ name: subscription, url: sink.urlOf(subscription) }]);
  if (isSecondStart) await startOnce(folder);
  const traceFile = join(folder, "trace");
  const startedAt = performance.now();
  const gateway = startGatewayProcess({ folder, broken, tracer: faultCommand(folder, traceFile, fault) });
  const sent: SentWebhook[] = [];
  const url = await gateway.ready.catch(() => undefined);
  const startS = (performance.now() - startedAt) / 1000;
  if (url !== undefined) {
    await sendLoad({ url, connections: 2, maxEvents, minBytes, maxBytes: (minBytes ?? 0) + 1000, ledger: sent });
    await gateway.kill("SIGTERM");
  }
  const ended = await gateway.ended;
  await untilTraced(traceFile, gateway.pid);
  const trace = readFaultTrace(traceFile);
  const violations = await checkAfterRestart(folder, subscription, sent, fault);
  rmSync(folder, { recursive: true, force: true });
  return { fault, isListening: url !== undefined, startS, sent, ended, trace, violations };
}

async function startOnce(folder: string): Promise<void> {
  const gateway = startGatewayProcess({ folder });
  await gateway.ready;
  await gateway.kill("SIGTERM");
}

async function checkAfterRestart(
  folder: string,
  subscription: string,
  sent: readonly SentWebhook[],
  fault: IoFault | undefined,
): Promise<Violation[]> {
  const file = databaseOf(folder);
  const store = await openSqliteStore({
    file,
    dedupeHorizonMs: 1000,
    thread: false,
    onFatal: () => undefined,
  });
  await store.lanes.recover([]);
  await store.close();
  return checkAccounts({
    // After an input or output error nobody knows; only a full disk is a refusal for certain.
    sent: sent.map((each) =>
      each.answer === "refused" && fault?.error === "EIO" ? { ...each, answer: "unknown" } : each,
    ),
    arrivals: sink.arrivals.filter((arrival) => arrival.subscription === subscription),
    ...(await readStoreFacts(file)),
    ordered: new Set(),
  });
}

function describeRun({ fault, sent, ended, violations }: Run): string {
  const answers = sent.map(({ status }) => status ?? "none").join(" ");
  return `${JSON.stringify(fault)}: ${answers}; code ${ended.code}; ${describeViolations(violations)}\n${ended.output}`;
}

function secondsToExit({ trace: { endedAt, failedAt = 0 } }: Run): number {
  return endedAt - failedAt;
}

/** The median, because one that ends or starts while others do much is later than it would be. */
function exitsPerStart(runs: readonly Run[]): number {
  const startS = median(runs.map((run) => run.startS));
  return median(runs.map(secondsToExit)) / startS;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** Of so many calls as there are of each kind, each once and for good; what one kind has too few of goes to the next. */
function pickFaults(counts: FaultTrace["counts"]): IoFault[] {
  let left = FAULTS ?? Number.POSITIVE_INFINITY;
  const byCount = KINDS.toSorted((a, b) => counts[a.call] - counts[b.call]);
  return byCount.flatMap((kind, index) => {
    const wanted = Math.ceil(left / (byCount.length - index) / 2);
    const numbers = pickNumbers(counts[kind.call], wanted);
    left -= 2 * numbers.length;
    return numbers.flatMap((number) => [false, true].map((forGood) => ({ ...kind, number, forGood })));
  });
}

function pickNumbers(total: number, wanted: number): number[] {
  if (total <= wanted) return Array.from({ length: total }, (_, i) => i + 1);
  // The later ones more: at first only the empty database is made.
  const picked = Array.from({ length: wanted }, (_, i) => Math.round(total * Math.sqrt((i + 0.5) / wanted)));
  return [...new Set(picked)];
}

const KINDS: readonly Pick<IoFault, "call" | "error">[] = [
  { call: "fsync", error: "EIO" },
  { call: "pwrite64", error: "EIO" },
  { call: "pwrite64", error: "ENOSPC" },
  ...(HAS_ALL_KINDS
    ? (["pread64", "ftruncate", "openat"] as const).map((call) => ({ call, error: "EIO" }) as const)
    : []),
];

async function runAll(faults: readonly IoFault[]): Promise<Run[]> {
  const done: Run[] = [];
  const rest = [...faults];
  const work = async () => {
    for (let fault = rest.shift(); fault !== undefined; fault = rest.shift())
      done.push(await runWithFault(fault, OPTIONS));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return done.filter(({ trace }) => trace.failedAt !== undefined);
}

/** The SQLite driver may abort a process that is about to end because of the fault: that is an end other than 0, too. */
function endsAsItMust({ code, output }: { code: number | null; output: string }): boolean {
  return code === 1 || (code === null && output.includes("Napi::Error"));
}

describe("every input and output of a short run failed, once and for good", () => {
  it(
    "loses nothing, acknowledges nothing that is not stored, and ends at once when a sync fails",
    async (context) => {
      requireStrace(context);
      const { trace, violations } = await runWithFault(undefined, OPTIONS);
      expect(violations).toEqual([]);
      const runs = await runAll(pickFaults(trace.counts));

      const bad = runs.filter((run) => run.violations.length > 0);
      const sent = runs.flatMap((run) => run.sent);
      const acknowledged = sent.filter(({ answer }) => answer === "acknowledged").length;
      const syncFailures = runs.filter(({ fault }) => fault?.call === "fsync");
      const lost = bad.flatMap((run) => run.violations).filter(({ kind }) => kind === "lost").length;
      const ratio = exitsPerStart(syncFailures);
      report(
        `R3 failed input and output: ${lost} of ${count(acknowledged)} acknowledged events lost in ${runs.length} runs ` +
          `(${trace.counts.fsync} syncs, ${trace.counts.pwrite64} writes in one); ` +
          `exit after a failed sync in ${ratio.toFixed(2)} × the time of a start (limit ${MAX_EXIT_PER_START}), ` +
          `the slowest after ${Math.round(Math.max(...syncFailures.map(secondsToExit)) * 1000)} ms`,
      );
      expect(bad.map(describeRun)).toEqual([]);
      // R5: our own trouble is 503 with Retry-After, or no answer at all.
      const answered = sent.filter(({ status }) => status !== undefined && status !== 202);
      expect(answered.filter(({ status, retryAfter }) => status !== 503 || retryAfter === undefined)).toEqual([]);
      const lingering = syncFailures.filter((run) => !endsAsItMust(run.ended));
      expect(lingering.map(describeRun)).toEqual([]);
      expect(ratio).toBeLessThanOrEqual(timeLimit(MAX_EXIT_PER_START));
      const writing = syncFailures.filter(({ isListening, trace }) => isListening && trace.writesAfter > 0);
      expect(writing.map(describeRun)).toEqual([]);
      // A full disk stops only what wants to be written.
      const full = runs.filter(({ fault, isListening }) => fault?.error === "ENOSPC" && isListening);
      expect(full.filter((run) => run.ended.code !== 0).map(describeRun)).toEqual([]);
      expect(full.some((run) => run.sent.some(({ status }) => status === 503))).toBe(true);
    },
    sized({ short: 600_000, middle: 3_600_000, long: 10_800_000 }),
  );

  it("does not start when the directory of its files cannot be synced", async (context) => {
    requireStrace(context);
    const fault = { call: "fsync", error: "EIO", number: 1, forGood: true, files: "directory" } as const;
    for (const isSecondStart of [false, true]) {
      const run = await runWithFault(fault, { isSecondStart });
      expect(run).toMatchObject({ isListening: false, ended: { code: 1 }, violations: [] });
    }
  });

  it("ends at once when the sync of a checkpoint fails", async (context) => {
    requireStrace(context);
    const fault = { call: "fsync", error: "EIO", number: 1, forGood: false, files: "database" } as const;
    const run = await runWithFault(fault, { isSecondStart: true, maxEvents: 500, minBytes: 15_000 });
    expect(describeViolations(run.violations)).toBe("");
    expect(run.ended.code).toBe(1);
    expect(run.trace.writesAfter).toBe(0);
    expect(run.sent.length).toBeLessThan(500);
  });

  it("is a test that can fail: an answer before the commit survives no failed write", async (context) => {
    requireStrace(context);
    let [lost, sent] = [0, 0];
    // Which write is the first of an event depends on what the start writes.
    for (let number = 8; lost === 0 && number < 80; number += 8) {
      const fault = { call: "pwrite64", error: "EIO", number, forGood: true } as const;
      const run = await runWithFault(fault, { broken: { answerBeforeCommit: true }, isSecondStart: true });
      lost += run.violations.filter(({ kind }) => kind === "lost").length;
      sent += run.sent.length;
    }
    report(`R3 control, answer before commit: ${lost} of ${sent} lost`);
    expect(lost).toBeGreaterThan(0);
  });
});
