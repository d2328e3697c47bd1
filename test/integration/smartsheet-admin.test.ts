import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { WorkspaceManifest } from "../../plugins/smartsheet/manifests.ts";
import { createSystemRandom } from "../../src/model/clock.ts";
import type { OwnEvents } from "../../src/accept/ingest.ts";
import { createSecretBox } from "../../src/resources/secret-box.ts";
import { openSmartsheet, type Smartsheet } from "../../plugins/smartsheet/open.ts";
import { createRegistry } from "../../src/resources/registry.ts";
import { openSources } from "../../src/resources/sources/sources.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { createLogger } from "../../src/telemetry/logger.ts";
import { until } from "../support/api-client.ts";
import { createHastyClock } from "../support/hasty-clock.ts";
import { startSmartsheetServer, type SmartsheetServer } from "../support/smartsheet-server.ts";

const [ORDERS, TAGS] = ["4509506114742148", "6141831453927300"] as const;
const MANIFEST: WorkspaceManifest = {
  sheets: [
    { id: ORDERS, name: "Purchase orders" },
    { id: TAGS, name: "Tags" },
  ],
};

let folder: string;
const stdout = { write: (line: string) => log.push(line) };
const logger = createLogger({ level: "info", maxBytes: 1e6, keep: 1, pretty: false, stdout });
let smartsheet: SmartsheetServer;
let store: Store;
let callbacks: Server;
let publicUrl: string;
let disabled: string[];
let log: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-"));
  const file = join(folder, "posthorn.db");
  store = await openSqliteStore({ file, dedupeHorizonMs: 1000, onFatal: fail });
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** Where Smartsheet sends its challenges: answers those of the webhooks that are known by then, as the kind does. */
beforeEach(async () => {
  disabled = [];
  log = [];
  smartsheet = await startSmartsheetServer({ allowHttpCallbacks: true });
  callbacks = createServer((request, response) => {
    request.resume();
    const challenge = String(request.headers["smartsheet-hook-challenge"]);
    response.writeHead(200, { "smartsheet-hook-response": challenge }).end();
  });
  await new Promise<void>((resolve) => callbacks.listen(0, "127.0.0.1", resolve));
  publicUrl = `http://127.0.0.1:${(callbacks.address() as AddressInfo).port}`;
});
afterEach(async () => {
  callbacks.closeAllConnections();
  await new Promise((resolve) => callbacks.close(resolve));
  await smartsheet.close();
  const changes = (await loadWebhooks()).map(({ kind, tenantId, id, version, format }) => {
    return { act: "delete" as const, kind, tenantId, id, format, expected: version };
  });
  await store.records.write({ changes, at: Date.now() });
});

const loadWebhooks = async () => (await store.records.load(["smartsheet_webhook"])).records;

function fail(error: unknown): never {
  throw error;
}

interface Change {
  manifest?: WorkspaceManifest | undefined;
  publicUrl?: string | undefined;
  accessToken?: string | undefined;
}

const random = createSystemRandom();
const secretBox = createSecretBox("a master key of more than 32 characters");
const ownEvents: Pick<OwnEvents, "publishOwn"> = {
  publishOwn: async ({ data }) => void disabled.push(String(data["reason"])),
};

async function open(change: Change = {}): Promise<Smartsheet> {
  const {
    manifest,
    accessToken,
    publicUrl: address,
  } = {
    manifest: MANIFEST,
    accessToken: smartsheet.token,
    publicUrl,
    ...change,
  };
  const clock = createHastyClock(100);
  const kinds = new Map([["smartsheet", { name: "smartsheet", needsSecret: false }]]);
  const common = { secretBox, clock, random, onFault: fail };
  const registry = createRegistry({ records: store.records, clock });
  const sources = await openSources({
    ...common,
    registry,
    records: store.records,
    kinds,
    anySource: false,
    maxBytes: 1e6,
  });
  await sources.put({ name: "smartsheet", kind: "smartsheet", manifest: manifest ?? null });
  await sources.stop();
  return openSmartsheet({
    ...common,
    registry,
    logger,
    ownEvents,
    sources: () => sources,
    accessToken,
    apiHost: smartsheet.apiHost,
    publicUrl: address,
    userAgent: "Posthorn/test",
  });
}

const statesOf = async ({ admin }: Smartsheet) =>
  Object.fromEntries((await admin.list("smartsheet")).webhooks.map(({ webhookId, state }) => [webhookId, state]));
const outcomesOf = async ({ admin }: Smartsheet) =>
  (await admin.register(undefined)).sheets.map(({ outcome }) => outcome);

describe("registering", () => {
  it("keeps the secrets sealed, and knows them after a restart", async () => {
    const first = await open();
    expect(await outcomesOf(first)).toEqual(["created", "created"]);
    first.close();
    const again = await open();
    const secrets = again.context.findWebhooks("smartsheet")?.secrets;
    expect(Object.fromEntries(secrets ?? [])).toEqual(
      Object.fromEntries(smartsheet.webhooks.map(({ id, sharedSecret }) => [id, [sharedSecret]])),
    );
    expect(await outcomesOf(again)).toEqual(["unchanged", "unchanged"]);
    const records = await loadWebhooks();
    expect(records).toHaveLength(2);
    for (const { data, blob } of records) {
      for (const { sharedSecret } of smartsheet.webhooks) {
        expect(Buffer.from(blob ?? []).includes(sharedSecret)).toBe(false);
        expect(data).not.toContain(sharedSecret);
        expect(log.join("")).not.toContain(sharedSecret);
      }
    }
    again.close();
  });

  it("takes over what is there already, as after the loss of the database", async () => {
    const callbackUrl = `${publicUrl}/webhook/smartsheet`;
    const known = smartsheet.addWebhook({ scopeObjectId: ORDERS, callbackUrl, enabled: true, status: "ENABLED" });
    const opened = await open();
    expect(await outcomesOf(opened)).toEqual(["unchanged", "created"]);
    expect(opened.context.findWebhooks("smartsheet")?.secrets.get(known.id)).toEqual([known.sharedSecret]);
    expect(smartsheet.webhooks).toHaveLength(2);
    opened.close();
  });

  it("makes no second webhook when the answer to the first was lost", async () => {
    const opened = await open({ manifest: { sheets: [{ id: ORDERS, name: "Purchase orders" }] } });
    smartsheet.failNext("lost", 1, "POST /webhooks");
    expect(await outcomesOf(opened)).toEqual(["created"]);
    expect(smartsheet.webhooks).toHaveLength(1);
    expect(smartsheet.requests.filter((name) => name === "POST /webhooks")).toHaveLength(1);
    opened.close();
  });

  it("reports each sheet apart: one that fails keeps no other from being registered", async () => {
    callbacks.removeAllListeners("request");
    callbacks.on("request", (request, response) => {
      let body = "";
      request.on("data", (part) => (body += String(part)));
      request.on("end", () => {
        const [first] = smartsheet.webhooks;
        const isFirst = first !== undefined && body.includes(first.id);
        const challenge = String(request.headers["smartsheet-hook-challenge"]);
        response.writeHead(isFirst ? 500 : 200, { "smartsheet-hook-response": challenge }).end();
      });
    });
    const opened = await open();
    const { sheets } = await opened.admin.register("smartsheet");
    expect(sheets).toMatchObject([
      { outcome: "failed", status: "DISABLED_VERIFICATION_FAILED", error: expect.stringContaining("500") as string },
      { outcome: "created", status: "ENABLED" },
    ]);
    expect(disabled).toHaveLength(1);
    opened.close();
  });

  it("makes a new one in the place of one that has ended, and says what Smartsheet will not do", async () => {
    const callbackUrl = `${publicUrl}/webhook/smartsheet`;
    const ended = smartsheet.addWebhook({ scopeObjectId: ORDERS, callbackUrl, status: "DISABLED_APP_REVOKED" });
    smartsheet.addWebhook({ scopeObjectId: TAGS, callbackUrl, status: "DISABLED_ADMINISTRATIVE" });
    const opened = await open();
    expect((await opened.admin.register("smartsheet")).sheets).toMatchObject([
      { outcome: "created" },
      { outcome: "failed", error: expect.stringContaining("1154") as string },
    ]);
    expect((await statesOf(opened))[ended.id]).toBe("ended");
    opened.close();
  });

  it.each([
    ["without a token", { accessToken: undefined }, "SMARTSHEET_ACCESS_TOKEN"],
    ["without a public address", { publicUrl: undefined }, "POSTHORN_PUBLIC_URL"],
    ["without a manifest", { manifest: undefined }, "manifest"],
  ])("is rejected %s", async (_, change, named) => {
    const opened = await open(change);
    await expect(opened.admin.register("smartsheet")).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining(named) as string,
    });
    opened.close();
  });

  it("is rejected for what is no such source or sheet", async () => {
    const opened = await open();
    await expect(opened.admin.register("other")).rejects.toMatchObject({ code: "not_found" });
    await expect(opened.admin.register("smartsheet", ["1"])).rejects.toMatchObject({ field: "sheet_ids" });
    opened.close();
  });
});

describe("cleaning up", () => {
  it("keeps a webhook with an old address until another serves its sheet", async () => {
    const first = await open({ publicUrl: `${publicUrl}/old` });
    await first.admin.register("smartsheet");
    first.close();
    const old = smartsheet.webhooks.map(({ id }) => id);
    const opened = await open();
    expect(await statesOf(opened)).toEqual(Object.fromEntries(old.map((id) => [id, "stale"])));
    expect((await opened.admin.list("smartsheet")).missing).toHaveLength(2);
    const kept = await opened.admin.cleanup("smartsheet", { dryRun: false });
    expect(kept.webhooks.map(({ outcome }) => outcome)).toEqual(["kept", "kept"]);
    await opened.admin.register("smartsheet");
    const planned = await opened.admin.cleanup("smartsheet", { dryRun: true });
    expect(planned.webhooks.map(({ outcome }) => outcome)).toEqual(["would_remove", "would_remove"]);
    expect(smartsheet.webhooks).toHaveLength(4);
    await opened.admin.cleanup("smartsheet", { dryRun: false });
    expect(smartsheet.webhooks).toHaveLength(2);
    expect(smartsheet.webhooks.some(({ id }) => old.includes(id))).toBe(false);
    expect(await loadWebhooks()).toHaveLength(2);
    opened.close();
  });

  it("keeps the oldest of several that are enabled, and forgets those that Smartsheet knows no more", async () => {
    const opened = await open();
    await opened.admin.register("smartsheet");
    const [orders, tags] = smartsheet.webhooks;
    const callbackUrl = `${publicUrl}/webhook/smartsheet`;
    const newer = smartsheet.addWebhook({ scopeObjectId: ORDERS, callbackUrl, enabled: true, status: "ENABLED" });
    (smartsheet.webhooks as unknown[]).splice(1, 1);
    expect(await statesOf(opened)).toEqual({
      [orders?.id ?? ""]: "active",
      [newer.id]: "duplicate",
      [tags?.id ?? ""]: "gone",
    });
    await opened.admin.cleanup("smartsheet", { dryRun: false });
    expect(smartsheet.webhooks.map(({ id }) => id)).toEqual([orders?.id]);
    expect((await loadWebhooks()).map(({ id }) => id)).toEqual([`smartsheet/${orders?.id}`]);
    opened.close();
  });
});

describe("the audit", () => {
  // shows: A24
  it("enables what a failure has disabled, and leaves alone what its owner has", async () => {
    const opened = await open();
    await opened.admin.register("smartsheet");
    const [orders, tags] = smartsheet.webhooks.map(({ id }) => id);
    await smartsheet.setStatus(orders ?? "", "DISABLED_CALLBACK_FAILED", { quiet: true });
    await smartsheet.setStatus(tags ?? "", "DISABLED_BY_OWNER", { quiet: true });
    const { summary } = await opened.auditJob.run({ shouldStop: () => false });
    expect(summary).toEqual({ sources: 1, active: 0, enabled: 1, disabled: 1, missing: 0, failed: 0 });
    expect(smartsheet.webhooks.map(({ status }) => status)).toEqual(["ENABLED", "DISABLED_BY_OWNER"]);
    expect(disabled.sort()).toEqual([
      expect.stringContaining(`webhook ${orders} on the sheet ${ORDERS} is DISABLED_CALLBACK_FAILED`),
      expect.stringContaining("its owner disabled it"),
    ]);
    // What is known is not told again.
    await opened.auditJob.run({ shouldStop: () => false });
    expect(disabled).toHaveLength(2);
    const listed = opened.listDisabledSources();
    expect(listed).toMatchObject([{ source: "smartsheet", reason: expect.stringContaining("BY_OWNER") as string }]);
    expect(await outcomesOf(opened)).toEqual(["unchanged", "enabled"]);
    await until(() => Promise.resolve(opened.listDisabledSources().length === 0));
    opened.close();
  });

  it("says why it failed, and goes on with the next webhook and the next source", async () => {
    const opened = await open();
    await opened.admin.register("smartsheet");
    for (const { id } of smartsheet.webhooks) {
      await smartsheet.setStatus(id, "DISABLED_CALLBACK_FAILED", { quiet: true });
    }
    const [orders] = smartsheet.webhooks;
    smartsheet.failNext({ status: 403, errorCode: 1004 }, 1, `PUT /webhooks/${orders?.id}`);
    const { summary } = await opened.auditJob.run({ shouldStop: () => false });
    expect(summary).toMatchObject({ sources: 1, enabled: 1, failed: 1 });
    const said = () => log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === WHY);
    const WHY = "a webhook of Smartsheet could not be checked";
    expect(said()).toMatchObject([{ level: "warn", source: "smartsheet", webhook_id: orders?.id }]);
    expect(JSON.stringify(said()[0]?.["error"])).toContain("Injected failure.");
    smartsheet.failNext({ status: 403, errorCode: 1004 }, 1, "GET /webhooks");
    expect((await opened.auditJob.run({ shouldStop: () => false })).summary).toMatchObject({ sources: 1, failed: 1 });
    expect(said()).toHaveLength(2);
    opened.close();
  });

  it("takes over a secret that was reset, and the old one for a while", async () => {
    const opened = await open();
    await opened.admin.register("smartsheet");
    const [webhook] = smartsheet.webhooks;
    if (webhook === undefined) throw new Error("nothing was registered");
    const old = webhook.sharedSecret;
    webhook.sharedSecret = "another secret of the same webhook";
    await opened.auditJob.run({ shouldStop: () => false });
    const secrets = opened.context.findWebhooks("smartsheet")?.secrets.get(webhook.id);
    expect(secrets).toEqual(["another secret of the same webhook", old]);
    opened.close();
  });

  it("warns of sheets without a webhook, and does nothing where it is not set up", async () => {
    const opened = await open();
    const { summary } = await opened.auditJob.run({ shouldStop: () => false });
    expect(summary).toMatchObject({ missing: 2 });
    expect(log.join("")).toContain("sheets of the manifest have no webhook");
    const idle = await open({ accessToken: undefined });
    expect((await idle.auditJob.run({ shouldStop: () => false })).summary).toMatchObject({ sources: 0 });
    opened.close();
    idle.close();
  });
});
