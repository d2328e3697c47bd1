// `npm test`: prepares the checkout, runs vitest, and ends with one plain line of figures.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensure, ROOT } from "./ensure.mjs";
import { run, runScript } from "./run.mjs";

await runScript(async () => {
  await ensure();
  const folder = mkdtempSync(join(tmpdir(), "posthorn-test-"));
  try {
    const report = join(folder, "report.json");
    const exitCode = await runVitest(process.argv.slice(2), report);
    return summarise(readReport(report), exitCode);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function runVitest(args, report) {
  const reporters = args.some((arg) => arg.startsWith("--reporter")) ? [] : ["--reporter=default"];
  const own = [...reporters, "--reporter=json", `--outputFile.json=${report}`];
  return run(process.execPath, [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", ...own, ...args], { cwd: ROOT });
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

function summarise(report, vitestExitCode) {
  const files = report?.testResults ?? [];
  const tests = files.flatMap((file) => file.assertionResults);
  const passed = tests.filter((test) => test.status === "passed").length;
  const skipped = tests.filter((test) => !["passed", "failed"].includes(test.status));
  const brokenFiles = files.filter((file) => file.status === "failed" && !file.assertionResults.some(hasFailed));
  const failed = tests.filter(hasFailed).length + brokenFiles.length;

  const complaints = [];
  const missing = new Set(skipped.map((test) => test.meta?.missingService).filter(Boolean));
  if (missing.size > 0 && isCi()) complaints.push(`missing here, where CI=true: ${[...missing].join(", ")}`);
  if (passed + failed === 0) complaints.push("no test ran");
  if (vitestExitCode !== 0 && failed === 0) complaints.push(`vitest ended with exit code ${vitestExitCode}`);

  for (const { fullName, meta } of skipped) {
    if (meta?.skipReason) process.stdout.write(`skipped: ${fullName}: ${meta.skipReason}\n`);
  }
  for (const complaint of complaints) process.stdout.write(`posthorn: ${complaint}\n`);
  process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped\n`);
  return vitestExitCode || (failed > 0 || complaints.length > 0 ? 1 : 0);
}

function hasFailed(test) {
  return test.status === "failed";
}

function isCi() {
  return process.env.CI === "true" || process.env.CI === "1";
}
