import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeViolations } from "../../support/accounting.ts";
import { openFaultyRuns, type FaultyRun, type FaultyRunOptions, type FaultyRuns } from "../../support/faulty-runs.ts";
import type { FaultTrace, IoFault } from "../../support/io-faults.ts";
import { PROOF_SIZE, sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { requireStrace } from "../../support/strace.ts";

/** In all, over the kinds; without a number every call of a run is made to fail. */
const FAULTS = sized({ short: 6, middle: 200, long: undefined });
const HAS_ALL_KINDS = PROOF_SIZE !== "short";
/** Most writes of a short run make the empty database, or end it: where few calls are picked, most are of events. */
const OPTIONS: FaultyRunOptions = PROOF_SIZE === "short" ? { isSecondStart: true, maxEvents: 60 } : {};

let faultyRuns: FaultyRuns;
beforeAll(async () => {
  faultyRuns = await openFaultyRuns();
});
afterAll(() => faultyRuns.close());

function describeRun({ fault, sent, ended, violations }: FaultyRun): string {
  const answers = sent.map(({ status }) => status ?? "none").join(" ");
  return `${JSON.stringify(fault)}: ${answers}; code ${ended.code}; ${describeViolations(violations)}\n${ended.output}`;
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

/** The SQLite driver may abort a process that is about to end because of the fault: it ends, but in no orderly way. */
function isAborted({ ended: { code, output } }: FaultyRun): boolean {
  return code === null && output.includes("Napi::Error");
}

describe("every input and output of a short run failed, once and for good", () => {
  it(
    "loses nothing, acknowledges nothing that is not stored, and ends when a sync fails, without another write",
    async (context) => {
      requireStrace(context);
      const { trace, violations } = await faultyRuns.run(undefined, OPTIONS);
      expect(violations).toEqual([]);
      const runs = await faultyRuns.runAll(pickFaults(trace.counts), OPTIONS);

      const bad = runs.filter((run) => run.violations.length > 0);
      const sent = runs.flatMap((run) => run.sent);
      const acknowledged = sent.filter(({ answer }) => answer === "acknowledged").length;
      const syncFailures = runs.filter(({ fault }) => fault?.call === "fsync");
      const lost = bad.flatMap((run) => run.violations).filter(({ kind }) => kind === "lost").length;
      const aborted = runs.filter(isAborted);
      report(
        `R3 failed input and output: ${lost} of ${count(acknowledged)} acknowledged events lost in ${runs.length} runs ` +
          `(${trace.counts.fsync} syncs, ${trace.counts.pwrite64} writes in one); ` +
          `${syncFailures.length} times a sync failed; ${aborted.length} ended in an abort of the driver`,
      );
      expect(bad.map(describeRun)).toEqual([]);
      // R5: our own trouble is 503 with Retry-After, or no answer at all.
      const answered = sent.filter(({ status }) => status !== undefined && status !== 202);
      expect(answered.filter(({ status, retryAfter }) => status !== 503 || retryAfter === undefined)).toEqual([]);
      expect(syncFailures.length).toBeGreaterThan(0);
      const lingering = syncFailures.filter((run) => run.ended.code !== 1 && !isAborted(run));
      expect(lingering.map(describeRun)).toEqual([]);
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
      const run = await faultyRuns.run(fault, { isSecondStart });
      expect(run).toMatchObject({ isListening: false, ended: { code: 1 }, violations: [] });
    }
  });

  it("ends at once when the sync of a checkpoint fails", async (context) => {
    requireStrace(context);
    const fault = { call: "fsync", error: "EIO", number: 1, forGood: false, files: "database" } as const;
    const run = await faultyRuns.run(fault, { isSecondStart: true, maxEvents: 500, minBytes: 15_000 });
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
      const run = await faultyRuns.run(fault, { broken: { answerBeforeCommit: true }, isSecondStart: true });
      lost += run.violations.filter(({ kind }) => kind === "lost").length;
      sent += run.sent.length;
    }
    report(`R3 control, answer before commit: ${lost} of ${sent} lost`);
    expect(lost).toBeGreaterThan(0);
  });
});
