import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { formatSigningKeys, parseSigningKeys } from "../../src/model/signing-keys.ts";
import { loadOrCreateMasterKey, createSecretBox } from "../../src/resources/secret-box.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { until } from "../support/api-client.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

const DAY_MS = 86_400_000;

afterAll(collectGarbage);

interface ShownJob {
  name: string;
  every_s: number;
  status: string;
  next_run_at: string | null;
  runs: { number: number; trigger: string; result: string; duration_ms: number; summary: object; error: null }[];
}

async function open(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  onTestFinished(() => gateway.close());
  return gateway;
}

async function getJob(gateway: TestGateway, name: string): Promise<ShownJob> {
  const jobs = (await gateway.get("/api/v1/jobs")).json["data"] as ShownJob[];
  return jobs.find((job) => job.name === name) as ShownJob;
}

async function runJob(gateway: TestGateway, name: string): Promise<ShownJob> {
  const answer = await gateway.post(`/api/v1/jobs/${name}/run`);
  expect([answer.status, answer.json["name"]]).toEqual([202, name]);
  await until(async () => (await getJob(gateway, name)).runs[0]?.result !== "running");
  return getJob(gateway, name);
}

describe("the gateway's jobs", () => {
  // shows: C4
  it("are shown with their next run and what became of the last ones, over restarts", async () => {
    const gateway = await open();
    const before = await getJob(gateway, "end-overlaps");
    expect(before).toMatchObject({ every_s: 86_400, status: "waiting", runs: [] });
    const waitS = (Date.parse(before.next_run_at ?? "") - gateway.now()) / 1000;
    expect([waitS > 80_000, waitS <= 86_401]).toEqual([true, true]);
    const expected = { number: 1, trigger: "manual", result: "success", summary: { rotated: 0 }, error: null };
    expect((await runJob(gateway, "rotate-secrets")).runs).toMatchObject([expected]);
    await gateway.restart();
    expect((await getJob(gateway, "rotate-secrets")).runs).toMatchObject([expected]);
    expect((await getJob(gateway, "end-overlaps")).next_run_at).toBe(before.next_run_at);
    expect((await gateway.post("/api/v1/jobs/unknown/run")).status).toBe(404);
    const reader = gateway.as(await gateway.createKey(["read"]));
    expect((await reader.get("/api/v1/jobs")).status).toBe(403);
  });

  it.each([
    { days: 90, rotated: 1 },
    { days: 0, rotated: 0 },
    { days: 200, rotated: 0 },
  ])("rotate a secret that is 100 days old when it may be $days days old: $rotated", async ({ days, rotated }) => {
    const sink = await openSinkServer();
    onTestFinished(() => sink.close());
    const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
    const yaml = `subscriptions: [{ name: declared, url: "${sink.url}", events: ["*"], secret: "${secret}" }]`;
    const gateway = await open({ yaml, env: { SECRET_ROTATION_DAYS: days } });
    const old = await gateway.subscribe({ name: "old", url: sink.url, events: ["webhook.secret_rotating"] });
    const paused = await gateway.subscribe({ name: "paused", url: sink.url, status: "inactive" });
    await gateway.stop();
    await age(gateway);
    await gateway.restart();
    const fresh = await gateway.subscribe({ name: "fresh", url: sink.url });
    expect((await runJob(gateway, "rotate-secrets")).runs[0]).toMatchObject({ summary: { rotated } });
    const [declared] = (await gateway.get("/api/v1/subscriptions")).json["data"] as { id: string }[];
    const live = async (id = "") =>
      ((await gateway.get(`/api/v1/subscriptions/${id}/secret`)).json["secrets"] as object[]).length;
    expect(await Promise.all([old.id, paused.id, fresh.id, declared?.id].map(live))).toEqual([1 + rotated, 1, 1, 1]);
    await gateway.settled();
    expect(sink.requests).toHaveLength(rotated);
    // While both sign there is nothing to rotate.
    expect((await runJob(gateway, "rotate-secrets")).runs[0]).toMatchObject({ summary: { rotated: 0 } });
  });

  // shows: C55
  it("leave an old secret as it is where nobody would be told, and warn of it", async () => {
    const sink = await openSinkServer();
    onTestFinished(() => sink.close());
    const gateway = await open();
    const news = "webhook.secret_rotating";
    /** Who listens in a tenant beside the one whose secret is old. */
    const listeners: Record<string, object | undefined> = {
      told: { events: [news] },
      "told-too": { events: ["order.*", news], event_filter: { data: { name: "partner" } } },
      nobody: undefined,
      "not-by-name": { events: ["webhook.*", "*"] },
      paused: { events: [news], status: "inactive" },
      filtered: { events: [news], event_filter: { data: { name: "somebody else" } } },
    };
    const partners = new Map<string, string>();
    for (const [tenantId, listener] of Object.entries(listeners)) {
      const partner = { name: "partner", url: sink.url, events: ["order.*"], tenant_id: tenantId };
      partners.set(tenantId, (await gateway.subscribe(partner)).id);
      if (listener !== undefined) {
        await gateway.subscribe({ name: "listener", url: sink.url, tenant_id: tenantId, ...listener });
      }
    }
    await gateway.stop();
    await age(gateway);
    await gateway.restart();
    const secretsOf = async (tenantId: string) =>
      (await gateway.get(`/api/v1/subscriptions/${partners.get(tenantId)}/secret`)).json;
    const plans = await Promise.all(
      Object.keys(listeners).map(async (tenant) => (await secretsOf(tenant))["rotation"]),
    );
    expect(plans).toEqual(["automatic", "automatic", "overdue", "overdue", "overdue", "overdue"]);

    // Beside the partners: both listeners that are told, and those that are active and hear of nothing.
    const { summary } = (await runJob(gateway, "rotate-secrets")).runs[0] ?? {};
    expect(summary).toEqual({ rotated: 3, overdue: 7 });
    const live = await Promise.all(
      Object.keys(listeners).map(async (tenant) => ((await secretsOf(tenant))["secrets"] as object[]).length),
    );
    expect(live).toEqual([2, 2, 1, 1, 1, 1]);
    const [warning] = gateway.log.filter(({ msg }) => msg.startsWith("secrets are too old"));
    expect(warning).toMatchObject({ level: "warn", count: 7 });
    expect(warning?.["subscriptions"]).toContain("partner");
  });
});

/** Makes the secrets of a gateway that does not run a hundred days older than they are. */
async function age({ dataDir }: TestGateway): Promise<void> {
  const box = createSecretBox(loadOrCreateMasterKey(dataDir));
  const store = await openSqliteStore({
    file: join(dataDir, "posthorn.db"),
    dedupeHorizonMs: DAY_MS,
    thread: false,
    onFatal: (error) => expect.fail(String(error)),
  });
  for (const record of (await store.records.load(["subscription"])).records) {
    const { kind, id, tenantId, version, format, data = "", blob = new Uint8Array(), createdAt } = record;
    const owner = `subscription/${tenantId}/${id}`;
    const keys = parseSigningKeys(box.open(blob, owner));
    const aged = keys.secrets.map((live) => ({ ...live, createdAt: live.createdAt - 100 * DAY_MS }));
    const sealed = box.seal(formatSigningKeys({ ...keys, secrets: aged }), owner);
    const change = { act: "put", kind, tenantId, id, expected: version, format, data, blob: sealed } as const;
    await store.records.write({ changes: [change], at: createdAt });
  }
  await store.close();
}
