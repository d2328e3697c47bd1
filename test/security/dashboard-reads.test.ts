import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type ApiClient } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** What the dashboard reads, asked for by somebody who may see one tenant only, and by somebody who may see all. */
describe("what the dashboard reads", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let stranger: ApiClient;
  let owner: ApiClient;

  beforeAll(async () => {
    const yaml = "sources: [{ name: theirs, tenant_id: victim }, { name: ours, tenant_id: stranger }]";
    [gateway, sink] = await Promise.all([
      startTestGateway({ yaml }),
      openSinkServer({ answer: (_, index) => ({ status: index % 5 === 0 ? 400 : 200 }) }),
    ]);
    stranger = gateway.as(await gateway.createKey(["read", "publish"], "stranger"));
    owner = gateway.as(await gateway.createKey(["admin"], "victim"));
    await owner.subscribe({ name: "theirs", url: sink.url, events: ["order.*"] });
    await gateway.subscribe({ name: "ours", url: sink.url, events: ["order.*"], tenant_id: "stranger" });
    for (const total of [50, 150, 250]) {
      await owner.publish({ event_type: "order.paid", payload: { order: { total }, secret: "victim-data" } });
      await stranger.publish({ event_type: "order.paid", payload: { order: { total, note: "null" } } });
    }
    await gateway.webhook("theirs", "{broken-by-victim");
    await gateway.webhook("ours", "{broken");
    await until(async () => (await gateway.rejected("theirs")).length + (await gateway.rejected("ours")).length === 2);
    await gateway.settled();
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const search = async (client: ApiClient, data: string, more = "") => {
    const { status, json } = await client.get(`/api/v1/events?data=${encodeURIComponent(data)}${more}`);
    return { status, field: json["field"], found: json["data"] as { tenant_id: string; event_id: string }[] };
  };
  const tenantsOf = (found: readonly { tenant_id: string }[]) => [...new Set(found.map((event) => event.tenant_id))];

  it("finds by fields of a payload the events of its own tenant alone", async () => {
    const large = '{"order":{"total":{"$gt":100}}}';
    const own = await search(stranger, large);
    expect([own.status, own.found.length, tenantsOf(own.found)]).toEqual([200, 2, ["stranger"]]);
    const asked = await search(stranger, large, "&tenant_id=victim");
    expect(asked.found).toEqual(own.found);
    expect((await search(stranger, '{"secret":"victim-data"}')).found).toEqual([]);
    // The negative control: a key that is bound to no tenant finds both, and each by its name.
    expect((await search(gateway, large)).found).toHaveLength(4);
    expect(tenantsOf((await search(gateway, large, "&tenant_id=victim")).found)).toEqual(["victim"]);
    expect((await search(owner, '{"secret":"victim-data"}')).found).toHaveLength(3);
  });

  it("knows conditions on the payload only, and nothing that breaks out of them", async () => {
    for (const data of [
      '1},"tenant_id":{"$ne":"stranger"}',
      '{"order":1}} or {"data":{}',
      '{"order":{"total":{"$where":"1"}}}',
      "{order:1}",
      "victim",
      `${'{"a":'.repeat(50)}1${"}".repeat(50)}`,
    ]) {
      const { status, field } = await search(stranger, data);
      expect([data, status, field]).toEqual([data, 422, "data"]);
    }
    // These are members of the payload like any others, and no event has them.
    for (const data of ['{"tenant_id":"victim"}', '{"event_type":"order.paid"}', '{"__proto__":{"x":1}}']) {
      const { status, found } = await search(stranger, data);
      expect([data, status, found]).toEqual([data, 200, []]);
    }
  });

  it("lists no request of another tenant's source, whichever name is asked for", async () => {
    const list = async (client: ApiClient, query: string) => {
      const { status, json, text } = await client.get(`/api/v1/requests?${query}`);
      return { status, sources: (json["data"] as { source: string }[]).map(({ source }) => source), text };
    };
    for (const query of ["source=theirs", "source=theirs&tenant_id=victim", "tenant_id=victim&source=nobody"]) {
      const { status, sources } = await list(stranger, query);
      expect([query, status, sources]).toEqual([query, 200, []]);
    }
    for (const query of ["", "tenant_id=victim", "outcome=rejected"]) {
      const { sources, text } = await list(stranger, query);
      expect([query, sources, text.includes("victim")]).toEqual([query, ["ours"], false]);
    }
    expect((await stranger.get("/api/v1/sources/theirs/requests")).status).toBe(404);
    // The negative control: who may see it does.
    expect((await list(owner, "source=theirs")).sources).toEqual(["theirs"]);
    expect((await list(gateway, "source=theirs")).sources).toEqual(["theirs"]);
    expect((await list(gateway, "")).sources.sort()).toEqual(["ours", "theirs"]);
  });

  it("shows series whose points add up to what was counted", async () => {
    const stats = (await gateway.get("/api/v1/stats")).json as unknown as Counted;
    expect(stats.events.accepted).toBeGreaterThanOrEqual(6);
    expect(stats.attempts.failed).toBeGreaterThan(0);
    for (const window of ["last_15m", "last_1h", "last_24h", "last_7d"]) {
      const series = await loadSeries(gateway, `window=${window}`);
      expect([window, series.event_count, series.attempt_count]).toEqual([
        window,
        stats.events.accepted,
        stats.attempts.total,
      ]);
      expect([window, sumOf(series, "event_count")]).toEqual([window, stats.events.accepted]);
      expect([window, sumOf(series, "attempt_count")]).toEqual([window, stats.attempts.total]);
      expect([window, sumOf(series, "success_count")]).toEqual([window, stats.attempts.succeeded]);
      expect([window, sumOf(series, "failure_count")]).toEqual([window, stats.attempts.failed]);
    }
  });

  it("counts in the series of a tenant its own attempts, and says nothing of events that it cannot count", async () => {
    const own = (await owner.get("/api/v1/stats")).json as unknown as Counted;
    for (const [client, query] of [
      [owner, ""],
      [owner, "&tenant_id=stranger"],
      [gateway, "&tenant_id=victim"],
    ] as const) {
      const series = await loadSeries(client, `window=last_1h${query}`);
      expect([query, series.event_count, series.attempt_count]).toEqual([query, null, own.attempts.total]);
      expect(sumOf(series, "attempt_count")).toBe(3);
    }
    const { id } = ((await owner.get("/api/v1/subscriptions")).json["data"] as { id: string }[])[0] ?? { id: "" };
    expect((await stranger.get(`/api/v1/stats/series?subscription_id=${id}`)).status).toBe(404);
    expect((await loadSeries(owner, `subscription_id=${id}`)).attempt_count).toBe(3);
  });
});

interface Counted {
  events: { accepted: number };
  attempts: { total: number; succeeded: number; failed: number };
}

type Figure = "event_count" | "attempt_count" | "success_count" | "failure_count";
type Series = Record<Figure, number | null> & { series: Record<Figure, number | null>[] };

async function loadSeries(client: ApiClient, query: string): Promise<Series> {
  const { status, json } = await client.get(`/api/v1/stats/series?${query}`);
  expect(status).toBe(200);
  return json as unknown as Series;
}

function sumOf({ series }: Series, figure: Figure): number {
  return series.reduce((sum, point) => sum + (point[figure] ?? 0), 0);
}
