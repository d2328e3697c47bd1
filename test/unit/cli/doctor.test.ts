import { DatabaseSync } from "@photostructure/sqlite";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer as createTlsServer, type Server } from "node:https";
import { createServer } from "node:net";
import type { AddressInfo, Server as NetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkBrokers } from "../../../src/cli/doctor/check-sources.ts";
import {
  checkClock,
  checkDisk,
  checkFsync,
  type ClockFacts,
  checkFsyncTime,
} from "../../../src/cli/doctor/check-machine.ts";
import {
  checkPort,
  findOccupation,
  checkReadiness,
  checkStatus,
  checkVersion,
  type Answered,
} from "../../../src/cli/doctor/check-gateway.ts";
import type { Status } from "../../../sdk/src/generated/shapes.ts";
import { checkRetention, checkStore, checkLog } from "../../../src/cli/doctor/check-store.ts";
import { checkDestinations, collectHttpsOrigins, checkEnd } from "../../../src/cli/doctor/check-tls.ts";
import { createFindings, type Report } from "../../../src/cli/doctor/findings.ts";
import { loadConfig } from "../../../src/config/load.ts";
import type { Config } from "../../../src/config/settings-tree.ts";
import { VERSION } from "../../../src/config/version.ts";
import type { Inspection } from "../../../src/store/sqlite/inspect.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { EXPIRED_PAIR, SERVER_PAIR, TEST_CA, type KeyPair } from "../../support/certificates.ts";

const DAY_MS = 86_400_000;
let folder: string;
let config: Config;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-doctor-"));
  config = loadConfig({ env: {}, cwd: folder, flags: { dataDir: folder } }).config;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a check says, as `result detail`. */
async function said(check: (report: Report) => unknown): Promise<string> {
  const findings = createFindings();
  await check(findings.about("it"));
  return findings.list.map(({ result, detail }) => `${result} ${detail}`).join("\n");
}

describe("the clock", () => {
  const now = Date.UTC(2026, 5, 1);
  const facts: ClockFacts = {
    from: { wallMs: now, monotonicMs: 10 },
    to: { wallMs: now + 1000, monotonicMs: 1010 },
    lastKnownNow: now - 5,
    gatewayAheadMs: 900,
  };
  it.each<[string, string, Partial<ClockFacts>]>([
    ["ok", "2026-06-01T00:00:01.000Z", {}],
    ["problem", "set the clock", { to: { wallMs: 0, monotonicMs: 1010 }, from: { wallMs: -1000, monotonicMs: 10 } }],
    ["warning", "jumped by 60 s", { to: { wallMs: now + 61_000, monotonicMs: 1010 } }],
    ["warning", "40 s before the last write", { lastKnownNow: now + 41_000 }],
    ["warning", "20 s off the gateway's clock", { gatewayAheadMs: -20_000 }],
  ])("is %s: %s", async (result, detail, changed) => {
    expect(await said((report) => checkClock({ ...facts, ...changed }, report))).toMatch(
      new RegExp(`^${result} .*${detail}`),
    );
  });
});

describe("the disk", () => {
  it("has room, or too little", async () => {
    const withFloor = (diskMinFreeBytes: number) => ({ ...config, limits: { ...config.limits, diskMinFreeBytes } });
    expect(await said((report) => checkDisk(withFloor(1), report))).toMatch(/^ok \S+ has .* free/);
    expect(await said((report) => checkDisk(withFloor(2 ** 60), report))).toMatch(/^problem .*Free some space/);
  });

  it("is not a file in the way", async () => {
    const dataDir = join(folder, "in-the-way");
    writeFileSync(dataDir, "", { mode: 0o400 });
    expect(await said((report) => checkDisk({ ...config, dataDir: join(dataDir, "data") }, report))).toMatch(
      /^problem \S+in-the-way cannot be written/,
    );
  });

  it("is timed by its fsync, and left as it was", async () => {
    const before = statSync(folder).nlink;
    expect(await said((report) => checkFsync(folder, report))).toMatch(/median [\d.]+ m?s, p99/);
    expect(statSync(folder).nlink).toBe(before);
  });

  const time = { count: 50, medianMs: 0.4, p99Ms: 2, writeMedianMs: 0.01 };
  const ext4 = { name: "ext4", isMemory: false, isNetwork: false };
  it.each([
    ["ok median 0.40 ms, p99 2.00 ms on ext4", time, ext4],
    ["warning .*tmpfs is memory", time, { name: "tmpfs", isMemory: true, isNetwork: false }],
    ["warning .*too fast for a disk", { ...time, medianMs: 0.002 }, ext4],
    ["warning .*network file system", time, { name: "NFS", isMemory: false, isNetwork: true }],
    ["warning .*every answer waits", { ...time, medianMs: 80 }, ext4],
  ])("says %s", async (expected, measured, fileSystem) => {
    expect(await said((report) => checkFsyncTime(measured, fileSystem, report))).toMatch(new RegExp(`^${expected}`));
  });
});

describe("the port", () => {
  const answered: Answered = {
    readiness: { version: VERSION, status: "ok", store: { sync_mode: "FULL" } },
    aheadMs: 0,
  };
  let other: NetServer;
  beforeAll(async () => {
    other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", () => resolve()));
  });
  afterAll(() => new Promise((resolve) => other.close(resolve)));
  const portOf = () => (other.address() as AddressInfo).port;

  it("is looked at without being kept", async () => {
    const used = { host: "127.0.0.1", port: portOf() };
    expect(await findOccupation(used)).toEqual({ state: "used" });
    expect(await findOccupation({ ...used, port: 0 })).toEqual({ state: "free" });
    expect(await findOccupation({ host: "192.0.2.1", port: 80 })).toMatchObject({ state: "impossible" });
  });

  it.each([
    ["ok .* is free", { state: "free" }, { isRunning: false, answered: undefined }],
    ["ok .* is used by the gateway", { state: "used" }, { isRunning: true, answered }],
    ["warning .* with another data dir", { state: "used" }, { isRunning: false, answered }],
    ["problem .* not a Posthorn gateway. Stop it", { state: "used" }, { isRunning: false, answered: undefined }],
    ["warning .* does not answer there", { state: "used" }, { isRunning: true, answered: undefined }],
    ["warning .* with another port", { state: "free" }, { isRunning: true, answered: undefined }],
    ["problem .*EACCES", { state: "impossible", reason: "EACCES" } as const, { isRunning: false, answered: undefined }],
  ] as const)("says %s", async (expected, occupation, found) => {
    expect(await said((report) => checkPort(config, found, occupation, report))).toMatch(new RegExp(`^${expected}`));
  });
});

describe("a gateway", () => {
  const answer = (readiness: Partial<Answered["readiness"]>): Answered => ({
    readiness: { version: VERSION, ...readiness },
    aheadMs: undefined,
  });
  const url = "http://127.0.0.1:1";
  it("is ready, degraded, or not safe", async () => {
    const judged = (readiness: Partial<Answered["readiness"]>) =>
      said((report) => checkReadiness(url, answer(readiness), report));
    expect(await judged({ status: "ok", store: { sync_mode: "FULL" } })).toBe(`ok ${url} is ready; sync FULL`);
    expect(await judged({ status: "degraded", store: { sync_mode: "FULL" } })).toMatch(/^warning .* degraded/);
    expect(await judged({ status: "ok", store: { sync_mode: "NORMAL" } })).toMatch(/^problem .* can be lost/);
  });

  it("has the version of the command, or another", async () => {
    const judged = (version: string) => said((report) => checkVersion(answer({ version }), report));
    expect(await judged(VERSION)).toMatch(/^ok/);
    expect(await judged("0.0.9")).toMatch(/^warning the gateway is 0\.0\.9/);
  });

  it("reports targets, brokers and alerts, when its files are elsewhere", () => {
    const findings = createFindings();
    const status = {
      active_alerts: 2,
      targets: [{ name: "erp", mode: "QUEUE", last_error: null }],
      connections: [{ kind: "amqp", name: "default", state: "failed", reason: "connection refused" }],
      suspended: [{ subscription: "shop" }],
      retention: { days: 30, due_events: 4, behind_s: 60 },
    };
    checkStatus(status as Status, findings.about);
    expect(findings.list.map(({ check, result }) => `${check} ${result}`)).toEqual([
      "targets warning",
      "subscriptions warning",
      "alerts warning",
      "brokers problem",
      "retention ok",
    ]);
    expect(findings.list[2]?.detail).toContain("2 are active");
  });
});

describe("the store", () => {
  it("is sound, of a newer release, or has a log that nothing cuts", async () => {
    const file = join(folder, "posthorn.db");
    const store = await openSqliteStore({ file, thread: false, dedupeHorizonMs: DAY_MS, onFatal: () => undefined });
    await store.close();
    expect(await said((report) => checkStore(config, report))).toMatch(
      /^ok .* is sound; SQLite [\s\S]*ok schema \d+\n/,
    );

    const db = new DatabaseSync(file);
    db.exec("insert into migrations (version, name) values (9999, 'later')");
    expect(await said((report) => checkStore(config, report))).toMatch(/^problem schema 9999 is newer/m);
    db.exec("delete from migrations where version = 9999");
    db.close();
    expect(await said((report) => checkLog(2 * 1024 ** 3, report))).toMatch(
      /^warning the write-ahead log has 2\.0 GiB/,
    );
  });

  it("is late with deleting only when there is something to delete", async () => {
    const inspected = (dueEvents: number): Inspection =>
      ({ oldestReceivedAt: 0, lastPrunedAt: Date.now() - DAY_MS, dueEvents }) as Inspection;
    expect(await said((report) => checkRetention(config, inspected(0), report))).toMatch(/^ok/);
    expect(await said((report) => checkRetention(config, inspected(5), report))).toMatch(/^warning .*about 5 events/);
  });
});

describe("brokers", () => {
  it("are none, or cannot be reached", async () => {
    expect(await said((report) => checkBrokers(config, report))).toBe("ok none is configured");
    const wrong = { ...config, amqpUrl: "amqp://guest:secret@127.0.0.1:9" };
    const found = await said((report) => checkBrokers(wrong, report));
    expect(found).toMatch(/^problem amqp default: .*127\.0\.0\.1:9/);
    expect(found).not.toContain("secret");
  });
});

describe("TLS of destinations", () => {
  const servers: Server[] = [];
  async function open(pair: KeyPair): Promise<string> {
    const server = createTlsServer(pair);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  afterAll(() => Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))));
  const reach = { allowPrivateDestinations: true };
  const look = (things: unknown[], how = reach) =>
    said((report) => checkDestinations(collectHttpsOrigins(things), how, report));

  it("is trusted, expired, of an unknown authority, or not to be reached", async () => {
    const [good, expired] = [await open(SERVER_PAIR), await open(EXPIRED_PAIR)];
    const auth = { type: "ca", ca: TEST_CA };
    expect(await look([{ url: `${good}/hook`, auth }])).toMatch(/^ok .* has a trusted certificate, for \d+ days yet/);
    expect(await look([{ url: expired, auth }])).toMatch(/^problem .*CERT_HAS_EXPIRED/);
    expect(await look([{ url: good }])).toMatch(/^problem .*UNABLE_TO_VERIFY/);
    expect(await look([{ settings: { url: good, sealed: "…" } }])).toMatch(/^warning .* names the authority/);
    expect(await look([{ url: "https://127.0.0.1:9" }])).toMatch(
      /^warning .* could not be reached: connection refused/,
    );
    expect(await look([{ url: good }], { allowPrivateDestinations: false })).toMatch(/^warning .*loopback/);
    expect(await look([{ url: "http://127.0.0.1:9" }])).toBe("ok no destination with https is known");
  });

  it("ends some day", async () => {
    const inDays = (days: number) => said((report) => checkEnd("https://a", Date.now() + days * DAY_MS + 5000, report));
    expect(await inDays(15)).toMatch(/^ok .* for 15 days yet/);
    expect(await inDays(3)).toMatch(/^warning .* expires in 3 days/);
    expect(await inDays(-2)).toMatch(/^problem .* renew it/);
  });

  it("is looked for wherever a setting has an address, once for each origin", () => {
    const things = [
      { url: "https://a.example/x", health: { url: "https://a.example/health" } },
      { destination: { url: "https://b.example:8443/{{ event.type }}" }, note: "see https://c.example" },
      { url: "https://{{ data.host }}/x" },
    ];
    expect(collectHttpsOrigins(things).map(({ origin }) => origin)).toEqual([
      "https://a.example",
      "https://b.example:8443",
    ]);
  });
});
