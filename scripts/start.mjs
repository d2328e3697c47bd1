// `npm start`: prepares the checkout, then runs `posthorn start` in this same process, so that a signal reaches
// the gateway itself and its exit code is ours. The script line uses `exec`, because otherwise npm's shell stays in
// between: a SIGTERM would end the shell and leave the gateway running. The dashboard is built at the same time, in a
// separate process; until it is ready, the gateway says so.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildDashboardBeside } from "./build-dashboard.mjs";
import { ensure, ROOT } from "./ensure.mjs";
import { runScript } from "./run.mjs";

await runScript(() => ensure("start"));

if (process.exitCode === 0) {
  process.exitCode = undefined;
  buildDashboardBeside();
  const launcher = join(ROOT, "bin/posthorn.js");
  process.argv = [process.argv[0], launcher, "start", ...process.argv.slice(2)];
  await import(pathToFileURL(launcher).href);
}
