import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";

const SKIPPING = `
import { it } from "vitest";
import { skipBecause, skipWithoutService } from ${JSON.stringify(join(PROJECT_ROOT, "test/support/skip.ts"))};
it("needs a mount", (context) => skipBecause(context, "mounting is not allowed here"));
it("needs a database", (context) => skipWithoutService(context, "PostgreSQL"));
`;

describe("a skipped test", () => {
  let sample: SampleCheckout;
  beforeAll(async () => {
    sample = await openSampleFolder();
    await symlink(join(PROJECT_ROOT, "node_modules"), join(sample.root, "node_modules"));
    await sample.write("package.json", `{"type":"module"}`);
    await sample.write("skipping.test.ts", SKIPPING);
  });
  afterAll(() => sample.remove());

  async function runTests(env: NodeJS.ProcessEnv) {
    const vitest = join(PROJECT_ROOT, "node_modules/vitest/vitest.mjs");
    const { stdout } = await runCommand(process.execPath, [vitest, "run", "--reporter=json"], sample.root, env);
    const report = JSON.parse(stdout) as { testResults: { assertionResults: { status: string; meta: object }[] }[] };
    return report.testResults[0]?.assertionResults;
  }

  it("tells npm test its reason and the service that it missed", async () => {
    expect(await runTests({ CI: "" })).toMatchObject([
      { status: "skipped", meta: { skipReason: "mounting is not allowed here" } },
      { status: "skipped", meta: { skipReason: "PostgreSQL is not there", missingService: "PostgreSQL" } },
    ]);
  });

  it("is a failed one where CI=true and a service is missing, for every user", async () => {
    expect(await runTests({ CI: "true" })).toMatchObject([
      { status: "skipped", meta: { skipReason: "mounting is not allowed here" } },
      {
        status: "failed",
        meta: { missingService: "PostgreSQL" },
        failureMessages: [expect.stringContaining("missing here, where CI=true: PostgreSQL")],
      },
    ]);
  });
});
