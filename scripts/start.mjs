// `npm start`: makes the checkout ready, then becomes `posthorn start` in this very process, so that a signal reaches
// the gateway itself and its exit code is ours. The script line says `exec`, because otherwise npm's shell stays in
// between: it would die of a SIGTERM and leave the gateway behind.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensure, ROOT } from "./ensure.mjs";
import { runScript } from "./run.mjs";

await runScript(() => ensure());

if (process.exitCode === 0) {
  process.exitCode = undefined;
  const launcher = join(ROOT, "bin/posthorn.js");
  process.argv = [process.argv[0], launcher, "start", ...process.argv.slice(2)];
  await import(pathToFileURL(launcher).href);
}
