import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startWithBacklog } from "../../support/backlog.ts";
import { openFaultyRuns, secondsToExit } from "../../support/faulty-runs.ts";
import { startGatewayProcess, writeGatewayFolder } from "../../support/gateway-process.ts";
import { sendLoad } from "../../support/load.ts";
import { openRecordingSink } from "../../../src/cli/trial/sink.ts";
import { count, report } from "../../support/report.ts";
import { openSinkServer } from "../../support/sink-server.ts";
import { isDropped, keepSending } from "../../support/steady-senders.ts";
import { requireStrace } from "../../support/strace.ts";

const STOPS = 8;
const SYNC_FAULTS = 8;
const BACKLOG = 50_000;
/** All of the time that the same gateway takes to listen: about half a second. */
const MAX_STOP_PER_START = 8;
const MAX_GAP_PER_START = 5;
const MAX_EXIT_PER_START = 1;
const MAX_READY_PER_EMPTY = 5;
const MAX_FIRST_PER_EMPTY = 10;

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-start-and-stop-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** What is counted of the same is in `sized/` and `crash/`. */
describe("beside the time that a start takes", () => {
  it("a stop under load is not long", async () => {
    const folder = openFolder();
    const sink = await openRecordingSink();
    onTestFinished(() => sink.close());
    writeGatewayFolder(folder, [{ name: "loose", url: sink.urlOf("loose") }]);
    let [slowestMs, slowestStartMs] = [0, 0];
    for (let stop = 0; stop < STOPS; stop++) {
      const startedAt = performance.now();
      const gateway = startGatewayProcess({ folder });
      const url = await gateway.ready;
      slowestStartMs = Math.max(slowestStartMs, performance.now() - startedAt);
      let [answersLeft, askedAt] = [250, 0];
      const onAnswer = () => {
        if (--answersLeft !== 0) return;
        askedAt = performance.now();
        void gateway.kill("SIGTERM");
      };
      await sendLoad({ url, connections: 8, maxEvents: 20_000, ledger: [], onAnswer });
      const { endedAt } = await gateway.ended;
      expect(askedAt).toBeGreaterThan(0);
      slowestMs = Math.max(slowestMs, endedAt - askedAt);
    }
    report(
      `SIGTERM: the slowest of ${STOPS} stops took ${slowestMs.toFixed(0)} ms, of the starts ${slowestStartMs.toFixed(0)} ms`,
    );
    expect(slowestMs / slowestStartMs).toBeLessThan(MAX_STOP_PER_START);
  });

  it("nobody is served for little more than that at a restart without a passed socket", async () => {
    const folder = openFolder();
    const startedAt = performance.now();
    const first = startGatewayProcess({ folder });
    const port = Number(new URL(await first.ready).port);
    const startMs = performance.now() - startedAt;
    const sending = keepSending(port);
    await sending.more(50);
    await first.kill("SIGTERM");
    const second = startGatewayProcess({ folder, env: { POSTHORN_PORT: String(port) } });
    await second.ready;
    await sending.more(50);
    const times = (await sending.stop()).filter(isDropped).map(({ endedAt }) => endedAt);
    await second.kill("SIGTERM");
    const gapMs = Math.max(...times) - Math.min(...times);
    report(`R25 restart without a passed socket: gap ${gapMs.toFixed(0)} ms, a start ${startMs.toFixed(0)} ms`);
    expect(gapMs).toBeGreaterThan(0);
    expect(gapMs / startMs).toBeLessThanOrEqual(MAX_GAP_PER_START);
  });

  it(`a gateway with ${count(BACKLOG)} waiting listens and delivers soon`, async () => {
    const folder = openFolder();
    const sink = await openSinkServer();
    const gateway = await startWithBacklog(folder, sink.url, BACKLOG);
    onTestFinished(async () => {
      await gateway.close();
      await sink.close();
    });
    const { emptyMs, readyMs } = gateway;
    const resumedAt = performance.now();
    await gateway.resume();
    await sink.received(1000);
    const firstMs = performance.now() - resumedAt;
    await sink.received(5000);
    const perSecond = (4000 * 1000) / (performance.now() - resumedAt - firstMs);
    report(
      `R13 start with ${count(BACKLOG)} waiting: ready ${readyMs.toFixed(0)} ms (${emptyMs.toFixed(0)} ms with none), ` +
        `first 1,000 delivered ${firstMs.toFixed(0)} ms after resume, then ${count(Math.round(perSecond))}/s`,
    );
    expect(readyMs / emptyMs).toBeLessThan(MAX_READY_PER_EMPTY);
    expect(firstMs / emptyMs).toBeLessThan(MAX_FIRST_PER_EMPTY);
  });

  it("a gateway ends at once when a sync fails", async (context) => {
    requireStrace(context);
    const faulty = await openFaultyRuns();
    onTestFinished(() => faulty.close());
    const faults = Array.from(
      { length: SYNC_FAULTS },
      (_, n) => ({ call: "fsync", error: "EIO", number: 2 * n + 3, forGood: n % 2 === 0 }) as const,
    );
    const runs = await faulty.runAll(faults, { isSecondStart: true, maxEvents: 60 });
    expect(runs.length).toBeGreaterThanOrEqual(SYNC_FAULTS / 2);
    // The median, because one that ends or starts while others do much is later than it would be.
    const ratio = median(runs.map(secondsToExit)) / median(runs.map(({ startS }) => startS));
    report(
      `R3 exit after a failed sync in ${ratio.toFixed(2)} × the time of a start (limit ${MAX_EXIT_PER_START}), ` +
        `the slowest of ${runs.length} after ${Math.round(Math.max(...runs.map(secondsToExit)) * 1000)} ms`,
    );
    expect(ratio).toBeLessThanOrEqual(MAX_EXIT_PER_START);
  });
});
