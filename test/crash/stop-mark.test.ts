import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { dataDirOf, startGatewayProcess, writeGatewayFolder } from "../support/gateway-process.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { requireStrace, untilTraced } from "../support/strace.ts";

const UNCLEAN = "the last run did not stop cleanly";

it("the mark of a planned stop is on the disk at the end, and gone from it before the next start sends", async (context) => {
  requireStrace(context);
  const root = mkdtempSync(join(tmpdir(), "posthorn-stop-mark-"));
  const folder = join(root, "gateway");
  const sink = await openSinkServer({ answer: "hang" });
  onTestFinished(async () => {
    await sink.close();
    rmSync(root, { recursive: true });
  });
  writeGatewayFolder(folder, [{ name: "slow", url: sink.url }]);

  /** Sends, and is ended while it does; returns what it wrote, and which calls it made on the file. */
  async function run(nth: number, signal: "SIGTERM" | "SIGKILL") {
    const trace = join(root, `trace-${nth}`);
    const calls = "trace=pwrite64,ftruncate,fsync";
    const tracer = ["strace", "-D", "-f", "-P", join(dataDirOf(folder), "in-flight"), "-e", calls, "-o", trace];
    const gateway = startGatewayProcess({ folder, tracer, env: { POSTHORN_SHUTDOWN_TIMEOUT_S: "1" } });
    const url = await gateway.ready;
    if (nth === 1) await fetch(`${url}/webhook/load`, { method: "POST", body: "{}" });
    await sink.received(nth);
    const { output } = await gateway.kill(signal);
    await untilTraced(trace, gateway.pid);
    return { output, made: readFileSync(trace, "latin1").match(/(?<=^\d+ +)\w+(?=\()/gm) ?? [] };
  }

  const first = await run(1, "SIGTERM");
  // Room for all marks, then the attempt, then the stop.
  expect(first.made).toEqual(["ftruncate", "pwrite64", "pwrite64", "pwrite64", "fsync"]);
  const second = await run(2, "SIGKILL");
  expect(second.output).not.toContain(UNCLEAN);
  expect(second.made).toEqual(["ftruncate", "pwrite64", "fsync", "pwrite64"]);
  const third = await run(3, "SIGTERM");
  expect(third.output).toContain(UNCLEAN);
  expect((await run(4, "SIGTERM")).output).not.toContain(UNCLEAN);
});
