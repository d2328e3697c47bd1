import { join } from "node:path";
import { describe, expect, it, onTestFinished, type TestContext } from "vitest";
import { checkAccounts, describeViolations } from "../support/accounting.ts";
import { until } from "../support/api-client.ts";
import { ADMIN_KEY, databaseOf, drained, startGatewayProcess, writeGatewayFolder } from "../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../support/load.ts";
import { openRecordingSink } from "../../src/cli/trial/sink.ts";
import { count, report } from "../support/report.ts";
import { mountSmallDisk } from "../support/small-disk.ts";
import { readStoreFacts } from "../support/store-facts.ts";

const MIB = 1024 * 1024;
const EVENTS = 200;

/** A gateway on a small disk, with events that wait because their subscription is paused. */
async function openScene(context: TestContext, limits: { minFreeBytes: number; ballastBytes: number }) {
  const disk = mountSmallDisk(context, 48);
  onTestFinished(() => disk.unmount());
  const sink = await openRecordingSink();
  onTestFinished(() => sink.close());
  const folder = join(disk.path, "gateway");
  writeGatewayFolder(folder, [{ name: "paused", url: sink.urlOf("paused"), status: "inactive" }]);
  const gateway = startGatewayProcess({
    folder,
    env: {
      POSTHORN_DISK_MIN_FREE_BYTES: String(limits.minFreeBytes),
      POSTHORN_BALLAST_BYTES: String(limits.ballastBytes),
    },
  });
  onTestFinished(async () => void (await gateway.kill("SIGKILL")));
  const url = await gateway.ready;
  const ledger: SentWebhook[] = [];
  const send = (maxEvents: number, minBytes = 100) =>
    sendLoad({ url, connections: 4, maxEvents, ledger, minBytes, maxBytes: 2 * minBytes });
  return { disk, sink, folder, gateway, url, ledger, send };
}

async function resume(url: string): Promise<number> {
  const headers = { "x-api-key": ADMIN_KEY };
  const listed = await fetch(`${url}/api/v1/subscriptions`, { headers });
  const { data } = (await listed.json()) as { data: { id: string }[] };
  const resumed = await fetch(`${url}/api/v1/subscriptions/${data[0]?.id}/resume`, { method: "POST", headers });
  await resumed.body?.cancel();
  return resumed.status;
}

function latestStatus(ledger: readonly SentWebhook[]): number | undefined {
  return ledger.at(-1)?.status;
}

async function sendUntil(status: number, scene: Awaited<ReturnType<typeof openScene>>): Promise<number> {
  const startedAt = performance.now();
  await until(
    async () => {
      await scene.send(1);
      return latestStatus(scene.ledger) === status;
    },
    undefined,
    `an answer of ${status}`,
  );
  return performance.now() - startedAt;
}

describe("a full disk", () => {
  it.for([
    { name: "below the high-water mark", minFreeBytes: 16 * MIB, ballastBytes: 4 * MIB },
    { name: "where SQLite finds no room", minFreeBytes: 0, ballastBytes: 4 * MIB },
  ])("rejects with 503, delivers what it has, and comes back: $name", async (limits, context) => {
    const scene = await openScene(context, limits);
    const { disk, sink, folder, gateway, url, ledger, send } = scene;
    await send(EVENTS);
    expect(ledger.map(({ status }) => status)).toEqual(Array.from({ length: EVENTS }, () => 202));

    disk.fill();
    await sendUntil(503, scene);
    expect(await resume(url)).toBe(200);
    await drained(url);
    expect(sink.arrivals.length).toBeGreaterThanOrEqual(EVENTS);
    // More than the ballast has room for.
    await send(600, 10_000);
    const refused = ledger.filter(({ status }) => status !== 202);

    disk.free();
    const backMs = await sendUntil(202, scene);
    await send(50);
    await drained(url);
    expect(await gateway.kill("SIGTERM")).toMatchObject({ code: 0 });

    const violations = checkAccounts({
      sent: ledger,
      arrivals: sink.arrivals,
      ...(await readStoreFacts(databaseOf(folder))),
      ordered: new Set(),
      maxDuplicates: 0,
    });
    const acknowledged = ledger.filter(({ answer }) => answer === "acknowledged").length;
    const lost = violations.filter(({ kind }) => kind === "lost").length;
    report(
      `R4 disk full, ${limits.name}: ${lost} of ${count(acknowledged)} acknowledged events lost, ` +
        `${refused.length} refused with 503 and Retry-After, back after ${Math.round(backMs)} ms`,
    );
    expect(describeViolations(violations)).toBe("");
    expect(refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter === undefined)).toEqual([]);
    expect(refused.length).toBeGreaterThan(100);
  });

  it("is a test that can fail: without mark and ballast nothing can be recorded any more", async (context) => {
    const scene = await openScene(context, { minFreeBytes: 0, ballastBytes: 0 });
    await scene.send(EVENTS);
    scene.disk.fill();
    await sendUntil(503, scene);
    expect(await resume(scene.url)).toBe(503);
  });
});
