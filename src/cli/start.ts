import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { checkFiles } from "../config/check-files.ts";
import { listChangedSettings, type Config } from "../config/settings-tree.ts";
import { loadConfig, type LoadInput, locateDeclared } from "../config/load.ts";
import { VERSION } from "../config/version.ts";
import { PosthornError } from "../model/errors.ts";
import type { Gateway } from "../gateway.ts";
import { writePrivateFile } from "../resources/secret-box.ts";
import { endEarlyThreads, startThreadsEarly } from "../store/sqlite/thread-starts.ts";
import type { Activity } from "../telemetry/activity.ts";
import { createDescriptorOutput } from "../telemetry/log-output.ts";
import { createLogger, type Logger, type LogOutput } from "../telemetry/logger.ts";
import { createActivityLines } from "./activity-lines.ts";
import { ADMIN_KEY_FILE } from "./connect.ts";
import { describeFailure, findExitCode } from "./failure.ts";
import { roomForBuffers } from "./heap.ts";
import { formatFacts, note } from "./output.ts";
import { getSurroundings } from "./surroundings.ts";
import { findTerminal } from "./terminal.ts";

type StartFlags = NonNullable<LoadInput["flags"]> & { config?: string; json?: boolean };

const STDOUT = 1;
/** The first file descriptor that systemd passes. */
const FIRST_LISTEN_FD = 3;
const SIGN_IN_FILE = "sign-in-link";
/** npm passes on a Ctrl+C that the terminal has already sent to the gateway itself: both count as one signal. */
const SAME_SIGNAL_MS = 500;
const STOP_GRACE_MS = 2000;

/** Runs until a signal ends it, then ends the process. */
export async function runStart(flags: StartFlags): Promise<void> {
  const { config: file, json, ...settings } = flags;
  const { env, envFile, cwd, stdout } = getSurroundings();
  const input: LoadInput = { env, cwd, file, flags: settings };
  const loaded = loadConfig(input);
  checkFiles(loaded);
  const { config, warnings } = loaded;
  roomForBuffers();
  startThreadsEarly();
  const isTerminal = stdout.isTTY === true && json !== true;
  // One output for the log and the banner, so that they stay in order.
  const output = createDescriptorOutput(STDOUT);
  const logger = createLogger({
    level: config.logLevel,
    file: config.logFile,
    maxBytes: config.limits.logFileMaxBytes,
    keep: config.limits.logFileKeep,
    pretty: isTerminal,
    stdout: isTerminal ? output : undefined,
    hasColour: isTerminal && findTerminal().hasColour,
  });
  if (envFile !== undefined) logger.info({ file: envFile }, "variables are also read from a file");
  for (const detail of warnings) logger.warn({ detail }, "configuration warning");

  let hasStoreFailed = false;
  const exit = (code: number): never => {
    logger.close();
    // A gateway that was just stopping may have stopped cleanly apart from this error.
    process.exit(hasStoreFailed ? 1 : code);
  };
  const dieOf = (error: unknown): never => {
    logger.fatal({ error }, "unexpected error, the gateway stops");
    return exit(1);
  };
  process.on("uncaughtException", dieOf);
  process.on("unhandledRejection", dieOf);

  const { startGateway } = await import("../gateway.ts");
  const starting = startGateway(config, {
    logger,
    activity: isTerminal && config.accessLog && logger.isLevelEnabled("info") ? watchActivity(output) : undefined,
    listenFd: findListenFd(env),
    onFatal() {
      hasStoreFailed = true;
      // The rejections just written are sent in this turn of the event loop.
      setImmediate(exit, 1);
    },
  });
  handleSignals({ starting, logger, input, config, exit, isTerminal });

  try {
    printBanner(await starting, config, isTerminal ? output : undefined);
  } catch (fault) {
    const error = locateDeclared(fault, loaded);
    if (!(error instanceof PosthornError)) logger.fatal({ error }, "the gateway could not start");
    note(describeFailure(error));
    await endEarlyThreads();
    // Resources opened before the failure would keep the process alive.
    exit(findExitCode(error));
  }
  // Never resolves: the process ends first.
  await new Promise<never>(() => undefined);
}

function watchActivity(output: LogOutput): Activity {
  return createActivityLines({
    write: (line) => void output.write(`${line}\n`),
    findTerminal,
    now: Date.now,
    later: (run, ms) => void setTimeout(run, ms).unref(),
  });
}

function handleSignals({
  starting,
  logger,
  input,
  config: inForce,
  isTerminal,
  exit,
}: {
  starting: Promise<Gateway>;
  logger: Logger;
  input: LoadInput;
  config: Config;
  isTerminal: boolean;
  exit: (code: number) => never;
}): void {
  const stopWithinMs = inForce.limits.shutdownTimeoutS * 1000;
  let stoppingSince: number | undefined;
  let running: Gateway | undefined;
  starting.then((gateway) => (running = gateway)).catch(() => undefined);
  let reloading: Promise<unknown> = Promise.resolve();

  function stop(signal: string): void {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince < SAME_SIGNAL_MS) return;
      logger.warn({ signal }, "second stop signal, ending immediately");
      running?.endNow();
      exit(1);
    }
    stoppingSince = performance.now();
    // A failed start has already reported its reason.
    starting
      .then((gateway) => {
        setTimeout(() => {
          logger.error("the gateway did not stop in time");
          gateway.endNow();
          exit(1);
        }, stopWithinMs + STOP_GRACE_MS).unref();
        return gateway.stop();
      })
      .then(() => exit(0))
      .catch((error: unknown) => {
        logger.fatal({ error }, "the gateway could not stop cleanly");
        exit(1);
      });
  }

  async function reload(): Promise<void> {
    try {
      const loaded = loadConfig(input);
      const { config, warnings } = loaded;
      for (const detail of warnings) logger.warn({ detail }, "configuration warning");
      const gateway = await starting;
      await gateway.reload(config).catch((error: unknown) => {
        throw locateDeclared(error, loaded);
      });
      const settings = listChangedSettings(inForce, config);
      if (settings.length > 0) logger.warn({ settings }, "changed settings need a restart");
    } catch (error) {
      logger.error({ error }, "the configuration was not reloaded, the old one stays in use");
    }
  }

  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("SIGHUP", (signal) => {
    if (isTerminal && !hasTerminal()) return stop(signal);
    reloading = reloading.then(reload);
  });
}

/** A closed terminal sends SIGHUP too; a gateway without a terminal to stop it from would keep the port. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

/** sd_listen_fds(3): the variables are only for the process whose id they name, not for its children. */
function findListenFd(env: Environment): number | undefined {
  const isMeant = Number(env["LISTEN_PID"]) === process.pid && Number(env["LISTEN_FDS"]) >= 1;
  return isMeant ? FIRST_LISTEN_FD : undefined;
}

function printBanner({ url, newAdminKey }: Gateway, { dataDir, dev }: Config, terminal: LogOutput | undefined): void {
  const keep = (what: string, text: string, file: string): boolean => {
    const path = join(dataDir, file);
    const isKept = keepPrivately(what, text, path);
    if (isKept && terminal === undefined) note(`${what} is in ${path}`);
    return isKept;
  };
  if (terminal === undefined) {
    if (newAdminKey === undefined) return;
    keep("the new admin key", newAdminKey.key, ADMIN_KEY_FILE);
    keep("a link that signs in once", newAdminKey.signInUrl, SIGN_IN_FILE);
    return;
  }
  // On one's own machine, commands find the key by themselves: nobody has to copy it from window to window.
  const isKept = dev && newAdminKey !== undefined && keep("the new admin key", newAdminKey.key, ADMIN_KEY_FILE);
  const key = newAdminKey?.key;
  const shown = isKept ? [`${key}`, "commands in this folder find it by themselves"] : `${key}  (shown once)`;
  const facts = formatFacts([
    ["  address", url],
    ["  dashboard", newAdminKey?.signInUrl ?? url],
    ["  API reference", `${url}/docs`],
    ["  data", dataDir],
    ["  mode", dev ? "development: destinations on this machine, also without TLS" : undefined],
    ["  admin key", key === undefined ? undefined : shown],
    ["  stop", "Ctrl+C"],
    ["  next", "in another terminal"],
  ]);
  terminal.write(`\n  Posthorn ${VERSION}\n${facts}\n  ${nextStep(url, isKept ? undefined : key)}\n\n`);
}

/** A key that is shown only now is part of the command. On its own line, so that it fits a narrow terminal. */
function nextStep(url: string, newAdminKey: string | undefined): string {
  if (newAdminKey !== undefined) return `export POSTHORN_API_KEY=${newAdminKey}`;
  return `curl -H content-type:application/json -d {} ${url}/webhook/hello`;
}

/** Writes what is shown only once to a file that only the gateway's user can read. */
function keepPrivately(what: string, text: string, path: string): boolean {
  try {
    writePrivateFile(path, `${text}\n`);
    return true;
  } catch (error) {
    note(
      `${what} could not be written to ${path} (${(error as Error).message}). ` +
        "Create another key with `posthorn keys create --local`.",
    );
    return false;
  }
}
