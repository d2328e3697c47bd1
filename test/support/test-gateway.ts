import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ALERT_RULE_NAMES } from "../../src/model/alert-rules.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/config/settings-tree.ts";
import { startGateway, type Gateway } from "../../src/gateway.ts";
import type { PartMakers } from "../../src/gateway/start.ts";
import type { Scope } from "../../src/model/scopes.ts";
import type { KindWithSender } from "../../src/destinations/senders.ts";
import type { Plugin } from "../../src/plugin.ts";
import type { SourceKind } from "../../src/sources/source-kind.ts";
import { createLogger } from "../../src/telemetry/logger.ts";
import { createApiClient, until, type ApiClient } from "./api-client.ts";
import { breakPromises, type BrokenPromises } from "./broken-promises.mjs";
import { createMovableTime } from "./movable-time.ts";
import { MEMORY_FOLDER } from "./memory-folder.ts";

/** A whole gateway in this process, on a free port of loopback and with a folder of its own. */
export interface TestGateway extends ApiClient {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** What it logged so far, over all its starts. */
  readonly log: readonly LogLine[];
  /** The same as text, for finding what must not be there. */
  logText(): string;
  /** What called for the end of the process. */
  readonly fatal: readonly Error[];
  /** Makes a key with the admin key, which a test must not have replaced. */
  createKey(scopes: readonly Scope[], tenantId?: string): Promise<string>;
  /** A client with another key, or without one. */
  as(key: string | undefined): ApiClient;
  /** What its clock shows: the machine's time and what it was moved on by. */
  now(): number;
  /** Moves its clock on, also while it is stopped. */
  moveClock(byMs: number): void;
  /**
   * Moves its clock on until something is true: for what waits for a retry, a check or a round. A second at a time, unless
   * it is far away.
   */
  moveClockUntil(isTrue: () => boolean | Promise<boolean>, step?: { what?: string; seconds?: number }): Promise<void>;
  /** Its time passes only by `moveClock` until the returned function is called: for what fills up as time goes by. */
  holdClock(): () => void;
  /** For the next test: what was open is cancelled. */
  deleteSubscriptions(): Promise<void>;
  /** Takes over another `posthorn.yaml` while it runs. */
  reload(yaml: string): Promise<void>;
  /** Ends it and starts it again on the same folder; the port stays. */
  restart(change?: Pick<TestGatewayOptions, "yaml" | "env" | "broken" | "makers" | "destinationKinds">): Promise<void>;
  stop(): Promise<void>;
  /** Ends it, if that was not done, and removes its folder. */
  close(): Promise<void>;
}

export interface TestGatewayOptions {
  /** The text of `posthorn.yaml`. */
  yaml?: string;
  /** More settings, by their environment names without `POSTHORN_`. */
  env?: Readonly<Record<string, string | number | boolean>>;
  broken?: BrokenPromises;
  makers?: PartMakers;
  listenFd?: number;
  sourceKinds?: readonly SourceKind[];
  plugins?: readonly Plugin[];
  destinationKinds?: readonly KindWithSender[];
  httpCloseMs?: number;
  /** Lays files into the data directory before the first start. */
  prepare?: (dataDir: string) => void;
  /** What its clock shows at the first start, in unix milliseconds; the machine's time by default. */
  startAt?: number;
}

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/** A gateway that looks for what is wrong, every second. */
export const ALERTING = { ALERTS_ENABLED: true, ALERTS_EVERY_S: 1 } as const;
/** One alert for dead letters, which is told once and does not end: nothing else changes in the background. */
export const STEADY_ALERT = `alerts: { rules: [${ALERT_RULE_NAMES.map((rule) =>
  rule === "dead_letters"
    ? `{ rule: ${rule}, cool_down_s: 2592000, clears_after: 1000 }`
    : `{ rule: ${rule}, enabled: false }`,
).join(", ")}] }`;

export const ADMIN_KEY = "test-admin-key-0123456789";

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-gateway-"));
  const dataDir = join(folder, "data");
  const lines: string[] = [];
  const fatal: Error[] = [];
  const time = createMovableTime(options.startAt);
  let current = { ...options };
  let gateway: Gateway | undefined;
  let url = "";

  function load(): Config {
    const file = join(folder, "posthorn.yaml");
    writeFileSync(file, current.yaml ?? "");
    const settings = Object.entries(current.env ?? {}).map(([name, value]) => [`POSTHORN_${name}`, String(value)]);
    const env = {
      POSTHORN_PORT: url === "" ? "0" : new URL(url).port,
      POSTHORN_DATA_DIR: dataDir,
      POSTHORN_ADMIN_KEY: ADMIN_KEY,
      POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
      POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
      POSTHORN_BALLAST_BYTES: "0",
      POSTHORN_DISK_MIN_FREE_BYTES: "0",
      // What is told of failures that a test makes on purpose would be among the events that it counts.
      POSTHORN_ALERTS_ENABLED: "false",
      // Slow machines and the test itself, on the same loop, are no overload.
      POSTHORN_MAX_LOOP_LAG_MS: "60000",
      ...Object.fromEntries(settings),
    };
    return loadConfig({ env, cwd: folder, file }).config;
  }

  async function start(): Promise<void> {
    const config = load();
    const logger = createLogger({
      level: config.logLevel,
      maxBytes: config.limits.logFileMaxBytes,
      keep: 1,
      pretty: false,
      stdout: { write: (line) => lines.push(line) },
    });
    const started = await startGateway(config, {
      logger,
      listenFd: current.listenFd,
      time,
      makers: { ...current.makers, ...breakPromises(current.broken ?? {}) },
      sourceKinds: current.sourceKinds,
      plugins: current.plugins,
      destinationKinds: current.destinationKinds,
      httpCloseMs: current.httpCloseMs,
      onFatal: (error) => fatal.push(error),
    });
    url = started.url;
    gateway = {
      ...started,
      async stop() {
        await started.stop();
        logger.close();
      },
    };
  }

  async function stop(): Promise<void> {
    const running = gateway;
    gateway = undefined;
    await running?.stop();
  }

  const place = { url: () => url };
  const admin = createApiClient(place, ADMIN_KEY);
  options.prepare?.(dataDir);
  await start().catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  return {
    ...admin,
    get url() {
      return url;
    },
    get port() {
      return Number(new URL(url).port);
    },
    dataDir,
    get log() {
      return lines.map((line) => JSON.parse(line) as LogLine);
    },
    logText: () => lines.join(""),
    fatal,
    async createKey(scopes, tenantId) {
      const wanted = { name: `${tenantId ?? "all"}: ${scopes.join(", ")}`, scopes, tenant_id: tenantId };
      const answer = await admin.post("/api/v1/keys", wanted);
      if (answer.status !== 201) throw new Error(`no key: ${answer.status} ${answer.text}`);
      return String(answer.json["key"]);
    },
    as: (key) => createApiClient(place, key),
    now: time.wall,
    moveClock: time.moveOn,
    moveClockUntil(isTrue, { what, seconds = 1 } = {}) {
      const isTrueLater = async () => {
        if (await isTrue()) return true;
        time.moveOn(seconds * 1000);
        return false;
      };
      return until(isTrueLater, undefined, what);
    },
    holdClock: time.hold,
    async deleteSubscriptions() {
      const { data } = (await admin.get("/api/v1/subscriptions?limit=500")).json as { data: { id: string }[] };
      for (const { id } of data) {
        const { status } = await admin.request("DELETE", `/api/v1/subscriptions/${id}`);
        if (status !== 200 && status !== 204) throw new Error(`${id} is not deleted: ${status}`);
      }
    },
    async reload(yaml) {
      current = { ...current, yaml };
      await gateway?.reload(load());
    },
    async restart(change = {}) {
      await stop();
      current = { ...current, ...change };
      await start();
    },
    stop,
    async close() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
