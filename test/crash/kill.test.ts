import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { BrokenPromises } from "../../src/gateway.ts";
import { checkAccounts, countDuplicates, describeViolations, type Books } from "../support/accounting.ts";
import { databaseOf, startGatewayProcess, writeGatewayFolder } from "../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../support/load.ts";
import { openRecordingSink } from "../support/recording-sink.ts";
import { report } from "../support/report.ts";
import { readStoreFacts } from "../support/store-facts.ts";

const KILLS = Number(process.env["CRASH_KILLS"] ?? 100);
const MINUTE_MS = 60_000;
const root = mkdtempSync(join(tmpdir(), "posthorn-kill-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A load for a moment, kill -9 in the middle of it, the same again; at last everything may be delivered. */
async function runKills(name: string, kills: number, broken?: BrokenPromises): Promise<Books> {
  const folder = join(root, name);
  const sink = await openRecordingSink();
  const ledger: SentWebhook[] = [];
  try {
    writeGatewayFolder(folder, [
      { name: "ordered", url: sink.urlOf("ordered"), ordered: true },
      { name: "loose", url: sink.urlOf("loose") },
    ]);
    for (let kill = 0; kill < kills; kill++) {
      const gateway = startGatewayProcess({ folder, broken });
      const url = await gateway.ready;
      const load = sendLoad({ url, connections: 8, maxEvents: 2000, ledger });
      // A different number each time, so that the kill falls into different places.
      const answers = ledger.length + 20 + Math.floor(Math.random() * 400);
      await waitFor(() => ledger.length >= answers);
      await gateway.kill("SIGKILL");
      await load;
    }
    const gateway = startGatewayProcess({ folder });
    await gateway.ready;
    const acknowledged = ledger.filter(({ answer }) => answer === "acknowledged");
    const expected = broken === undefined ? acknowledged.length : 0;
    await sink.until((arrivals) => {
      if (arrivals.length < 2 * expected) return false;
      return new Set(arrivals.map((each) => each.subscription + each.eventId)).size >= 2 * expected;
    });
    expect(await gateway.kill("SIGTERM")).toMatchObject({ code: 0 });
    return { sent: ledger, arrivals: sink.arrivals, ...readStoreFacts(databaseOf(folder)), ordered: new Set(["ordered"]) };
  } finally {
    await sink.close();
  }
}
