import { chmod, cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runCommand } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT } from "../../support/sample-checkout.ts";

it.each([
  ["is set where it was not", "", "true"],
  ["stays as it was set", "1", "1"],
])(".ci/run runs checks, tests and proofs in this order, and CI %s", async (_, given, expected) => {
  const folder = await openSampleFolder();
  onTestFinished(() => folder.remove());
  await cp(join(PROJECT_ROOT, ".ci/run"), join(folder.root, ".ci/run"));
  await folder.write("commands/npm", '#!/bin/sh\necho "CI=$CI npm $*"\n');
  await chmod(join(folder.root, "commands/npm"), 0o755);
  const env = { CI: given, PATH: `${folder.root}/commands:${process.env["PATH"]}` };
  const { exitCode, stdout } = await runCommand("bash", [".ci/run"], folder.root, env);
  expect({ exitCode, lines: stdout.trim().split("\n") }).toEqual({
    exitCode: 0,
    lines: ["run check", "test", "run proofs"].map((command) => `CI=${expected} npm ${command}`),
  });
});
