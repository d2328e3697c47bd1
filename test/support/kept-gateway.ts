import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { BrokenPromises } from "./broken-promises.mjs";
import { databaseOf, dataDirOf, startGatewayProcess, type GatewayProcess } from "./gateway-process.ts";

/** A gateway as a process that is started again, in the same folder, whenever it was killed. */
export interface KeptGateway {
  readonly database: string;
  /** Undefined while it does not run. */
  url(): string | undefined;
  kill(): Promise<void>;
  /** Kills it, and its disk is lost: it starts anew with its configuration only. */
  loseDisk(): Promise<void>;
  /** In order; `start` starts it again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function keepGateway(folder: string, config: object, broken?: BrokenPromises): Promise<KeptGateway> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "posthorn.yaml"), JSON.stringify(config));
  let running: GatewayProcess | undefined;
  let url: string | undefined;

  async function start(): Promise<void> {
    running = startGatewayProcess({ folder, broken });
    url = await running.ready;
  }

  async function end(signal: "SIGKILL" | "SIGTERM", expected: object): Promise<void> {
    const ending = running;
    running = undefined;
    url = undefined;
    if (ending !== undefined) expect(await ending.kill(signal)).toMatchObject(expected);
  }

  await start();
  return {
    database: databaseOf(folder),
    url: () => url,
    async kill() {
      await end("SIGKILL", { signal: "SIGKILL" });
      await start();
    },
    async loseDisk() {
      await end("SIGKILL", { signal: "SIGKILL" });
      rmSync(dataDirOf(folder), { recursive: true, force: true });
      await start();
    },
    stop: () => end("SIGTERM", { code: 0 }),
    start,
  };
}
