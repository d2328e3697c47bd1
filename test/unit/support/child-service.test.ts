import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findFreePort } from "../../support/free-port.ts";
import { openSampleFolder } from "../../support/sample-checkout.ts";
import {
  endService,
  PortTaken,
  startOnFreePorts,
  startService,
  untilListening,
} from "../../support/services/child-service.ts";

const LISTEN = (port: number) => `require("node:net").createServer().listen(${port}, "127.0.0.1")`;
const STAY = "setInterval(() => {}, 1000)";

async function startScript(script: string): Promise<{ child: ChildProcess; output: () => string }> {
  const folder = await openSampleFolder();
  const log = join(folder.root, "output.log");
  const file = openSync(log, "w");
  const child = startService(process.execPath, ["-e", script], { output: file });
  closeSync(file);
  onTestFinished(async () => {
    await endService(child, "SIGKILL");
    await folder.remove();
  });
  return { child, output: () => readFileSync(log, "utf8") };
}

async function takePort(): Promise<number> {
  const other = createServer((socket) => socket.destroy());
  const port = await findFreePort();
  await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => new Promise((resolve) => void other.close(() => resolve())));
  return port;
}

describe("a service that is started", () => {
  it("is there when it accepts connections at each of its ports", async () => {
    const [first, second] = [await findFreePort(), await findFreePort()];
    const { child, output } = await startScript(`${LISTEN(first)}; setTimeout(() => ${LISTEN(second)}, 100)`);
    await expect(untilListening(child, [first, second], output)).resolves.toBeUndefined();
  });

  it("is not taken for somebody else where it first tries whether a port is free", async () => {
    const port = await findFreePort();
    const tryPort = `const server = require("node:net").createServer((socket) => socket.destroy());
      let times = 0;
      const attempt = () => server.listen(${port}, "127.0.0.1", () => {
        if (++times < 200) server.close(attempt);
      });
      attempt();`;
    const { child, output } = await startScript(tryPort);
    await expect(untilListening(child, [port], output)).resolves.toBeUndefined();
  });

  it("that ends before is an error with its output", async () => {
    const { child, output } = await startScript(`console.error("no licence"); process.exit(3)`);
    await expect(untilListening(child, [await findFreePort()], output)).rejects.toThrow(/has ended: no licence\n$/);
  });

  it("that never listens is an error with its output, after some time", async () => {
    const { child, output } = await startScript(`console.log("still thinking"); ${STAY}`);
    const port = await findFreePort();
    // As long as it takes to print something.
    await expect.poll(output).toContain("still thinking");
    await expect(untilListening(child, [port], output, 200)).rejects.toThrow(
      new RegExp(`does not listen at port ${port} after 0.2 s: still thinking\\n$`),
    );
  });

  it.each([
    ["has ended", (port: number) => LISTEN(port)],
    ["has not ended yet", () => STAY],
  ])("is not taken for another process that has its port, when it %s", async (_, script) => {
    const port = await takePort();
    const { child, output } = await startScript(script(port));
    await expect(untilListening(child, [port], output)).rejects.toThrow(PortTaken);
  });

  it("is started once more when another process has its port, and not when it fails otherwise", async () => {
    let starts = 0;
    const failing = (error: Error, times: number) => async () => {
      starts++;
      if (starts <= times) throw error;
      return `start ${starts}`;
    };
    await expect(startOnFreePorts(failing(new PortTaken("taken"), 1))).resolves.toBe("start 2");
    starts = 0;
    await expect(startOnFreePorts(failing(new PortTaken("taken again"), 2))).rejects.toThrow("taken again");
    expect(starts).toBe(2);
    starts = 0;
    await expect(startOnFreePorts(failing(new Error("broken"), 1))).rejects.toThrow("broken");
    expect(starts).toBe(1);
  });
});
