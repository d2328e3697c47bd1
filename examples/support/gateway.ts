import { type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, cpSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createApiClient, type ApiClient } from "../../test/support/api-client.ts";
import { findFreePort } from "../../test/support/free-port.ts";
import { LAUNCHER } from "../../test/support/run-cli.ts";
import { runCommand } from "../../test/support/run-command.ts";
import { PROJECT_ROOT } from "../../test/support/sample-checkout.ts";
import { endService, startService } from "../../test/support/services/child-service.ts";
import type { Story } from "./example.ts";

/** A gateway as a process of its own, with a copy of the example's folder and data that end with the example. */
export interface ExampleGateway {
  readonly url: string;
  readonly key: string;
  readonly folder: string;
  readonly database: string;
  readonly api: ApiClient;
  /** Like SIGTERM by an operator, or like a power cut. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Again, with what it had, on the same port. */
  start(): Promise<void>;
  /** `posthorn …` against it: told with what it prints, unless it is done quietly. Throws when it fails. */
  posthorn(args: readonly string[], options?: { isQuiet?: boolean; shownAs?: string }): Promise<string>;
}

export interface ExampleGatewayOptions {
  /** For the list of what was stopped. */
  name: string;
  /** Under `examples/`. */
  example: string;
  /** Of the example; read by the gateway as `posthorn.yaml`. */
  config: string;
  env: (place: { url: string }) => Readonly<Record<string, string>>;
  /** What differs from the example, so that nobody has to wait for minutes. */
  change?: (yaml: string) => string;
}

/** The gateway of a folder is started later where something must be done first: a queue must be made, say. */
export async function openGateway(story: Story, options: ExampleGatewayOptions): Promise<ExampleGateway> {
  const { name, example, config, change = (yaml) => yaml } = options;
  const folder = mkdtempSync(join(tmpdir(), "posthorn-example-"));
  cpSync(join(PROJECT_ROOT, "examples", example), folder, { recursive: true });
  const yaml = change(readFileSync(join(folder, config), "utf8"));
  writeFileSync(join(folder, "posthorn.yaml"), story.settings.changeConfig?.(yaml) ?? yaml);
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const key = `example-${randomBytes(16).toString("hex")}`;
  const logFile = join(folder, "gateway.log");
  const env = createEnvironment(folder, { key, url, port, own: options.env({ url }) });
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    story.world.guard();
    const log = openSync(logFile, "a");
    const started = startService(process.execPath, [LAUNCHER, "start"], { env, output: log, cwd: folder });
    child = started;
    closeSync(log);
    await story.until(`the gateway's start (${name})`, async () => {
      if (started.exitCode !== null) throw new Error(`the gateway has ended:\n${readFileSync(logFile, "utf8")}`);
      return isReady(url);
    });
  }

  async function stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const stopped = child;
    child = undefined;
    if (stopped !== undefined) await endService(stopped, signal);
  }

  const gateway: ExampleGateway = {
    url,
    key,
    folder,
    database: join(folder, "data/posthorn.db"),
    api: createApiClient({ url: () => url }, key),
    start,
    stop,
    async posthorn(args, { isQuiet = false, shownAs = `posthorn ${args.join(" ")}` } = {}) {
      const { exitCode, stdout, stderr } = await runCommand(process.execPath, [LAUNCHER, ...args], folder, env);
      if (exitCode !== 0) throw new Error(`${shownAs} ended with ${exitCode}:\n${stderr}${stdout}`);
      if (!isQuiet) story.command(shownAs, stdout);
      return stdout;
    },
  };
  return story.world.own(name, Promise.resolve(gateway), async () => {
    // Its data goes with it: there is nothing to stop in an orderly way for.
    await stop("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

interface Place {
  key: string;
  url: string;
  port: number;
  own: Readonly<Record<string, string>>;
}

/** Nothing of what is set for another gateway. */
function createEnvironment(folder: string, { key, url, port, own }: Place): NodeJS.ProcessEnv {
  const foreign = Object.keys(process.env).filter((name) => /^(POSTHORN|DAIRY|SMARTSHEET|AZURE|N8N)_/.test(name));
  return {
    ...process.env,
    ...Object.fromEntries(foreign.map((name) => [name, undefined])),
    POSTHORN_PORT: String(port),
    POSTHORN_DATA_DIR: join(folder, "data"),
    POSTHORN_ADMIN_KEY: key,
    POSTHORN_API_KEY: key,
    POSTHORN_URL: url,
    POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
    POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
    // It is gone in a minute: it neither reserves disk nor turns anybody away because the machine is busy.
    POSTHORN_BALLAST_BYTES: "0",
    POSTHORN_DISK_MIN_FREE_BYTES: "0",
    POSTHORN_MAX_LOOP_LAG_MS: "60000",
    ...own,
  };
}

/** As a reader in the checkout would write it. */
export const CLI = `node ${relative(PROJECT_ROOT, LAUNCHER)}`;

export function describeGateway({ url, key }: ExampleGateway): readonly (readonly [string, string])[] {
  return [
    ["gateway", `${url}  (API reference: ${url}/docs)`],
    ["dashboard", `${url}/  (sign in with the key)`],
    ["key", key],
  ];
}

export const exportsOf = ({ url, key }: ExampleGateway) => `export POSTHORN_URL=${url} POSTHORN_API_KEY=${key}`;
