import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiClient } from "../support/api-client.ts";
import { ADMIN_KEY, startGatewayProcess } from "../support/gateway-process.ts";
import { sized, timeLimit } from "../support/proof-size.ts";
import { count, report } from "../support/report.ts";
import { openSinkServer } from "../support/sink-server.ts";

const BACKLOG = sized({ short: 10_000, middle: 50_000, long: 50_000 });
/** Of the time that the same gateway takes to listen when nothing waits. */
const MAX_READY_PER_EMPTY = timeLimit(5);
const MAX_FIRST_PER_EMPTY = timeLimit(10);
const BATCH = 1000;

/** R13, in short: how a gateway starts with much to do. The benchmark has the full size. */
describe("a start with a backlog", () => {
  it("is ready at once, stays small, and delivers soon", async () => {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-backlog-"));
    const sink = await openSinkServer();
    let startedAt = performance.now();
    let gateway = startGatewayProcess({ folder });
    let url = await gateway.ready;
    const emptyMs = performance.now() - startedAt;
    const client = createApiClient({ url: () => url }, ADMIN_KEY);
    onTestFinished(async () => {
      await gateway.kill("SIGTERM");
      await sink.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const { id } = await client.subscribe({ name: "later", url: sink.url, status: "inactive" });
    const payload = { text: "x".repeat(900) };
    for (let sent = 0; sent < BACKLOG; sent += BATCH) {
      const events = Array.from({ length: BATCH }, (_, n) => ({
        event_type: "load.event",
        payload: { ...payload, n: sent + n },
      }));
      expect((await client.publish(events)).status).toBe(202);
    }
    await gateway.kill("SIGTERM");

    startedAt = performance.now();
    gateway = startGatewayProcess({ folder });
    url = await gateway.ready;
    const readyMs = performance.now() - startedAt;
    expect((await client.get("/status")).json["queue_length"]).toBe(BACKLOG);
    const resumedAt = performance.now();
    expect((await client.post(`/api/v1/subscriptions/${id}/resume`)).status).toBe(200);
    await sink.received(1000);
    const firstMs = performance.now() - resumedAt;
    await sink.received(5000);
    const perSecond = (4000 * 1000) / (performance.now() - resumedAt - firstMs);
    const { text } = await client.get("/metrics");
    const rssMb = Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 1_048_576;
    report(
      `R13 start with ${count(BACKLOG)} waiting: ready ${readyMs.toFixed(0)} ms (${emptyMs.toFixed(0)} ms with none), first 1,000 delivered ${firstMs.toFixed(0)} ms ` +
        `after resume, then ${count(Math.round(perSecond))}/s, RSS ${rssMb.toFixed(0)} MB`,
    );
    expect(readyMs / emptyMs).toBeLessThan(MAX_READY_PER_EMPTY);
    expect(firstMs / emptyMs).toBeLessThan(MAX_FIRST_PER_EMPTY);
    expect(rssMb).toBeLessThan(512);
  });
});
