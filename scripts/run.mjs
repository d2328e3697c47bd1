// Child processes for the scripts: output goes straight through, and a signal to us ends the child first.
import { spawn } from "node:child_process";

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** Resolves with the exit code; a process ended by a signal counts as 128 + its number. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: "inherit", ...options });
    const forward = (signal) => child.kill(signal);
    const stopForwarding = () => Object.keys(SIGNALS).forEach((signal) => process.off(signal, forward));
    Object.keys(SIGNALS).forEach((signal) => process.on(signal, forward));
    child.once("error", (error) => {
      stopForwarding();
      reject(error);
    });
    child.once("close", (code, signal) => {
      stopForwarding();
      resolve(code ?? SIGNALS[signal] ?? 1);
    });
  });
}

/** A failure that is reported in one line and ends the script with `exitCode`. */
export class ScriptFailure extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Also as the bundler says it, whose errors have no code. */
export function isDiskFull(error) {
  return ["ENOSPC", "EDQUOT"].includes(error.code) || /no space left on device/i.test(error.message);
}

export function fullDisk(place) {
  return new ScriptFailure(`no space is left on the disk of ${place}: free some there, then try again`);
}

/** Runs a script's main function; a ScriptFailure is printed as one line, and so is a full disk. */
export async function runScript(main) {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    const failure = isDiskFull(error) ? fullDisk(error.path ?? process.cwd()) : error;
    if (!(failure instanceof ScriptFailure)) throw error;
    process.stderr.write(`posthorn: ${failure.message}\n`);
    process.exitCode = failure.exitCode;
  }
}
