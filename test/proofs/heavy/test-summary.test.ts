import { chmod } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPromises } from "../../../scripts/promises.mjs";
import { runCommand } from "../../support/run-command.ts";
import { openSampleCheckout, type SampleCheckout } from "../../support/sample-checkout.ts";

let checkout: SampleCheckout;
beforeAll(async () => {
  checkout = await openSampleCheckout("");
  await runCommand(process.execPath, ["scripts/ensure.mjs"], checkout.root);
});
afterAll(() => checkout.remove());

type Status = "passed" | "failed" | "skipped";

function test(status: Status, meta: object = {}): object {
  return { status, fullName: `a ${status} test`, meta };
}

async function summarise(
  tests: object[] | undefined,
  env: NodeJS.ProcessEnv = {},
  fileStatus = "passed",
  // Which need no tools; budgets are for all tests.
  args: readonly string[] = ["test/unit"],
) {
  const report = tests && JSON.stringify({ testResults: [{ status: fileStatus, assertionResults: tests }] });
  const result = await runCommand(process.execPath, ["scripts/test.mjs", ...args], checkout.root, {
    CI: "",
    POSTHORN_TEST_INSTALL: "0",
    PROOFS: "short",
    REPORT: report,
    ...env,
  });
  return { exitCode: result.exitCode, lines: result.stdout.trim().split("\n") };
}

function cpuLines(...spent: readonly (readonly [file: string, seconds: number])[]): string {
  const lines = spent.map(([file, seconds]) =>
    JSON.stringify({ file: join(checkout.root, "test", file), ms: seconds * 1000 }),
  );
  return `${lines.join("\n")}\n`;
}

describe("the CPU time of a project", () => {
  it("is printed, and is no failure within half more than its budget", async () => {
    const CPU_LINES = cpuLines(["unit/a.test.ts", 10], ["unit/b.test.ts", 5], ["proofs/sized/c.test.ts", 7]);
    const { exitCode, lines } = await summarise([test("passed")], { CPU_LINES }, "passed", []);
    expect({ exitCode, lines }).toEqual({
      exitCode: 0,
      lines: expect.arrayContaining([expect.stringMatching(/^CPU seconds: unit 15, proofs\/sized 7 \(budgets × /)]),
    });
  });

  it("of the services that all share has a budget of its own", async () => {
    const spent = (ms: number) => `${cpuLines(["unit/a.test.ts", 1])}${JSON.stringify({ service: "RabbitMQ", ms })}\n`;
    const some = await summarise([test("passed")], { CPU_LINES: spent(2000).repeat(2) }, "passed", []);
    expect(some).toEqual({
      exitCode: 0,
      lines: expect.arrayContaining([expect.stringMatching(/^CPU seconds: unit 2, services 4 \(budgets × /)]),
    });
    const much = await summarise([test("passed")], { CPU_LINES: spent(100_000_000) }, "passed", []);
    expect(much).toEqual({
      exitCode: 1,
      lines: expect.arrayContaining([
        expect.stringMatching(/^posthorn: services took 100000 s of CPU; its budget in test\/projects.mjs is \d+ s/),
      ]),
    });
  });

  it("fails the run beyond that, by the name of the project", async () => {
    const { exitCode, lines } = await summarise(
      [test("passed")],
      { CPU_LINES: cpuLines(["unit/a.test.ts", 100_000]) },
      "passed",
      [],
    );
    expect({ exitCode, lines }).toEqual({
      exitCode: 1,
      lines: expect.arrayContaining([
        expect.stringMatching(/^posthorn: test\/unit took 100000 s of CPU; its budget in test\/projects.mjs is \d+ s/),
      ]),
    });
  });

  it.each([
    ["is not there", ""],
    ["cannot be read", '{"file":"unit/a'],
  ])("fails a run of all tests when its log %s", async (_, CPU_LINES) => {
    const complaint = "posthorn: the CPU time of the tests was not recorded, so no budget was checked";
    const { exitCode, lines } = await summarise([test("passed")], { CPU_LINES }, "passed", []);
    expect({ exitCode, lines }).toEqual({ exitCode: 1, lines: expect.arrayContaining([complaint]) });
    expect((await summarise([test("passed")], { CPU_LINES })).lines).not.toContain(complaint);
  });

  it("is not checked where only some of the tests run", async () => {
    const CPU_LINES = cpuLines(["unit/a.test.ts", 100_000]);
    expect(await summarise([test("passed")], { CPU_LINES })).toMatchObject({
      exitCode: 0,
    });
  });
});

describe("the tools that npm test looks for", () => {
  const missing = async (PROOFS: string, ...paths: readonly string[]) => {
    const env = { PROOFS, PATH: join(checkout.root, "nothing"), CHROMIUM: "", N8N_COMMAND: undefined };
    const { lines } = await summarise([test("passed")], env, "passed", paths);
    return lines.find((line) => line.startsWith("posthorn: tests that need")) ?? "";
  };

  it.each([
    ["all proofs", "middle", []],
    ["the file with examples in them", "middle", ["test/proofs/heavy/verifying.test.ts"]],
    ["its folder", "long", ["./test/proofs/heavy"]],
  ])("are also languages for %s", async (_, size, paths) => {
    expect(await missing(size, ...paths)).toContain("Go, Java, PHP");
  });

  it.each([
    ["the newcomer", "middle", ["test/proofs/timed/newcomer.test.ts"]],
    ["a long proof", "long", ["test/proofs/sized/kill.test.ts"]],
    ["npm test", "short", []],
  ])("are no languages for %s", async (_, size, paths) => {
    const line = await missing(size, ...paths);
    expect(line).toContain("tmux");
    expect(line).not.toContain("Go, Java, PHP");
  });
});

describe("npm run test:nodes", () => {
  it("looks for tools, prints the reasons of skips, and installs and builds nothing with the other Node", async () => {
    // A source changes after the checkout was made ready: whoever looks again would build again.
    await checkout.write(
      "commands/npm",
      `#!/bin/sh
      mkdir -p node_modules/node/bin && ln -s "${process.execPath}" node_modules/node/bin/node
      echo "// newer" >> "${checkout.root}/src/cli/main.ts"
      `,
    );
    await chmod(join(checkout.root, "commands/npm"), 0o755);
    const report = {
      status: "passed",
      assertionResults: [test("passed"), test("skipped", { skipReason: "no mount" })],
    };
    const { exitCode, stdout, stderr } = await runCommand(
      process.execPath,
      ["scripts/test-nodes.mjs", "24", "test/cli"],
      checkout.root,
      {
        CI: "",
        CHROMIUM: "",
        POSTHORN_TEST_INSTALL: "0",
        PROOFS: "short",
        REPORT: JSON.stringify({ testResults: [report] }),
        PATH: `${join(checkout.root, "commands")}:${dirname(process.execPath)}:/bin`,
      },
    );
    expect({ exitCode, stderr, lines: stdout.trim().split("\n") }).toEqual({
      exitCode: 0,
      stderr: "",
      lines: expect.arrayContaining([
        "skipped: a skipped test: no mount",
        "1 passed, 0 failed, 1 skipped",
        "test:nodes: Node 24 ok",
      ]),
    });
    expect(await checkout.read("builds.log")).toBe("built\n");
  });
});

describe("the closing line of npm test", () => {
  it("counts what passed, failed and was skipped", async () => {
    const { exitCode, lines } = await summarise([test("passed"), test("passed"), test("skipped")]);
    expect({ exitCode, last: lines.at(-1) }).toEqual({ exitCode: 0, last: "2 passed, 0 failed, 1 skipped" });
  });

  it("has the promises and their negative controls above it", async () => {
    const controls = ["is a test that can fail: it waits", "loses one (control)"];
    const named = controls.map((fullName) => ({ ...test("passed"), fullName }));
    const { lines } = await summarise([test("passed"), ...named, { ...test("failed"), fullName: controls[0] }]);
    expect(lines).toContain(`promises: ${readPromises().length}, negative controls: 2`);
  });

  it("comes with a failing exit code when a test failed", async () => {
    const { exitCode, lines } = await summarise([test("passed"), test("failed")], {}, "failed");
    expect({ exitCode, last: lines.at(-1) }).toEqual({ exitCode: 1, last: "1 passed, 1 failed, 0 skipped" });
  });

  it("counts a file that failed outside of its tests as one failure", async () => {
    const { exitCode, lines } = await summarise([test("passed")], {}, "failed");
    expect({ exitCode, last: lines.at(-1) }).toEqual({ exitCode: 1, last: "1 passed, 1 failed, 0 skipped" });
  });

  it("comes with a failing exit code when no test ran", async () => {
    const { exitCode, lines } = await summarise([test("skipped")]);
    expect({ exitCode, lines }).toMatchObject({
      exitCode: 1,
      lines: expect.arrayContaining(["posthorn: no test ran"]),
    });
  });

  it("comes with a failing exit code when the runner itself failed", async () => {
    expect(await summarise(undefined, { VITEST_EXIT_CODE: "1" })).toMatchObject({ exitCode: 1 });
    expect(await summarise([test("passed")], { VITEST_EXIT_CODE: "1" })).toMatchObject({ exitCode: 1 });
  });

  it("lets a missing service pass here with its reason printed, and fail where CI=true", async () => {
    const tests = [
      test("passed"),
      test("skipped", { missingService: "PostgreSQL", skipReason: "PostgreSQL is not there" }),
    ];
    const here = await summarise(tests);
    expect(here.exitCode).toBe(0);
    expect(here.lines).toContain("skipped: a skipped test: PostgreSQL is not there");
    const several = await summarise([...tests, ...tests]);
    expect(several.lines).toContain("skipped: 2 tests: PostgreSQL is not there");
    expect(await summarise(tests, { CI: "true" })).toMatchObject({ exitCode: 1 });
    expect(await summarise([test("passed"), test("skipped")], { CI: "true" })).toMatchObject({ exitCode: 0 });
  });
});
