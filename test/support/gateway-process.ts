import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PATIENCE_MS, until } from "./api-client.ts";
import type { BrokenPromises } from "./broken-promises.mjs";

/** The gateway as a real child process, from the build, so that it can be killed, traced and started again. */
export interface GatewayProcess {
  /** Rejects when the process ends before it listens. */
  readonly ready: Promise<string>;
  readonly ended: Promise<Ended>;
  readonly pid: number;
  /** What it has written so far. */
  readonly output: string;
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<Ended>;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
  endedAt: number;
}

export interface GatewayProcessOptions {
  /** Holds posthorn.yaml and the data directory; the same folder again is the same gateway started again. */
  folder: string;
  env?: Record<string, string> | undefined;
  broken?: BrokenPromises | undefined;
  /** A command that runs the gateway as its tracee and stays in the background, with its arguments. */
  tracer?: readonly string[] | undefined;
  /** How far its clock is ahead of the machine's. */
  clockAheadMs?: number | undefined;
  /** A copy of ours, in another checkout with a build of its own. */
  entry?: string | undefined;
}

export const ADMIN_KEY = "test-admin-key-0123456789";
const ENTRY = fileURLToPath(new URL("gateway-entry.mjs", import.meta.url));
const READY = /^ready (\S+)$/m;

export const dataDirOf = (folder: string) => join(folder, "data");
export const databaseOf = (folder: string) => join(dataDirOf(folder), "posthorn.db");

export function startGatewayProcess(options: GatewayProcessOptions): GatewayProcess {
  const { folder, env, broken, tracer = [], clockAheadMs = 0, entry = ENTRY } = options;
  const [command, ...args] = [...tracer, process.execPath, entry, JSON.stringify(broken ?? {}), String(clockAheadMs)];
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      POSTHORN_PORT: "0",
      POSTHORN_DATA_DIR: dataDirOf(folder),
      POSTHORN_ADMIN_KEY: ADMIN_KEY,
      POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
      POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
      POSTHORN_DISK_MIN_FREE_BYTES: "0",
      POSTHORN_BALLAST_BYTES: "0",
      POSTHORN_LOG_LEVEL: "warn",
      // Short of the cores that several gateways share in a test; shedding has tests of its own.
      POSTHORN_MAX_LOOP_LAG_MS: "60000",
      ...env,
    },
  });
  let output = "";
  const ended = new Promise<Ended>((resolve, reject) => {
    let endedAt = 0;
    child.once("error", reject);
    child.once("exit", () => (endedAt = performance.now()));
    child.once("close", (code, signal) => resolve({ code, signal, output, endedAt }));
  });
  const ready = new Promise<string>((resolve, reject) => {
    const collect = (chunk: string): void => {
      output += chunk;
      const url = READY.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout.setEncoding("utf8").on("data", collect);
    child.stderr.setEncoding("utf8").on("data", collect);
    ended.then(({ code }) => reject(new Error(`the gateway ended with code ${code}: ${output}`)), reject);
  });
  ready.catch(() => undefined);
  return {
    ready,
    ended,
    pid: child.pid ?? 0,
    get output() {
      return output;
    },
    kill(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** Resolves when no delivery is open any more. */
export async function drained(url: string, timeoutMs = PATIENCE_MS): Promise<void> {
  await until(
    async () => {
      const response = await fetch(`${url}/status`, { headers: { "x-api-key": ADMIN_KEY } });
      return ((await response.json()) as { queue_length: number }).queue_length === 0;
    },
    timeoutMs,
    "an empty queue",
  );
}

export interface DeclaredSubscription {
  name: string;
  url: string;
  ordered?: boolean;
  status?: "active" | "inactive";
  delaysS?: readonly number[];
}

/** A source `load` with an ordering key, and these subscriptions to all that it receives. */
export function writeGatewayFolder(folder: string, subscriptions: readonly DeclaredSubscription[]): void {
  mkdirSync(folder, { recursive: true });
  const config = {
    sources: [{ name: "load", ordering_key_from: "header:x-key" }],
    subscriptions: subscriptions.map(({ name, url, ordered = false, status = "active", delaysS }) => ({
      name,
      url,
      ordered,
      status,
      events: ["webhook.load"],
      ...(delaysS === undefined ? {} : { retry_policy: { delays_s: delaysS } }),
    })),
  };
  writeFileSync(join(folder, "posthorn.yaml"), JSON.stringify(config));
}
