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
  "dead code": ["node_modules/knip/bin/knip.js", "--no-progress"],
};

await runScript(async () => {
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(STEPS);
  const unknown = names.find((name) => !(name in STEPS));
  if (unknown !== undefined) {
    throw new ScriptFailure(`unknown step: ${unknown}; choose from ${Object.keys(STEPS).join(", ")}`, 2);
  }
  await ensureInstalled();
  const failed = [];
  for (const name of names) {
    const startedAt = performance.now();
    const [script, ...args] = STEPS[name];
    const exitCode = await run(process.execPath, [join(ROOT, script), ...args], { cwd: ROOT });
    if (exitCode > 128) return exitCode;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    process.stdout.write(`check: ${name} ${exitCode === 0 ? "ok" : "FAILED"} (${seconds} s)\n`);
    if (exitCode !== 0) failed.push(name);
  }
  if (failed.length > 0) throw new ScriptFailure(`check failed: ${failed.join(", ")}`);
});
