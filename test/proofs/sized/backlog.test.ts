import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startWithBacklog } from "../../support/backlog.ts";
import { sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { openSinkServer } from "../../support/sink-server.ts";

const BACKLOG = sized({ short: 10_000, middle: 50_000, long: 50_000 });

/** R13, in short: how a gateway starts with much to do. The benchmark has the full size. */
describe("a start with a backlog", () => {
  it("has all of it, stays small, and delivers", async () => {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-backlog-"));
    const sink = await openSinkServer();
    const gateway = await startWithBacklog(folder, sink.url, BACKLOG);
    onTestFinished(async () => {
      await gateway.close();
      await sink.close();
      rmSync(folder, { recursive: true, force: true });
    });
    expect((await gateway.client.get("/status")).json["queue_length"]).toBe(BACKLOG);
    await gateway.resume();
    await sink.received(5000);
    const { text } = await gateway.client.get("/metrics");
    const rssMb = Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 1_048_576;
    report(`R13 start with ${count(BACKLOG)} waiting: RSS ${rssMb.toFixed(0)} MB when 5,000 are delivered`);
    expect(rssMb).toBeLessThan(512);
    await gateway.client.settled();
    expect(new Set(sink.requests.map(({ headers }) => headers["webhook-id"])).size).toBe(BACKLOG);
    expect(sink.requests).toHaveLength(BACKLOG);
  });
});
