import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkAccounts, countDuplicates, describeViolations, type Books } from "../../support/accounting.ts";
import { databaseOf, drained, startGatewayProcess, writeGatewayFolder } from "../../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../../support/load.ts";
import { sized } from "../../support/proof-size.ts";
import { openRecordingSink } from "../../../src/cli/trial/sink.ts";
import { count, report } from "../../support/report.ts";
import { readStoreFacts } from "../../support/store-facts.ts";

const STOPS = sized({ short: 3, middle: 20, long: 20 });
const CONTROL_STOPS = 3;
const root = mkdtempSync(join(tmpdir(), "posthorn-stop-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Stops {
  books: Books;
  codes: readonly (number | null)[];
}

async function runStops(stops: number, signal: "SIGTERM" | "SIGKILL"): Promise<Stops> {
  const folder = join(root, signal);
  const sink = await openRecordingSink();
  const ledger: SentWebhook[] = [];
  const codes: (number | null)[] = [];
  try {
    writeGatewayFolder(folder, [
      { name: "ordered", url: sink.urlOf("ordered"), ordered: true },
      { name: "loose", url: sink.urlOf("loose") },
    ]);
    for (let stop = 0; stop < stops; stop++) {
      const gateway = startGatewayProcess({ folder });
      const url = await gateway.ready;
      let answersLeft = 100 + Math.floor(Math.random() * 300);
      const onAnswer = () => void (--answersLeft === 0 && gateway.kill(signal));
      await sendLoad({ url, connections: 8, maxEvents: 20_000, ledger, onAnswer });
      codes.push((await gateway.ended).code);
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
    return { books, codes };
  } finally {
    await sink.close();
  }
}

describe("SIGTERM under load", () => {
  it("ends with code 0, loses nothing and repeats nothing", async () => {
    const { books, codes } = await runStops(STOPS, "SIGTERM");
    const violations = checkAccounts({ ...books, maxDuplicates: 0 });
    const acknowledged = books.sent.filter(({ answer }) => answer === "acknowledged").length;
    const lost = violations.filter(({ kind }) => kind === "lost").length;
    report(
      `SIGTERM: ${lost} of ${count(acknowledged)} acknowledged events lost, ${countDuplicates(books.arrivals)} duplicates ` +
        `in ${STOPS} stops`,
    );
    expect(describeViolations(violations)).toBe("");
    expect(codes).toEqual(Array.from({ length: STOPS }, () => 0));
  });

  it("is a test that can fail: kill -9 repeats what was in flight", async () => {
    const { books } = await runStops(CONTROL_STOPS, "SIGKILL");
    const kinds = checkAccounts({ ...books, maxDuplicates: 0 }).map(({ kind }) => kind);
    expect(kinds).toEqual(["too many duplicates"]);
  });
});
