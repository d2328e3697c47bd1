import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";

let sample: SampleCheckout;
beforeAll(async () => {
  sample = await openSampleFolder();
});
afterAll(() => sample.remove());

const check = (root: string) => runCommand(process.execPath, ["scripts/check-size.mjs", root], PROJECT_ROOT);

describe("the sizes of the rooms", () => {
  it("are within their budgets", async () => {
    expect(await check(PROJECT_ROOT)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("src/ has") });
  });

  it("are a check that can fail: a long file, a room over its lines, a room without a budget", async () => {
    await sample.write("src/accept/long.ts", "// a line\n".repeat(401));
    for (let n = 0; n < 6; n++) await sample.write(`src/accept/part-${n}.ts`, "// a line\n".repeat(300));
    await sample.write("src/attic/old.ts", "// a line\n");
    const { exitCode, stdout } = await check(sample.root);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("src/accept/long.ts has 401 lines");
    expect(stdout).toMatch(/src\/accept has \d+ lines; its budget is \d+/);
    expect(stdout).toMatch(/src\/attic has 1 lines; its budget is 0/);
  });
});
