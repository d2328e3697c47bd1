import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startWithBacklog } from "../../support/backlog.ts";
import type { BrokenPromises } from "../../support/broken-promises.mjs";
import { sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { openSinkServer, type SinkServer } from "../../support/sink-server.ts";

const BACKLOG = sized({ short: 10_000, middle: 50_000, long: 50_000 });

/** R13, in short: how a gateway starts with much to do. The benchmark has the full size. */
describe("a start with a backlog", () => {
  async function open(backlog: number, broken?: BrokenPromises) {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-backlog-"));
    const sink = await openSinkServer();
    const gateway = await startWithBacklog(folder, sink.url, backlog, broken);
    onTestFinished(async () => {
      await gateway.close();
      await sink.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const waiting = (await gateway.client.get("/status")).json["queue_length"];
    return { gateway, sink, waiting };
  }

  /** What arrived, beside how many different ones of it there are. */
  const countsOf = ({ requests }: SinkServer) => ({
    arrived: requests.length,
    different: new Set(requests.map(({ headers }) => headers["webhook-id"])).size,
  });

  // shows: A1
  it("has all of it, stays small, and delivers", async () => {
    const { gateway, sink, waiting } = await open(BACKLOG);
    expect(waiting).toBe(BACKLOG);
    await gateway.resume();
    await sink.received(5000);
    const { text } = await gateway.client.get("/metrics");
    const rssMb = Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 1_048_576;
    report(`R13 start with ${count(BACKLOG)} waiting: RSS ${rssMb.toFixed(0)} MB when 5,000 are delivered`);
    expect(rssMb).toBeLessThan(512);
    await gateway.client.settled();
    expect(countsOf(sink)).toEqual({ arrived: BACKLOG, different: BACKLOG });
  });

  it("is a test that can fail: what was answered before it was written is missing", async () => {
    const { gateway, sink, waiting } = await open(1000, { answerBeforeCommit: true, commitLate: true });
    expect(waiting).toBeLessThan(1000);
    await gateway.resume();
    await gateway.client.settled();
    expect(countsOf(sink).different).toBeLessThan(1000);
  });
});
