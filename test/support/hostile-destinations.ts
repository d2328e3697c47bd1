import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { createApiClient, until, type ApiClient, type ShownDelivery } from "./api-client.ts";
import { EXPIRED_PAIR, SERVER_PAIR, TEST_CA, WRONG_HOST_PAIR } from "./certificates.ts";
import { ADMIN_KEY, startGatewayProcess } from "./gateway-process.ts";

const SCRIPT = fileURLToPath(new URL("hostile-destinations.mjs", import.meta.url));

export interface HostileDestination {
  name: string;
  url: string;
  isTrusted: boolean;
}

export interface HostileAttempt {
  kind: string;
  durationMs: number;
  result: string;
  error: unknown;
}

/** A built gateway before destinations that mean no good, in a process of their own. */
export interface HostileWorld {
  readonly client: ApiClient;
  /** One that behaves well, and all the kinds that do not. */
  readonly wellBehaved: HostileDestination;
  readonly kinds: readonly HostileDestination[];
  /** One subscription for each kind; their names by their ids. */
  subscribeToAll(settings: Readonly<Record<string, unknown>>): Promise<ReadonlyMap<string, string>>;
  /** Of the gateway; asking it would cost it more than the hostile ones do. */
  readRssMb(): Promise<number>;
  /** Established connections to the hostile ones, as the system lists them (Linux only). */
  countSockets(): number;
  /** Resolves when nothing is being sent. */
  untilQuiet(): Promise<void>;
  listAttempts(subscriptions: ReadonlyMap<string, string>): Promise<HostileAttempt[]>;
  /** Ends what they hold. */
  unsubscribe(ids: Iterable<string>): Promise<void>;
}

/** Gone after the test, at whose end the gateway must have had nothing to complain of. */
export async function openHostileWorld(): Promise<HostileWorld> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-hostile-"));
  const hostile = await openHostile();
  const gateway = startGatewayProcess({ folder, env: { POSTHORN_LOG_LEVEL: "error" } });
  const url = await gateway.ready;
  const client = createApiClient({ url: () => url }, ADMIN_KEY);
  onTestFinished(async () => {
    const { code, output } = await gateway.kill("SIGTERM");
    await hostile.close();
    rmSync(folder, { recursive: true, force: true });
    expect([code, output.replace(/^ready .*\n/m, "")]).toEqual([0, ""]);
  });
  const [wellBehaved, ...kinds] = hostile.destinations as [HostileDestination, ...HostileDestination[]];
  const ports = new Set(kinds.map((kind) => Number(new URL(kind.url).port)));
  return {
    client,
    wellBehaved,
    kinds,
    async subscribeToAll(settings) {
      const subscriptions = new Map<string, string>();
      for (const { name, url: to, isTrusted } of kinds) {
        const auth = to.startsWith("https:") && isTrusted ? { auth: { type: "ca", ca: TEST_CA } } : {};
        const { id } = await client.subscribe({ name, url: to, ...settings, ...auth });
        subscriptions.set(id, name);
      }
      return subscriptions;
    },
    readRssMb: async () =>
      process.platform === "linux"
        ? Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) / 1024
        : (await readMetric(client, "process_resident_memory_bytes")) / 1_048_576,
    countSockets() {
      if (process.platform !== "linux") return 0;
      const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
      return rows.filter((row) => {
        const [, , remote = "", state] = row.trim().split(/\s+/);
        return state === "01" && ports.has(Number.parseInt(remote.split(":")[1] ?? "", 16));
      }).length;
    },
    untilQuiet: () =>
      until(async () => (await client.deliveries("status=sending")).length === 0, undefined, "the end of all attempts"),
    async listAttempts(subscriptions) {
      const all: ShownDelivery[] = [];
      for (const id of subscriptions.keys()) all.push(...(await client.deliveries(`subscription_id=${id}`)));
      const found: HostileAttempt[] = [];
      for (const { id, subscription_id: subscription } of all) {
        for (const { duration_ms: durationMs, result, error } of (await client.delivery(id)).attempts) {
          const kind = subscriptions.get(subscription) ?? "";
          found.push({ kind, durationMs: Number(durationMs), result, error });
        }
      }
      return found;
    },
    async unsubscribe(ids) {
      for (const id of ids) await client.request("DELETE", `/api/v1/subscriptions/${id}`);
    },
  };
}

async function openHostile() {
  const pairs = { server: SERVER_PAIR, expired: EXPIRED_PAIR, wrong: WRONG_HOST_PAIR };
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(pairs)], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return {
    destinations: JSON.parse(line) as HostileDestination[],
    async close() {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
    },
  };
}

export async function readMetric(client: ApiClient, name: string): Promise<number> {
  const { text } = await client.get("/metrics");
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
