import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";

const CONFIG = `
export default { test: { pool: "forks", setupFiles: ["open-handles.ts"], include: ["*.test.ts"] } };
`;

const IMPORTS = `
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
const listening = (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const online = (worker) => new Promise((resolve) => worker.once("online", resolve));
`;

const LEAKS: [name: string, body: string, complaint: string][] = [
  ["server", `await listening(createServer());`, "server listening on"],
  ["child", `spawn(process.execPath, ["-e", "setTimeout(() => {}, 5000)"]);`, "child process "],
  ["thread", `await online(new Worker("setInterval(() => {}, 1000)", { eval: true }));`, "worker thread "],
  ["timer", `setInterval(() => {}, 1000);`, "resource Timeout"],
];
if (process.platform === "linux") LEAKS.push(["file", `openSync("left.db", "w");`, "left.db"]);

const CLEAN = `
const server = createServer();
await listening(server);
server.close();
const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 5000)"]);
child.kill();
const worker = new Worker("setInterval(() => {}, 1000)", { eval: true });
await online(worker);
await worker.terminate();
closeSync(openSync("closed.db", "w"));
clearInterval(setInterval(() => {}, 1000));
`;

interface Report {
  testResults: { name: string; status: string; message: string }[];
}

describe("the check for open handles", () => {
  let sample: SampleCheckout;
  let report: Report;
  beforeAll(async () => {
    sample = await openSampleFolder();
    await symlink(join(PROJECT_ROOT, "node_modules"), join(sample.root, "node_modules"));
    for (const file of ["open-handles.ts", "collect-garbage.ts"]) {
      await cp(join(PROJECT_ROOT, "test/support", file), join(sample.root, file));
    }
    await sample.write("package.json", `{"type":"module"}`);
    await sample.write("vitest.config.js", CONFIG);
    for (const [name, body] of [...LEAKS, ["clean", CLEAN] as const]) {
      await sample.write(`${name}.test.ts`, `${IMPORTS}it("runs", async () => {\n${body}\nexpect(1).toBe(1);\n});\n`);
    }
    const vitest = join(PROJECT_ROOT, "node_modules/vitest/vitest.mjs");
    // What is left behind here never goes: there is nothing to wait for.
    const { stdout } = await runCommand(process.execPath, [vitest, "run", "--reporter=json"], sample.root, {
      OPEN_HANDLES_GRACE_MS: "500",
    });
    report = JSON.parse(stdout) as Report;
  });
  afterAll(() => sample.remove());

  function resultOf(name: string): Report["testResults"][number] | undefined {
    return report.testResults.find((file) => file.name.endsWith(`/${name}.test.ts`));
  }

  it.each(LEAKS)("fails the file that leaves a %s behind", (name, _body, complaint) => {
    expect(resultOf(name)).toMatchObject({ status: "failed", message: expect.stringContaining(complaint) });
  });

  it("passes the file that closes all it opened", () => {
    expect(resultOf("clean")).toMatchObject({ status: "passed" });
  });
});
