import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { checkAccounts, type Violation } from "./accounting.ts";
import type { BrokenPromises } from "./broken-promises.mjs";
import { collectGarbage } from "./collect-garbage.ts";
import { databaseOf, startGatewayProcess, writeGatewayFolder, type Ended } from "./gateway-process.ts";
import { faultCommand, readFaultTrace, type FaultTrace, type IoFault } from "./io-faults.ts";
import { sendLoad, type SentWebhook } from "./load.ts";
import { openRecordingSink } from "../../src/cli/trial/sink.ts";
import { readStoreFacts } from "./store-facts.ts";
import { untilTraced } from "./strace.ts";

export interface FaultyRunOptions {
  broken?: BrokenPromises;
  /** Only the calls of a later start are made to fail. */
  isSecondStart?: boolean;
  maxEvents?: number;
  minBytes?: number;
}

export interface FaultyRun {
  fault: IoFault | undefined;
  isListening: boolean;
  startS: number;
  sent: readonly SentWebhook[];
  ended: Ended;
  trace: FaultTrace;
  violations: readonly Violation[];
}

export interface FaultyRuns {
  /** From an empty folder to an orderly end, with one fault on the way; then a start on a disk that is well again. */
  run(fault: IoFault | undefined, options?: FaultyRunOptions): Promise<FaultyRun>;
  /** Two at once: one that starts leaves the other most of a core. Those in which nothing failed are left out. */
  runAll(faults: readonly IoFault[], options?: FaultyRunOptions): Promise<FaultyRun[]>;
  close(): Promise<void>;
}

const AT_ONCE = 2;

export async function openFaultyRuns(): Promise<FaultyRuns> {
  const root = mkdtempSync(join(tmpdir(), "posthorn-faults-"));
  const sink = await openRecordingSink();
  let runs = 0;

  async function run(fault: IoFault | undefined, options: FaultyRunOptions = {}): Promise<FaultyRun> {
    const { broken, isSecondStart = false, maxEvents = 8, minBytes } = options;
    const subscription = `run-${++runs}`;
    const folder = join(root, subscription);
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
    const violations = await checkAfterRestart(databaseOf(folder), subscription, sent, fault);
    rmSync(folder, { recursive: true, force: true });
    return { fault, isListening: url !== undefined, startS, sent, ended, trace, violations };
  }

  async function startOnce(folder: string): Promise<void> {
    const gateway = startGatewayProcess({ folder });
    await gateway.ready;
    await gateway.kill("SIGTERM");
  }

  async function checkAfterRestart(
    file: string,
    subscription: string,
    sent: readonly SentWebhook[],
    fault: IoFault | undefined,
  ): Promise<Violation[]> {
    const store = await openSqliteStore({ file, dedupeHorizonMs: 1000, thread: false, onFatal: () => undefined });
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

  return {
    run,
    async runAll(faults, options) {
      const done: FaultyRun[] = [];
      const rest = [...faults];
      const work = async () => {
        for (let fault = rest.shift(); fault !== undefined; fault = rest.shift()) done.push(await run(fault, options));
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      return done.filter(({ trace }) => trace.failedAt !== undefined);
    },
    async close() {
      await sink.close();
      await collectGarbage();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** From the failed call to the end of the process. */
export function secondsToExit({ trace: { endedAt, failedAt = 0 } }: FaultyRun): number {
  return endedAt - failedAt;
}
