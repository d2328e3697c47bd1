import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { ADMIN_KEY, startGatewayProcess } from "../support/gateway-process.ts";
import { count, report } from "../support/report.ts";
import { startCommand } from "../support/run-command.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { isDropped, keepSending, tally } from "../support/steady-senders.ts";

const HOLDER = fileURLToPath(new URL("../support/socket-holder.mjs", import.meta.url));

/** R25: what senders notice of a restart. Every webhook comes on a connection of its own. */
describe("a restart", () => {
  function openFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-restart-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  it("with a passed socket rejects no request, drops none and stores all that it said", async () => {
    const folder = openFolder();
    const env = {
      POSTHORN_DATA_DIR: join(folder, "data"),
      POSTHORN_ADMIN_KEY: ADMIN_KEY,
      POSTHORN_BALLAST_BYTES: "0",
      POSTHORN_DISK_MIN_FREE_BYTES: "0",
      POSTHORN_MAX_LOOP_LAG_MS: "60000",
    };
    const args = [HOLDER, process.execPath, join(PROJECT_ROOT, "bin/posthorn.js"), "start", "--json"];
    const holder = startCommand(process.execPath, args, folder, env);
    let output = "";
    holder.child.stdout?.on("data", (chunk: string) => (output += chunk));
    const find = (pattern: RegExp) => Number(pattern.exec(output)?.[1]);
    await holder.printed("gateway is listening");
    const port = find(/^port (\d+)$/m);

    const sending = keepSending(port);
    await sending.more(200);
    process.kill(find(/^start 1 (\d+)$/m), "SIGTERM");
    await holder.printed("start 2");
    await expect.poll(() => output.split("gateway is listening").length).toBe(3);
    await sending.more(200);
    const answers = await sending.stop();

    const stored = answers.filter(({ outcome }) => outcome === "202").length;
    const events = await countEvents(port);
    process.kill(find(/^start 2 (\d+)$/m), "SIGTERM");
    await holder.finished;
    const longest = Math.max(...answers.map(({ startedAt, endedAt }) => endedAt - startedAt));
    report(
      `R25 restart with a passed socket: ${answers.filter(({ outcome }) => outcome === "ECONNREFUSED").length} refused, ` +
        `${answers.filter(isDropped).length} dropped of ${count(answers.length)} connections (${tally(answers)}); longest wait ${longest.toFixed(0)} ms`,
    );
    expect(answers.filter(isDropped)).toEqual([]);
    expect(events).toBeGreaterThanOrEqual(stored);
  });

  it("is a test that can fail: without one, connections are refused in between; no answer is a 4xx", async () => {
    const folder = openFolder();
    const first = startGatewayProcess({ folder });
    const port = Number(new URL(await first.ready).port);
    const sending = keepSending(port);
    await sending.more(50);
    const ended = await first.kill("SIGTERM");
    const second = startGatewayProcess({ folder, env: { POSTHORN_PORT: String(port) } });
    await second.ready;
    await sending.more(50);
    const answers = await sending.stop();
    await second.kill("SIGTERM");

    report(`R25 restart without a passed socket: ${tally(answers)}`);
    expect(ended.code).toBe(0);
    expect(answers.filter(({ outcome }) => outcome === "ECONNREFUSED")).not.toEqual([]);
    expect(answers.filter(({ outcome }) => outcome.startsWith("4"))).toEqual([]);
  });

  async function countEvents(port: number): Promise<number> {
    let found = 0;
    let cursor = "";
    for (;;) {
      const page = await fetch(`http://127.0.0.1:${port}/api/v1/events?limit=500${cursor}`, {
        headers: { "x-api-key": ADMIN_KEY },
      });
      const { data, next_cursor: next } = (await page.json()) as { data: unknown[]; next_cursor: string | null };
      found += data.length;
      if (next === null) return found;
      cursor = `&cursor=${next}`;
    }
  }
});
