// `npm test`: prepares the checkout and the machine, runs vitest, and ends with one plain line of figures.
// `--quick` runs only what needs neither a service nor a tool; any other argument is vitest's.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { PROOFS, QUICK, SERVICES, TESTS } from "../test/projects.mjs";
import { ensure, isReady, ROOT } from "./ensure.mjs";
import { measurePace } from "./pace.mjs";
import { readPromises } from "./promises.mjs";
import { run, runScript } from "./run.mjs";
import { checkDisks, isCi, provideTools } from "./test-tools.mjs";

/** A project may take this much more than its budget before the run fails. */
const TOLERANCE = 1.5;

const args = process.argv.slice(2);
const isQuick = args.includes("--quick");
const isProofs = (process.env.PROOFS ?? "short") !== "short";
/** Some of the tests by name: nothing is said of budgets, and unit tests need no tools. */
const chosen = args.filter((arg) => !arg.startsWith("-"));
const needsTools = !isQuick && !(chosen.length > 0 && chosen.every((path) => path.includes("test/unit")));
/** One file has examples in other languages, which are large; those of the release need builders of images and charts. */
const NEEDS_LANGUAGES = join(ROOT, "test/proofs/heavy/verifying.test.ts");
const NEEDS_RELEASE_TOOLS = join(ROOT, "test/proofs/heavy/release");
const isRun = (place) =>
  isProofs &&
  process.env.N8N_COMMAND === undefined &&
  (chosen.length === 0 || chosen.map((path) => path.replace(/^\.\//, "")).some((path) => isPartOf(path, place)));
/** Of a file or folder, its name or a part of it is given; or something in the folder is. */
const isPartOf = (path, place) => place.includes(path) || join(ROOT, path).startsWith(`${place}/`);

await runScript(async () => {
  checkDisks(ROOT);
  if (!isReady()) await ensure();
  if (needsTools) provideTools({ languages: isRun(NEEDS_LANGUAGES), release: isRun(NEEDS_RELEASE_TOOLS) });
  const folder = mkdtempSync(join(tmpdir(), "posthorn-test-"));
  try {
    const report = join(folder, "report.json");
    const cpuLog = join(folder, "cpu.ndjson");
    const paceBefore = measurePace();
    const exitCode = await runVitest(report, cpuLog);
    // A fast machine gets no smaller budgets: how much faster it is differs from work to work.
    const pace = Math.max(1, paceBefore, measurePace());
    return summarise(readReport(report), exitCode, checkBudgets(cpuLog, pace));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function runVitest(report, cpuLog) {
  const reporters = args.some((arg) => arg.startsWith("--reporter")) ? [] : ["--reporter=default"];
  const own = [...reporters, "--reporter=json", `--outputFile.json=${report}`];
  const rest = args.filter((arg) => arg !== "--quick");
  const quick = [...QUICK.folders.map((name) => `test/${name}/`), `--exclude=test/${QUICK.without}/**`];
  return run(
    process.execPath,
    [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", ...own, ...(isQuick ? quick : []), ...rest],
    { cwd: ROOT, env: { ...process.env, POSTHORN_TEST_CPU_LOG: cpuLog } },
  );
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * Prints the CPU time of each project; returns a complaint for each that took too much for a machine of this pace, or one
 * where all tests ran and nothing is known of their time.
 */
function checkBudgets(cpuLog, pace) {
  const spent = new Map();
  for (const { file, service, ms } of readLines(cpuLog)) {
    const project = service === undefined ? findProject(relative(join(ROOT, "test"), file)) : SERVICES;
    spent.set(project, (spent.get(project) ?? 0) + ms / 1000);
  }
  const figures = [...spent].map(([{ folder, name = folder }, seconds]) => `${name} ${seconds.toFixed(0)}`);
  if (figures.length > 0) {
    process.stdout.write(`\nCPU seconds: ${figures.join(", ")} (budgets × ${pace.toFixed(2)} for this machine)\n`);
  }
  if (isQuick || isProofs || chosen.length > 0) return [];
  if (spent.size === 0) return ["the CPU time of the tests was not recorded, so no budget was checked"];
  return [...spent]
    .filter(([{ cpuSeconds }, seconds]) => seconds > cpuSeconds * pace * TOLERANCE)
    .map(
      ([{ folder, name = `test/${folder}`, cpuSeconds }, seconds]) =>
        `${name} took ${seconds.toFixed(0)} s of CPU; its budget in test/projects.mjs is ${cpuSeconds} s at a pace of 1`,
    );
}

function findProject(file) {
  return (isProofs ? PROOFS : TESTS).find(({ folder }) => file.startsWith(`${folder}/`)) ?? { folder: file };
}

function readLines(file) {
  try {
    return readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  } catch {
    return [];
  }
}

function summarise(report, vitestExitCode, complaints) {
  const files = report?.testResults ?? [];
  const tests = files.flatMap((file) => file.assertionResults);
  const passed = tests.filter((test) => test.status === "passed").length;
  const skipped = tests.filter((test) => !["passed", "failed"].includes(test.status));
  const brokenFiles = files.filter((file) => file.status === "failed" && !file.assertionResults.some(hasFailed));
  const failed = tests.filter(hasFailed).length + brokenFiles.length;

  // With CI=true such a test has failed already (test/support/skip.ts).
  const missing = new Set(tests.map((test) => test.meta?.missingService).filter(Boolean));
  if (missing.size > 0 && isCi()) complaints.push(`missing here, where CI=true: ${[...missing].join(", ")}`);
  if (passed + failed === 0) complaints.push("no test ran");
  if (vitestExitCode !== 0 && failed === 0) complaints.push(`vitest ended with exit code ${vitestExitCode}`);

  for (const [reason, names] of groupByReason(skipped)) {
    process.stdout.write(`skipped: ${names.length === 1 ? names[0] : `${names.length} tests`}: ${reason}\n`);
  }
  const controls = tests.filter((test) => test.status === "passed" && isNegativeControl(test.fullName)).length;
  process.stdout.write(`promises: ${readPromises().length}, negative controls: ${controls}\n`);
  for (const complaint of complaints) process.stdout.write(`posthorn: ${complaint}\n`);
  process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped\n`);
  return vitestExitCode || (failed > 0 || complaints.length > 0 ? 1 : 0);
}

function groupByReason(skipped) {
  const groups = new Map();
  for (const { fullName, meta } of skipped) {
    if (meta?.skipReason) groups.set(meta.skipReason, [...(groups.get(meta.skipReason) ?? []), fullName]);
  }
  return groups;
}

function hasFailed(test) {
  return test.status === "failed";
}

/** A test that breaks a promise on purpose says so in its name (docs/extend/tests.md). */
function isNegativeControl(name) {
  return /can fail|\(control\)|\bcontrol:|the control\b/.test(name ?? "");
}
