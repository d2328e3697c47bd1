import { EXIT_INTERRUPTED } from "./failure.ts";
import { runCommandLine } from "./program.ts";

// `posthorn events | head` closes the pipe early; that is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

const exitCode = await runCommandLine(process.argv.slice(2));
// The answer that the command no longer waits for would keep the process alive.
if (exitCode === EXIT_INTERRUPTED) process.exit(exitCode);
process.exitCode = exitCode;
