// Azurite, Microsoft's emulator of Azure Storage, on ports of its own.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findFreePort } from "../free-port.ts";
import { endService, startOnFreePorts, startService, untilListening } from "./child-service.ts";

export interface Azurite {
  connectionString: string;
  /** Of its process, while it runs. */
  pids(): readonly number[];
  /** Writes what it holds to its folder first. */
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Again, on the same ports, with what it wrote when it was stopped; after `kill` some of that may be missing. */
  start(): Promise<void>;
  /** Deletes what it wrote, while it does not run. */
  empty(): void;
  /** Its time goes on by that, for good: what is hidden for less is seen again. */
  moveClock(byMs: number): Promise<void>;
  /** Stops it and deletes what it wrote. */
  close(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL("../../../node_modules/azurite/dist/src/azurite.js", import.meta.url));
const MOVABLE_DATE = new URL("./movable-date.mjs", import.meta.url).href;
/** The same for everybody: Microsoft publishes it. */
const ACCOUNT = "devstoreaccount1";
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/** Undefined where it is not installed. */
export async function startAzurite(): Promise<Azurite | undefined> {
  return existsSync(PROGRAM) ? startOnFreePorts(startOnce) : undefined;
}

async function startOnce(): Promise<Azurite> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-azurite-"));
  const data = join(folder, "data");
  const log = join(folder, "output.log");
  mkdirSync(data);
  const [blobPort, queuePort, tablePort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const clockPort = await findFreePort();
  const args = [
    "--import",
    MOVABLE_DATE,
    PROGRAM,
    "--silent",
    "--skipApiVersionCheck",
    "--disableTelemetry",
    `--location=${data}`,
    `--blobPort=${blobPort}`,
    `--queuePort=${queuePort}`,
    `--tablePort=${tablePort}`,
  ];
  let child: ChildProcess | undefined;
  let laterMs = 0;

  async function start(): Promise<void> {
    const env = { ...process.env, CLOCK_PORT: String(clockPort), CLOCK_LATER_MS: String(laterMs) };
    const output = openSync(log, "a");
    child = startService(process.execPath, args, { env, output });
    closeSync(output);
    await untilListening(child, [blobPort, queuePort, tablePort, clockPort], () => readFileSync(log, "utf8"));
  }

  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (child !== undefined) await endService(child, signal);
    child = undefined;
  }

  const url = (port: number) => `http://127.0.0.1:${port}/${ACCOUNT}`;
  const azurite: Azurite = {
    connectionString: [
      "DefaultEndpointsProtocol=http",
      `AccountName=${ACCOUNT}`,
      `AccountKey=${KEY}`,
      `BlobEndpoint=${url(blobPort)}`,
      `QueueEndpoint=${url(queuePort)}`,
    ].join(";"),
    pids: () => (child?.pid === undefined ? [] : [child.pid]),
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    start,
    empty() {
      for (const name of readdirSync(data)) rmSync(join(data, name), { recursive: true, maxRetries: 5 });
    },
    async moveClock(byMs) {
      laterMs += byMs;
      const socket = connect(clockPort, "127.0.0.1").end(String(byMs));
      await once(socket.resume(), "close");
    },
    async close() {
      await end("SIGKILL");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    await start();
  } catch (error) {
    await azurite.close();
    throw error;
  }
  return azurite;
}
