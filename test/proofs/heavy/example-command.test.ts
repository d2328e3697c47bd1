import { describe, expect, it } from "vitest";
import { runCommand, startCommand } from "../../support/run-command.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const EXAMPLE = "scripts/example.mjs";
const run = (...args: string[]) => runCommand(process.execPath, [EXAMPLE, ...args], PROJECT_ROOT);

describe("npm run example", () => {
  it("lists the examples where none is named", async () => {
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(0);
    for (const name of ["n8n-proxy", "smartsheet-adapter", "smart-dairy"]) expect(stdout).toContain(name);
  });

  it("says what is wrong with a name or a flag, and starts nothing", async () => {
    const [name, flag, rate, help] = await Promise.all([
      run("smart-diary"),
      run("smart-dairy", "--speed", "7"),
      run("smart-dairy", "--rate", "0"),
      run("smart-dairy", "--help"),
    ]);
    expect([name.exitCode, flag.exitCode, rate.exitCode, help.exitCode]).toEqual([2, 2, 2, 0]);
    expect(name.stderr).toContain("There is no example smart-diary; did you mean smart-dairy?");
    expect(flag.stderr).toContain("Unknown option '--speed'");
    expect(rate.stderr).toContain("--rate must be a number from 1 to 1000, not 0.");
    expect(help.stdout).toContain("--rate N");
  });

  it("stops all that it has started when it is interrupted, and says so", async () => {
    const { child, printed, finished, output } = startCommand(
      process.execPath,
      [EXAMPLE, "n8n-proxy"],
      PROJECT_ROOT,
      {},
    );
    await printed("the gateway at http");
    const [, url = ""] = /the gateway at (http:\S+)/.exec(output().stdout) ?? [];
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    child.kill("SIGINT");
    const { exitCode, stdout } = await finished;
    expect(stdout).toMatch(/Stopping …\n +✓ Stopped: gateway, n8n\.\n$/);
    expect(exitCode).toBe(130);
    await expect(fetch(`${url}/readyz`)).rejects.toThrow("fetch failed");
  });
});
