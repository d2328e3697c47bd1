// Runs a command for as long as whoever started this is there, and no longer: a pipe that ends tells so, however they
// ended. Usage: node keeper.mjs command args…, as the leader of a group, with a pipe as standard input
import { spawn } from "node:child_process";

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"] });
child.once("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
child.once("exit", (exitCode) => process.exit(exitCode ?? 1));
process.stdin.once("end", () => process.kill(-process.pid, "SIGKILL")).resume();
