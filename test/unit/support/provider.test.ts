import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSampleFolder } from "../../support/sample-checkout.ts";
import { closeServices, type Service } from "../../support/services/provider.ts";
import { skipBecause } from "../../support/skip.ts";

describe("the services of a run, at its end,", () => {
  it("are all closed, also when one of them cannot be", async () => {
    const folder = await openSampleFolder();
    onTestFinished(() => folder.remove());
    const closed: string[] = [];
    const service = (name: string, error?: Error): Service => ({
      pids: () => [],
      async close() {
        closed.push(name);
        if (error !== undefined) throw error;
      },
    });
    const services = { first: service("first", new Error("stuck")), none: undefined, last: service("last") };
    await expect(closeServices(services, join(folder.root, "cpu.ndjson"))).rejects.toMatchObject({
      errors: [new Error("stuck")],
    });
    expect(closed).toEqual(["first", "last"]);
  });

  it("have their CPU time recorded, with that of the processes below them", async (context) => {
    if (process.platform !== "linux") skipBecause(context, "only Linux shows the CPU time of other processes");
    const folder = await openSampleFolder();
    onTestFinished(() => folder.remove());
    // The work is done by a child of the child, which goes on after it.
    const work = `const until = process.cpuUsage().user + 200_000; while (process.cpuUsage().user < until);
      console.log("worked"); setInterval(() => {}, 1000)`;
    const parent = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(work)}],
      { stdio: "inherit" })`;
    const child = spawn(process.execPath, ["-e", parent], { stdio: ["ignore", "pipe", "inherit"], detached: true });
    const pid = child.pid ?? 0;
    await once(child.stdout, "data");
    const close = async () => {
      process.kill(-pid, "SIGKILL");
      await once(child, "close");
    };
    await closeServices({ busy: { pids: () => [pid], close } }, join(folder.root, "cpu.ndjson"));
    const line = JSON.parse(await folder.read("cpu.ndjson")) as { service: string; ms: number };
    expect(line).toEqual({ service: "busy", ms: expect.any(Number) });
    expect(line.ms).toBeGreaterThanOrEqual(200);
  });
});
