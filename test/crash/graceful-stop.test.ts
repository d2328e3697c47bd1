import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkAccounts, countDuplicates, describeViolations, type Books } from "../support/accounting.ts";
import { databaseOf, drained, startGatewayProcess, writeGatewayFolder } from "../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../support/load.ts";
import { sized, timeLimit } from "../support/proof-size.ts";
import { openRecordingSink } from "../support/recording-sink.ts";
import { count, report } from "../support/report.ts";
import { readStoreFacts } from "../support/store-facts.ts";

const STOPS = sized({ short: 3, middle: 20, long: 20 });
/** Of the time that the same gateway takes to listen. */
const MAX_STOP_PER_START = 8;
const root = mkdtempSync(join(tmpdir(), "posthorn-stop-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Stops {
  books: Books;
  codes: readonly (number | null)[];
  slowestMs: number;
  slowestStartMs: number;
}

async function runStops(name: string, signal: "SIGTERM" | "SIGKILL"): Promise<Stops> {
  const folder = join(root, name);
  const sink = await openRecordingSink();
  const ledger: SentWebhook[] = [];
  const codes: (number | null)[] = [];
  let slowestMs = 0;
  let slowestStartMs = 0;
  try {
    writeGatewayFolder(folder, [
      { name: "ordered", url: sink.urlOf("ordered"), ordered: true },
      { name: "loose", url: sink.urlOf("loose") },
    ]);
    for (let stop = 0; stop < STOPS; stop++) {
      const startedAt = performance.now();
      const gateway = startGatewayProcess({ folder });
      const url = await gateway.ready;
      slowestStartMs = Math.max(slowestStartMs, performance.now() - startedAt);
      let toldAt = 0;
      let answersLeft = 100 + Math.floor(Math.random() * 300);
      const onAnswer = () => {
        if (--answersLeft !== 0) return;
        toldAt = performance.now();
        void gateway.kill(signal);
      };
      await sendLoad({ url, connections: 8, maxEvents: 20_000, ledger, onAnswer });
      const ended = await gateway.ended;
      codes.push(ended.code);
      slowestMs = Math.max(slowestMs, ended.endedAt - toldAt);
    }
    const gateway = startGatewayProcess({ folder });
    await drained(await gateway.ready);
    await gateway.kill("SIGTERM");
    const books = {
      sent: ledger,
      arrivals: sink.arrivals,
      ...(await readStoreFacts(databaseOf(folder))),
      ordered: new Set(["ordered"]),
    };
    return { books, codes, slowestMs, slowestStartMs };
  } finally {
    await sink.close();
  }
}

describe("SIGTERM under load", () => {
  it("ends with code 0, loses nothing and repeats nothing", async () => {
    const { books, codes, slowestMs, slowestStartMs } = await runStops("stopped", "SIGTERM");
    const violations = checkAccounts({ ...books, maxDuplicates: 0 });
    const acknowledged = books.sent.filter(({ answer }) => answer === "acknowledged").length;
    const lost = violations.filter(({ kind }) => kind === "lost").length;
    report(
      `SIGTERM: ${lost} of ${count(acknowledged)} acknowledged events lost, ${countDuplicates(books.arrivals)} duplicates ` +
        `in ${STOPS} stops, the slowest took ${Math.round(slowestMs)} ms, the slowest start ${Math.round(slowestStartMs)} ms`,
    );
    expect(describeViolations(violations)).toBe("");
    expect(codes).toEqual(Array.from({ length: STOPS }, () => 0));
    expect(slowestMs / slowestStartMs).toBeLessThan(timeLimit(MAX_STOP_PER_START));
  });

  it("is a test that can fail: kill -9 repeats what was in flight", async () => {
    const { books } = await runStops("killed", "SIGKILL");
    const kinds = checkAccounts({ ...books, maxDuplicates: 0 }).map(({ kind }) => kind);
    expect(kinds).toEqual(["too many duplicates"]);
  });
});
