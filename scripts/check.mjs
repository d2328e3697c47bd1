// `npm run check`: all checks except the tests. With names of steps as arguments, only those run.
import { join } from "node:path";
import { ensureInstalled, ROOT } from "./ensure.mjs";
import { run, runScript, ScriptFailure } from "./run.mjs";

const STEPS = {
  types: ["node_modules/typescript/bin/tsc", "-p", "tsconfig.json"],
  "dashboard types": ["node_modules/typescript/bin/tsc", "-p", "dashboard/tsconfig.json"],
  lint: ["node_modules/oxlint/bin/oxlint", "--type-aware", "--deny-warnings", "--report-unused-disable-directives"],
  format: ["node_modules/oxfmt/bin/oxfmt", "--check"],
  imports: ["scripts/check-imports.mjs"],
  size: ["scripts/check-size.mjs"],
  words: ["scripts/check-words.mjs"],
  "dead code": ["node_modules/knip/bin/knip.js", "--no-progress"],
  advisories: ["scripts/check-advisories.mjs"],
};
/** Waits for the network, so it runs beside the others. */
const BESIDE = "advisories";
const WORDS = { 0: "ok", 77: "skipped" };

await runScript(async () => {
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(STEPS);
  const unknown = names.find((name) => !(name in STEPS));
  if (unknown !== undefined) {
    throw new ScriptFailure(`unknown step: ${unknown}; choose from ${Object.keys(STEPS).join(", ")}`, 2);
  }
  await ensureInstalled();
  const failed = [];
  const runStep = async (name) => {
    const startedAt = performance.now();
    const [script, ...args] = STEPS[name];
    const exitCode = await run(process.execPath, [join(ROOT, script), ...args], { cwd: ROOT });
    if (exitCode > 128) return exitCode;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const result = WORDS[exitCode] ?? "FAILED";
    process.stdout.write(`check: ${name} ${result} (${seconds} s)\n`);
    if (result === "FAILED") failed.push(name);
    return 0;
  };
  const beside = names.includes(BESIDE) ? runStep(BESIDE) : undefined;
  for (const name of names) {
    const exitCode = await (name === BESIDE ? 0 : runStep(name));
    if (exitCode > 128) return exitCode;
  }
  const exitCode = await beside;
  if (exitCode > 128) return exitCode;
  if (failed.length > 0) throw new ScriptFailure(`check failed: ${failed.join(", ")}`);
});
