import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkAccounts } from "../support/accounting.ts";
import { createApiClient, until, type ApiClient } from "../support/api-client.ts";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import {
  ADMIN_KEY,
  databaseOf,
  drained,
  startGatewayProcess,
  writeGatewayFolder,
  type GatewayProcess,
} from "../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../support/load.ts";
import { openRecordingSink } from "../../src/cli/trial/sink.ts";
import { LAUNCHER } from "../support/run-cli.ts";
import { runCommand } from "../support/run-command.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { readStoreFacts } from "../support/store-facts.ts";
import { verifyPlain } from "../support/verify-signature.ts";

let here: CommandLine;
let there: CommandLine;
let running: GatewayProcess[];
beforeEach(async () => {
  [here, there] = [await openCommandLine(), await openCommandLine()];
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((gateway) => gateway.kill("SIGKILL")));
  await here.remove();
  await there.remove();
});

async function start(folder: CommandLine, env?: Record<string, string>): Promise<{ url: string; api: ApiClient }> {
  const gateway = startGatewayProcess({ folder: folder.path, env });
  running.push(gateway);
  const url = await gateway.ready;
  return { url, api: createApiClient({ url: () => url }, ADMIN_KEY) };
}

async function stopAll(): Promise<void> {
  await Promise.all(running.splice(0).map((gateway) => gateway.kill("SIGTERM")));
}

async function backUp(folder: CommandLine, ...flags: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await folder.run(["backup", "--json", ...flags]);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return (JSON.parse(stdout) as { file: string }).file;
}

describe("posthorn backup", () => {
  it("under load is of one moment, and a gateway goes on from it elsewhere", async () => {
    const sink = await openRecordingSink();
    try {
      writeGatewayFolder(here.path, [{ name: "orders", url: sink.urlOf("orders"), ordered: true }]);
      const { url } = await start(here);
      const ledger: SentWebhook[] = [];
      const stopping = new AbortController();
      const load = { url, connections: 2, maxEvents: 100_000, ledger, signal: stopping.signal };
      const sending = sendLoad(load);
      await sink.received(200);
      const acknowledged = ledger.filter(({ answer }) => answer === "acknowledged").map(({ eventId }) => eventId);
      // A process of its own: in this one, nothing would be sent while it works.
      const args = [LAUNCHER, "backup", "all.tar.gz", "--with-events", "--with-master-key"];
      expect((await runCommand(process.execPath, args, here.path)).exitCode).toBe(0);
      const file = join(here.path, "all.tar.gz");
      const atEnd = ledger.length;
      await until(() => ledger.length > atEnd + 10);
      stopping.abort();
      await sending;
      await drained(url);
      await stopAll();
      expect(atEnd, "webhooks were taken while the backup was made").toBeGreaterThan(acknowledged.length);

      const restored = await there.run(["restore", file]);
      expect({ exitCode: restored.exitCode, stderr: restored.stderr }).toMatchObject({ exitCode: 0 });
      const [all, some] = [await readStoreFacts(databaseOf(here.path)), await readStoreFacts(databaseOf(there.path))];
      const stored = new Map(some.events.map((event) => [event.eventId, event]));
      expect(acknowledged.filter((id) => id !== undefined && !stored.has(id))).toEqual([]);
      expect(some.events.length).toBeLessThan(all.events.length);
      // Byte by byte, as it is in the original.
      const original = new Map(all.events.map(({ eventId, hash, seq }) => [eventId, { hash, seq }]));
      for (const { eventId, hash, seq } of some.events) expect({ hash, seq }).toEqual(original.get(eventId));

      // What was open at that moment is delivered from there, and the books balance.
      const { url: second } = await start(there);
      await drained(second);
      await stopAll();
      const facts = await readStoreFacts(databaseOf(there.path));
      const books = { ...facts, sent: ledger, arrivals: sink.arrivals, ordered: new Set<string>() };
      const wrong = checkAccounts({ ...books, sent: ledger.filter(({ eventId }) => stored.has(eventId ?? "")) });
      expect(wrong.filter(({ kind }) => kind === "lost" || kind === "imbalance" || kind === "bytes changed")).toEqual(
        [],
      );
      expect(facts.events.flatMap(({ deliveries }) => deliveries).every(({ state }) => state === "delivered")).toBe(
        true,
      );
    } finally {
      await sink.close();
    }
  });

  // shows: B47
  it("brings configuration, keys and secrets, and leaves the events out unless they are asked for", async () => {
    const sink = await openSinkServer();
    try {
      const yaml = 'port: ${PORT:-0}\nevent_types_dir: types\nsources: [{ name: shop, id_from: "header:x-id" }]\n';
      writeFileSync(join(here.path, "posthorn.yaml"), yaml);
      mkdirSync(join(here.path, "types"));
      writeFileSync(join(here.path, "types/order.yaml"), "name: order.created\ndescription: An order\n");
      const { api } = await start(here);
      const auth = { type: "bearer", token: "a-token-for-the-destination" };
      const made = await api.post("/api/v1/subscriptions", { name: "a", url: sink.url, events: ["#"], auth });
      const { id, secret } = made.json as { id: string; secret: string };
      const key = (await api.post("/api/v1/keys", { name: "reader", scopes: ["read"] })).json as { key: string };
      await api.post("/api/v1/events", { event_type: "order.created", payload: { id: 1 } });
      await sink.received(1);
      const file = await backUp(here, "--with-master-key");
      await stopAll();

      const bytes = readFileSync(file);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(bytes.includes(secret) || bytes.includes(auth.token)).toBe(false);
      const restored = await there.run(["restore", file]);
      expect({ exitCode: restored.exitCode, stderr: restored.stderr }).toMatchObject({ exitCode: 0 });
      expect(readFileSync(join(there.path, "posthorn.yaml"), "utf8")).toBe(yaml);
      expect(existsSync(join(there.path, "types/order.yaml"))).toBe(true);

      const second = await start(there);
      const events = await second.api.get("/api/v1/events");
      expect(events.json).toMatchObject({ data: [] });
      const reader = createApiClient({ url: () => second.url }, key.key);
      expect((await reader.get(`/api/v1/subscriptions/${id}`)).json).toMatchObject({ name: "a", status: "active" });
      expect((await reader.get("/api/v1/event-types/order.created")).status).toBe(200);
      await second.api.post("/api/v1/events", { event_type: "order.created", payload: { id: 2 } });
      const [, arrived] = await sink.received(2);
      expect(arrived?.headers["authorization"]).toBe(`Bearer ${auth.token}`);
      expect(arrived?.headers["x-webhook-signature"]).toBe(verifyPlain(secret, arrived?.body));
      expect((await second.api.get("/readyz")).status).toBe(200);
    } finally {
      await sink.close();
    }
  });

  it("without the master key says what is missing, and works when that key is brought", async () => {
    const { api } = await start(here);
    await api.post("/api/v1/subscriptions", { name: "a", url: "https://example.com/hook", events: ["#"] });
    const file = await backUp(here);
    await stopAll();
    const restored = await there.run(["restore", file]);
    expect(restored.exitCode).toBe(0);
    expect(restored.stderr).toMatch(/master key that is not in the backup \(fingerprint [0-9a-f]{16}\)/);
    expect(existsSync(join(there.path, "data/master.key"))).toBe(false);

    const key = readFileSync(join(here.path, "data/master.key"), "utf8").trim();
    const refused = startGatewayProcess({ folder: there.path, env: { POSTHORN_MASTER_KEY: "x".repeat(40) } });
    await expect(refused.ready).rejects.toThrow(/encrypted with another master key/);
    const second = await start(there, { POSTHORN_MASTER_KEY: key });
    expect((await second.api.get("/api/v1/subscriptions")).json).toMatchObject({ data: [{ name: "a" }] });
  });

  it("rejects what cannot be right", async () => {
    const none = await here.run(["backup"]);
    expect(none).toMatchObject({ exitCode: 1, stdout: "" });
    expect(none.stderr).toMatch(/There is no database/);

    await start(here);
    await stopAll();
    const file = await backUp(here, "a.tar.gz");
    const again = await here.run(["backup", "a.tar.gz"]);
    expect(again.stderr).toMatch(/a\.tar\.gz exists/);
    expect((await here.run(["backup", "a.tar.gz", "--force"])).exitCode).toBe(0);
    expect((await here.run(["backup", "missing/a.tar.gz"])).exitCode).toBe(2);
    writeFileSync(join(here.path, "posthorn.yaml"), `master_key: ${"k".repeat(40)}\n`);
    expect((await here.run(["backup", "b.tar.gz"])).stderr).toMatch(/contains the master key/);
    expect(readdirSync(here.path).filter((name) => name.includes("partial") || name === "b.tar.gz")).toEqual([]);
    expect(existsSync(file)).toBe(true);
  });
});

describe("posthorn restore", () => {
  async function makeBackup(): Promise<string> {
    writeFileSync(join(here.path, "posthorn.yaml"), "any_source: true\n");
    const { api } = await start(here);
    await api.post("/api/v1/subscriptions", { name: "a", url: "https://example.com/hook", events: ["none"] });
    await api.post("/api/v1/events", { event_type: "order.created", payload: { id: 1 } });
    const file = await backUp(here, "--with-events");
    await stopAll();
    return file;
  }

  it("keeps what was there aside, and takes the master key from it", async () => {
    const file = await makeBackup();
    const key = readFileSync(join(here.path, "data/master.key"), "utf8");
    const refused = await here.run(["restore", file]);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toMatch(/is not empty/);

    const { api } = await start(here);
    const busy = await here.run(["restore", file, "--force"]);
    expect(busy.exitCode).toBe(3);
    expect(busy.stderr).toMatch(/Another gateway is running/);
    await api.post("/api/v1/events", { event_type: "order.late", payload: {} });
    await stopAll();

    const done = await here.run(["restore", file, "--force", "--json"]);
    expect({ exitCode: done.exitCode, stderr: done.stderr }).toMatchObject({ exitCode: 0 });
    const { kept, master_key } = JSON.parse(done.stdout) as { kept: string[]; master_key: string };
    expect(master_key).toBe("the one that was already here");
    expect(readFileSync(join(here.path, "data/master.key"), "utf8")).toBe(key);
    const facts = await readStoreFacts(join(kept[0] ?? "", "posthorn.db"));
    expect(facts.events).toHaveLength(2);
    const second = await start(here);
    expect((await second.api.get("/api/v1/events")).json).toMatchObject({ data: [{ event_type: "order.created" }] });
  });

  it("changes nothing with --dry-run, and nothing when the backup is broken", async () => {
    const file = await makeBackup();
    const checked = await there.run(["restore", file, "--dry-run"]);
    expect(checked).toMatchObject({ exitCode: 0 });
    expect(checked.stdout).toMatch(/^sound/);
    expect(readdirSync(there.path)).toEqual([]);

    const bytes = readFileSync(file);
    const middle = Math.floor(bytes.length / 2);
    const flipped = Buffer.from(bytes);
    flipped[middle] = (flipped[middle] ?? 0) ^ 0xff;
    for (const [name, broken] of [
      ["cut.tar.gz", bytes.subarray(0, middle)],
      ["flipped.tar.gz", flipped],
    ] as const) {
      writeFileSync(join(there.path, name), broken);
      for (const more of [["--dry-run"], []]) {
        const { exitCode, stdout, stderr } = await there.run(["restore", name, ...more]);
        expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
        expect(stderr).toMatch(/^posthorn: [^\n]+\n$/);
      }
    }
    expect(existsSync(join(there.path, "data/posthorn.db"))).toBe(false);
    expect(readdirSync(join(there.path, "data"))).toEqual(["posthorn.lock"]);
    expect((await there.run(["restore", file])).exitCode).toBe(0);
  });

  it("does not replace a configuration that differs, unless it may keep it aside", async () => {
    const file = await makeBackup();
    writeFileSync(join(there.path, "posthorn.yaml"), "any_source: false\n");
    const refused = await there.run(["restore", file]);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toMatch(/posthorn\.yaml exists and differs/);
    expect((await there.run(["restore", file, "--no-config", "--data-dir", "alone"])).exitCode).toBe(0);
    expect((await there.run(["restore", file, "--force"])).exitCode).toBe(0);
    expect(readFileSync(join(there.path, "posthorn.yaml"), "utf8")).toBe("any_source: true\n");
    const aside = readdirSync(there.path).find((name) => name.startsWith("posthorn.yaml.bak-")) ?? "";
    expect(readFileSync(join(there.path, aside), "utf8")).toBe("any_source: false\n");
  });

  it("that was interrupted keeps a gateway from starting on half of it", async () => {
    const file = await makeBackup();
    mkdirSync(join(there.path, "data"));
    writeFileSync(join(there.path, "data/restore.unfinished"), "");
    const gateway = startGatewayProcess({ folder: there.path });
    await expect(gateway.ready).rejects.toThrow(/was interrupted/);
    expect((await there.run(["restore", file])).exitCode).toBe(0);
    const key = readFileSync(join(here.path, "data/master.key"), "utf8").trim();
    const { api } = await start(there, { POSTHORN_MASTER_KEY: key });
    expect((await api.get("/readyz")).status).toBe(200);
  });
});
