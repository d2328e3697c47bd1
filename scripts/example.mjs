// `npm run example NAME`: prepares the checkout, then runs an example in this same process, so that a signal reaches
// the example itself, which stops everything it has started. See start.mjs for the `exec` of the script line. An example
// that is kept shows the dashboard, which is built at the same time, as by start.mjs.
import { buildDashboardBeside } from "./build-dashboard.mjs";
import { ensure } from "./ensure.mjs";
import { runScript } from "./run.mjs";

await runScript(async () => {
  await ensure();
  if (process.argv.includes("--keep")) buildDashboardBeside();
  const { register } = await import("tsx/esm/api");
  register();
  const { runExamples } = await import("../examples/run.ts");
  return runExamples(process.argv.slice(2));
});
