import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface ShownWindow {
  attempt_count: number;
  success_count: number;
  failure_count: number;
  success_rate: number | null;
  latency_p50_ms: number | null;
  latency_p99_ms: number | null;
  bucket_s: number;
  series: { at: string; attempt_count: number; latency_p50_ms: number | null }[];
}

describe("statistics", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const statsOf = async (id: string) => (await gateway.get(`/api/v1/subscriptions/${id}/stats`)).json;

  // shows: C30
  it("tell of a subscription what its attempts came to, in short and over time", async () => {
    sink.answerWith((_, index) => ({ status: index % 4 === 0 ? 400 : 200 }));
    const { id } = await gateway.subscribe({ name: "counted", url: sink.url, events: ["counted.event"] });
    const unused = { success_rate_1h: null, success_rate_24h: null, latency_p50_ms: null, latency_p99_ms: null };
    expect((await gateway.get(`/api/v1/subscriptions/${id}`)).json["stats"]).toMatchObject(unused);
    for (let n = 0; n < 8; n++) await gateway.publish({ event_type: "counted.event", payload: { n } });
    await gateway.settled();

    const stats = await statsOf(id);
    expect(stats).toMatchObject({
      subscription_id: id,
      delivery_count: 8,
      success_count: 6,
      failure_count: 2,
      dead_count: 2,
      open_count: 0,
      latency_max_error: 0.05,
    });
    for (const [name, bucket_s, buckets] of [
      ["last_1h", 60, 60],
      ["last_24h", 3600, 24],
    ] as const) {
      const window = stats[name] as ShownWindow;
      expect(window).toMatchObject({
        attempt_count: 8,
        success_count: 6,
        failure_count: 2,
        success_rate: 0.75,
        bucket_s,
      });
      expect(window.latency_p50_ms).toBeGreaterThan(0);
      expect(window.latency_p99_ms).toBeGreaterThanOrEqual(window.latency_p50_ms as number);
      expect(window.series).toHaveLength(buckets);
      expect(window.series.reduce((sum, bucket) => sum + bucket.attempt_count, 0)).toBe(8);
      expect(window.series[0]).toMatchObject({ attempt_count: 0, latency_p50_ms: null });
    }
    const shown = (await gateway.get(`/api/v1/subscriptions/${id}`)).json["stats"];
    expect(shown).toMatchObject({ delivery_count: 8, success_rate_1h: 0.75, success_rate_24h: 0.75 });
    const listed = (await gateway.get("/api/v1/subscriptions?limit=500")).json["data"] as Record<string, unknown>[];
    expect(listed.find((one) => one["id"] === id)?.["stats"]).toEqual(shown);
    // The negative control: the version of a subscription does not follow its statistics.
    const [etag] = [(await gateway.get(`/api/v1/subscriptions/${id}`)).headers.get("etag")];
    await gateway.publish({ event_type: "counted.event", payload: {} });
    await gateway.settled();
    expect((await gateway.get(`/api/v1/subscriptions/${id}`)).headers.get("etag")).toBe(etag);
  });

  it("survive an orderly restart, all of them", async () => {
    const { id } = await gateway.subscribe({ name: "kept", url: sink.url, events: ["kept.event"] });
    sink.answerWith({ status: 200 });
    for (let n = 0; n < 3; n++) await gateway.publish({ event_type: "kept.event", payload: { n } });
    await gateway.settled();
    const before = await statsOf(id);
    await gateway.restart();
    const after = await statsOf(id);
    expect((after["last_24h"] as ShownWindow).attempt_count).toBe(3);
    expect((after["last_24h"] as ShownWindow).latency_p50_ms).toBe((before["last_24h"] as ShownWindow).latency_p50_ms);
  });

  it("tell of the whole gateway, and to a tenant's key of its own tenant alone", async () => {
    const key = await gateway.createKey(["read"], "small");
    await gateway.subscribe({ name: "theirs", url: sink.url, events: ["small.event"], tenant_id: "small" });
    await gateway.publish({ event_type: "small.event", payload: {}, tenant_id: "small" });
    await gateway.publish({ event_type: "nobody.wants", payload: {}, tenant_id: "small" });
    await gateway.settled();
    const own = (await gateway.as(key).get("/api/v1/stats")).json;
    expect(own).toMatchObject({
      tenant_id: "small",
      events: { accepted: 2, unmatched: 1, duplicates: 0 },
      deliveries: { created: 1, open: 0, delivered: 1, dead: 0, cancelled: 0 },
      attempts: { total: 1, succeeded: 1, failed: 0 },
      subscriptions: { active: 1, inactive: 0, suspended: 0 },
      last_1h: { attempt_count: 1, success_rate: 1 },
    });
    expect((await gateway.as(key).get("/api/v1/stats?tenant_id=default")).json).toMatchObject({ tenant_id: "small" });
    expect((await gateway.get("/api/v1/stats?tenant_id=small")).json).toEqual(own);
    const all = (await gateway.get("/api/v1/stats")).json;
    expect(all).toMatchObject({ tenant_id: null, attempts: { total: 13 }, last_24h: { attempt_count: 13 } });
  });

  it("are gone with their age, by a job", async () => {
    expect((await gateway.post("/api/v1/jobs/prune-statistics/run")).status).toBe(202);
    await until(async () => {
      const jobs = (await gateway.get("/api/v1/jobs")).json["data"] as { name: string; runs: { result: string }[] }[];
      return jobs.find(({ name }) => name === "prune-statistics")?.runs[0]?.result === "success";
    });
    // What is shown is too young for it.
    expect((await gateway.get("/api/v1/stats")).json).toMatchObject({ last_1h: { attempt_count: 13 } });
  });

  it("of a subscription that is not there are not found", async () => {
    expect((await gateway.get("/api/v1/subscriptions/sub_nobody/stats")).status).toBe(404);
    expect((await gateway.get("/api/v1/stats?since=1h")).json["field"]).toBe("since");
  });

  it("tell deliveries apart from attempts: an outage that lost nothing is no loss", async () => {
    const failed = new Set<string>();
    sink.answerWith(({ headers }) => {
      const id = String(headers["webhook-id"]);
      if (!id.startsWith("late") || failed.has(id)) return { status: 200 };
      failed.add(id);
      return { status: 500 };
    });
    const settings = { url: sink.url, retry_policy: { delays_s: [0, 0] } };
    const { id } = await gateway.subscribe({ name: "outage", events: ["outage.event"], ...settings });
    for (const event_id of ["late-1", "early-1", "early-2", "late-2"]) {
      await gateway.publish({ event_type: "outage.event", payload: {}, event_id });
      await gateway.settled();
    }
    expect((await statsOf(id))["last_1h"]).toMatchObject({
      delivered_count: 4,
      delivered_rate: 1,
      first_try_rate: 0.5,
      attempt_count: 6,
      success_rate: 0.6667,
    });
    const { stats } = (await gateway.get(`/api/v1/subscriptions/${id}`)).json;
    expect(stats).toMatchObject({ delivered_rate_1h: 1, delivered_rate_24h: 1, first_try_rate_24h: 0.5 });
    // A test counts for nobody and against nobody.
    sink.answerWith({ status: 400 });
    await gateway.post(`/api/v1/subscriptions/${id}/test`);
    expect((await statsOf(id))["last_1h"]).toMatchObject({ delivered_count: 4, delivered_rate: 1 });
  });
});
