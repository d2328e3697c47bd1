import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  checkAccounts,
  countDuplicates,
  describeViolations,
  type Books,
  type Violation,
} from "../../support/accounting.ts";
import type { BrokenPromises } from "../../support/broken-promises.mjs";
import { databaseOf, drained, startGatewayProcess, writeGatewayFolder } from "../../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../../support/load.ts";
import { sized } from "../../support/proof-size.ts";
import { openRecordingSink } from "../../../src/cli/trial/sink.ts";
import { count, report } from "../../support/report.ts";
import { readStoreFacts } from "../../support/store-facts.ts";

const KILLS = sized({ short: 12, middle: 300, long: 1000 });
const CONTROL_KILLS = 4;
const MAX_CONTROL_KILLS = 20;
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
      // A different number each time, so that the kill falls into different places.
      let answersLeft = 20 + Math.floor(Math.random() * 400);
      const onAnswer = () => void (--answersLeft === 0 && gateway.kill("SIGKILL"));
      await sendLoad({ url, connections: 8, maxEvents: 2000, ledger, onAnswer });
      expect(await gateway.ended).toMatchObject({ signal: "SIGKILL" });
    }
    const gateway = startGatewayProcess({ folder });
    await drained(await gateway.ready);
    expect(await gateway.kill("SIGTERM")).toMatchObject({ code: 0 });
    return {
      sent: ledger,
      arrivals: sink.arrivals,
      ...(await readStoreFacts(databaseOf(folder))),
      ordered: new Set(["ordered"]),
    };
  } finally {
    await sink.close();
  }
}

function lostOf(books: Books): Violation[] {
  return checkAccounts(books).filter(({ kind }) => kind === "lost");
}

describe("kill -9 under load", () => {
  // shows: A3, B1
  it(
    `loses nothing that was acknowledged in ${KILLS} kills`,
    async () => {
      const halves = [Math.ceil(KILLS / 2), Math.floor(KILLS / 2)];
      // Side by side: a gateway that starts leaves the other one's load most of a core.
      const runs = await Promise.all(halves.map((kills, i) => runKills(`good-${i}`, kills)));
      const violations = runs.flatMap(checkAccounts);
      const acknowledged = runs.flatMap(({ sent }) => sent).filter(({ answer }) => answer === "acknowledged");
      const duplicates = runs.reduce((sum, { arrivals }) => sum + countDuplicates(arrivals), 0);
      const deliveries = runs.flatMap(({ events }) => events).flatMap((event) => event.deliveries);
      const interrupted = deliveries.reduce((sum, { interruptions }) => sum + interruptions, 0);
      const dead = deliveries.filter(({ state }) => state === "dead").length;
      const lost = violations.filter(({ kind }) => kind === "lost").length;
      const disordered = violations.filter(({ kind }) => kind === "out of order").length;
      report(`R2 kill -9: ${lost} of ${count(acknowledged.length)} acknowledged events lost in ${KILLS} kills`);
      report(`R7 kill -9: ${disordered} order violations in ${count(deliveries.length)} deliveries`);
      report(`R8 kill -9: ${duplicates} duplicates, ${interrupted} attempts were in flight at a kill, ${dead} dead`);
      expect(describeViolations(violations)).toBe("");
      expect(duplicates).toBeLessThanOrEqual(interrupted);
      expect(dead).toBe(0);
    },
    10 * MINUTE_MS + KILLS * 20_000,
  );

  it("is a test that can fail: an answer before the commit loses events", async () => {
    let [lost, kills, sent] = [0, 0, 0];
    // A kill may fall right after a commit, with nothing on its way.
    for (; lost === 0 && kills < MAX_CONTROL_KILLS; kills += CONTROL_KILLS) {
      const books = await runKills(`answer-before-commit-${kills}`, CONTROL_KILLS, { answerBeforeCommit: true });
      lost = lostOf(books).length;
      sent += books.sent.length;
    }
    report(`R2 control, answer before commit: ${lost} of ${count(sent)} lost in ${kills} kills`);
    expect(lost).toBeGreaterThan(0);
  });
});
