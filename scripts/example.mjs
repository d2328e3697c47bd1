// `npm run example NAME`: makes the checkout ready, then runs an example in this very process, so that a signal reaches
// the example itself, which stops all that it has started. See start.mjs for the `exec` of the script line.
import { ensure } from "./ensure.mjs";
import { runScript } from "./run.mjs";

await runScript(async () => {
  await ensure();
  const { register } = await import("tsx/esm/api");
  register();
  const { runExamples } = await import("../examples/run.ts");
  return runExamples(process.argv.slice(2));
});
