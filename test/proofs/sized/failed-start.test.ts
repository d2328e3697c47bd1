import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { PosthornError } from "../../../src/model/errors.ts";
import type { PartMakers } from "../../../src/gateway/start.ts";
import { startGateway, type Gateway } from "../../../src/gateway.ts";
import { lockDataDir } from "../../../src/store/sqlite/data-dir.ts";
import type { Store } from "../../../src/store/store.ts";
import { createLogger } from "../../../src/telemetry/logger.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { sized } from "../../support/proof-size.ts";
import { ADMIN_KEY } from "../../support/test-gateway.ts";

const YAML = `
tenants: [{ id: acme }]
event_types: [{ name: order.paid, versions: [{ version: "1.0", schema: { type: object } }] }]
targets: [{ name: core, url: "https://example.com", health_url: "https://example.com/health" }]
sources: [{ name: shop }]
subscriptions: [{ name: all, url: "https://example.com/hook", target: core, events: ["*"] }]
`;

const folder = mkdtempSync(join(tmpdir(), "posthorn-failed-start-"));
let dataDir = join(folder, "data");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What starts have made and not let go: timers, also those that keep no process alive, and threads. */
const inStart = new AsyncLocalStorage<true>();
const timers = new Set<number>();
const threads = new Set<Worker>();
const hook = createHook({
  init: (id, type) => void (type === "Timeout" && inStart.getStore() === true && timers.add(id)),
  destroy: (id) => void timers.delete(id),
});
const noteThread = (message: unknown): void => {
  const worker: unknown = Reflect.get(Object(message), "worker");
  if (!(worker instanceof Worker)) return;
  threads.add(worker);
  worker.once("exit", () => threads.delete(worker));
};
beforeAll(() => {
  hook.enable();
  subscribe("worker_threads", noteThread);
});
afterAll(() => {
  hook.disable();
  unsubscribe("worker_threads", noteThread);
});

function start(env: Record<string, string> = {}, makers: PartMakers = {}): Promise<Gateway> {
  const file = join(folder, "posthorn.yaml");
  writeFileSync(file, YAML);
  const settings = {
    POSTHORN_PORT: "0",
    POSTHORN_DATA_DIR: dataDir,
    POSTHORN_ADMIN_KEY: ADMIN_KEY,
    POSTHORN_BALLAST_BYTES: "0",
    POSTHORN_DISK_MIN_FREE_BYTES: "0",
    ...env,
  };
  const { config } = loadConfig({ env: settings, cwd: folder, file });
  const stdout = { write: () => undefined };
  const logger = createLogger({ level: "fatal", maxBytes: 1_000_000, keep: 1, pretty: false, stdout });
  const options = { logger, makers, httpCloseMs: 0, onFatal: (error: Error) => expect.unreachable(error.message) };
  return inStart.run(true, () => startGateway(config, options)).finally(() => logger.close());
}

async function expectNothingLeft(): Promise<void> {
  // What is destroyed is told of in a later turn.
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  expect([...timers]).toEqual([]);
  expect(threads.size).toBe(0);
  lockDataDir(dataDir).release();
}

async function expectNoOpenFiles(): Promise<void> {
  await collectGarbage();
  await expect.poll(listOpenFiles).toEqual([]);
}

/** Of the data directory; only where the system shows them. */
function listOpenFiles(): string[] {
  if (process.platform !== "linux") return [];
  const links = readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  return links.filter((path) => path.startsWith(folder));
}

interface Failing {
  name: string;
  /** Which of the calls of this name, from 1. What is called on the side may come earlier or later among the others. */
  nth: number;
}

/** Counts the calls of a store that answer by a promise, and fails one of them. */
function failCall(failing: Failing | undefined, calls: Map<string, number>): PartMakers {
  const wrapPort = ([port, methods]: [string, object]): [string, object] => {
    const members = Object.entries(methods).map(([method, member]: [string, unknown]) => {
      if (typeof member !== "function" || ["accept", "claim", "settle", "logRequest"].includes(method)) {
        return [method, member];
      }
      const name = `${port}.${method}`;
      const call = (...args: unknown[]): unknown => {
        const nth = (calls.get(name) ?? 0) + 1;
        calls.set(name, nth);
        if (name === failing?.name && nth === failing.nth) {
          return Promise.reject(new PosthornError("unavailable", `no ${name}`));
        }
        return (member as (...given: unknown[]) => unknown)(...args);
      };
      return [method, call];
    });
    return [port, Object.fromEntries(members) as object];
  };
  const wrap = (store: Store): Store => {
    const { events, lanes, records, reads, jobs } = store;
    return { ...store, ...Object.fromEntries(Object.entries({ events, lanes, records, reads, jobs }).map(wrapPort)) };
  };
  return { openStore: (open) => async (url, options) => wrap(await open(url, options)) };
}

/** Of all calls that a start makes, one in so many fails in a start of its own. */
const EVERY = sized({ short: 8, middle: 1, long: 1 });
/** Calls without which there is no start; in the short form, too. */
const NEEDED = [
  "records.load",
  "records.write",
  "lanes.recover",
  "events.loadUnfinishedFanOuts",
  "lanes.load",
  "jobs.load",
];

describe("a start that fails", () => {
  it("leaves nothing open, whichever call of the store it fails at", async () => {
    const failed = new Set<string>();
    const codes = new Set<string>();
    const all = new Map<string, number>();
    await (await start({}, failCall(undefined, all))).stop();
    const each = [...all].flatMap(([name, count]) => Array.from({ length: count }, (_, at) => ({ name, nth: at + 1 })));
    const chosen = each.filter(({ name, nth }, at) => at % EVERY === 0 || (nth === 1 && NEEDED.includes(name)));
    for (const [at, failing] of chosen.entries()) {
      // The same calls each time: the first start of a gateway makes most of them.
      dataDir = join(folder, `data-${at}`);
      try {
        const gateway = await start({}, failCall(failing, new Map()));
        // What is only tried on the side keeps nobody from starting.
        await gateway.stop();
      } catch (error) {
        codes.add((error as PosthornError).code);
        failed.add(failing.name);
      }
      await expectNothingLeft();
    }
    await expectNoOpenFiles();
    expect([...codes]).toEqual(["unavailable"]);
    expect([...failed]).toEqual(expect.arrayContaining(NEEDED));
  });

  it("leaves nothing open when the store, the certificate, the listener or the configuration is at fault", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const port = String((taken.address() as { port: number }).port);
    const broken = { openStore: () => () => Promise.reject(new PosthornError("store_corrupt", "damaged")) };
    const tls = { POSTHORN_TLS_CERT: join(folder, "none.pem"), POSTHORN_TLS_KEY: join(folder, "none.key") };
    await expect(start({}, broken)).rejects.toMatchObject({ code: "store_corrupt" });
    await expectNothingLeft();
    await expect(start({ POSTHORN_PORT: port })).rejects.toMatchObject({ code: "port_in_use" });
    await expectNothingLeft();
    await expect(start(tls)).rejects.toThrow("none.pem");
    await expectNothingLeft();
    await expectNoOpenFiles();
    await new Promise((resolve) => taken.close(resolve));
  });

  it("leaves the data directory to the gateway that has it", async () => {
    const gateway = await start();
    await expect(start()).rejects.toMatchObject({ code: "data_dir_in_use" });
    await gateway.stop();
    await expectNothingLeft();
  });

  it("is seen by this test when it leaves a timer (control)", async () => {
    const leaking: PartMakers = {
      createIngest: (create) => (options) => {
        timer = setInterval(() => undefined, 1000).unref();
        return create(options);
      },
    };
    let timer: NodeJS.Timeout | undefined;
    const gateway = await start({}, leaking);
    await gateway.stop();
    await expect(expectNothingLeft()).rejects.toThrow(/expected \[ \d+ \]/);
    clearInterval(timer);
    await expectNothingLeft();
  });
});
