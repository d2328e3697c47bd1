import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandFailure } from "../failure.ts";
import { getSurroundings } from "../surroundings.ts";

/** Of `bench` and `selftest`. */
export interface TrialFlags {
  dir: string;
  seconds: string;
  json?: boolean;
}

export type StartOwnGateway = typeof startOwnGateway;
export type OwnGateway = Awaited<ReturnType<StartOwnGateway>>;

const LAUNCHER = fileURLToPath(new URL("../../../bin/posthorn.js", import.meta.url));
const START_MS = 60_000;
const LISTENING = /"url":"([^"]+)".*"gateway is listening"/;

/** Runs with a temporary folder inside `dir`, so on its disk, and removes the folder afterwards. */
export async function withTrialFolder<Result>(
  dir: string,
  config: object,
  run: (folder: string) => Promise<Result>,
): Promise<Result> {
  let folder: string;
  try {
    folder = mkdtempSync(join(dir, ".posthorn-trial-"));
  } catch (error) {
    throw new CommandFailure(`${dir} cannot be written (${(error as Error).message}). Name another with --dir.`);
  }
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    writeFileSync(join(folder, "posthorn.yaml"), JSON.stringify(config));
    return await run(folder);
  } finally {
    remove();
    process.off("exit", remove);
  }
}

/**
 * A gateway that a command starts for itself, as a process that it may kill. No other gateway is touched. Starting in the
 * same folder again restarts the same gateway.
 */
export async function startOwnGateway(folder: string) {
  const key = randomBytes(24).toString("hex");
  const child = spawn(process.execPath, [LAUNCHER, "start"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: environmentFor(folder, key),
  });
  const end = () => void child.kill("SIGKILL");
  process.once("exit", end);
  let output = "";
  let hasStarted = false;
  const ended = once(child, "close").then(() => void process.off("exit", end));
  const url = await new Promise<string>((listening, fail) => {
    const late = setTimeout(() => {
      end();
      fail(new CommandFailure(`The gateway did not start within ${START_MS / 1000} s: ${output.slice(-2000)}`));
    }, START_MS);
    const read = (chunk: string): void => {
      if (hasStarted) return;
      output += chunk;
      const found = LISTENING.exec(output)?.[1];
      if (found === undefined) return;
      hasStarted = true;
      clearTimeout(late);
      listening(found);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    child.once("close", (code) => {
      clearTimeout(late);
      fail(new CommandFailure(`The gateway did not start (exit code ${code}): ${output.trim().slice(-2000)}`));
    });
  });
  const signal = (name: "SIGKILL" | "SIGTERM") => {
    child.kill(name);
    return ended;
  };
  /** `kill` is what the out-of-memory killer of Linux does; `stop` is clean. */
  return { url, key, kill: () => signal("SIGKILL"), stop: () => signal("SIGTERM") };
}

/** Of the user's own gateway, it keeps no setting. */
function environmentFor(folder: string, key: string): NodeJS.ProcessEnv {
  const own = Object.entries(getSurroundings().env).filter(([name]) => !/^(POSTHORN|AZURE)_/.test(name));
  return {
    ...Object.fromEntries(own),
    POSTHORN_ADMIN_KEY: key,
    POSTHORN_HOST: "127.0.0.1",
    POSTHORN_PORT: "0",
    POSTHORN_DATA_DIR: join(folder, "data"),
    POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
    POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
    POSTHORN_BALLAST_BYTES: "0",
    POSTHORN_LOG_LEVEL: "info",
  };
}
