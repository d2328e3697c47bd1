import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { skipBecause } from "../../support/skip.ts";
import { createDescriptorOutput } from "../../../src/telemetry/log-output.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "posthorn-output-"));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

describe("the output to a descriptor", () => {
  it("writes every line in order", async () => {
    const path = join(dir, "out");
    const fd = openSync(path, "a");
    const output = createDescriptorOutput(fd);
    const lines = Array.from({ length: 2000 }, (_, number) => `line ${number}\n`);
    for (const line of lines) output.write(line);
    await expect.poll(() => readFileSync(path, "utf8")).toBe(lines.join(""));
    closeSync(fd);
  });

  it("neither throws nor hangs on a full disk", (context) => {
    if (process.platform !== "linux") skipBecause(context, "only Linux has /dev/full");
    const fd = openSync("/dev/full", "a");
    const output = createDescriptorOutput(fd);
    output.write("one\n");
    output.write("two\n");
    expect(() => output.flushSync()).not.toThrow();
    closeSync(fd);
  });

  it("has its last lines out before the process exits, and outlives its reader", (context) => {
    if (process.platform === "win32") skipBecause(context, "Windows has no sh");
    const script = join(import.meta.dirname, "../../support/log-lines.ts");
    const run = (mode: string, pipe: string) =>
      spawnSync("sh", ["-c", `"$0" --import tsx "$1" ${mode} | ${pipe}`, process.execPath, script], {
        encoding: "utf8",
      });
    expect(run("exit", "tail -n 1").stdout).toContain('"last line"');
    const broken = run("reader-gone", "head -n 1");
    expect(broken.stdout).toContain('"number":0');
    expect(broken.stderr).toContain("still alive");
  });
});
