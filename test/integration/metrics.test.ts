import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** Of Node's Prometheus client; they depend on the system and are told of together. */
const OF_THE_CLIENT = /^(?:process|nodejs)_/;

interface Described {
  name: string;
  type: string;
}

describe("the metrics of a running gateway", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let text: string;
  let told: Described[];

  beforeAll(async () => {
    sink = await openSinkServer();
    gateway = await startTestGateway();
    await gateway.post("/api/v1/subscriptions", { name: "well", url: `${sink.url}/a`, events: ["order.*"] });
    await gateway.post("/api/v1/subscriptions", { name: "held", url: `${sink.url}/b`, events: ["order.*"] });
    await gateway.publish({ event_type: "order.created", event_id: "e1", payload: { total: 1 } });
    await gateway.settled();
    await gateway.post("/api/v1/subscriptions", {
      name: "down",
      url: "http://127.0.0.1:9/none",
      events: ["farm.*"],
      retry_policy: { delays_s: [3600] },
    });
    await gateway.publish({ event_type: "farm.milked", event_id: "e2", payload: {} });
    await until(async () => (await gateway.deliveryOf("e2")).attempt_count === 1);
    gateway.moveClock(90_000);
    text = (await gateway.get("/metrics")).text;
    told = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => ({ name, type }));
  });
  afterAll(async () => {
    await gateway.close();
    await sink.close();
  });

  const valueOf = (series: string) =>
    Number(new RegExp(`^${series.replaceAll(/[{}"().]/g, String.raw`\$&`)} (\\S+)$`, "m").exec(text)?.[1]);

  // shows: C56
  it("are those that docs/reference/metrics.md tells of, each with its type, and no others", () => {
    const page = readFileSync("docs/reference/metrics.md", "utf8");
    const documented = [...page.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name = "", type = ""]) => ({
      name,
      type,
    }));
    const own = told.filter(({ name }) => !OF_THE_CLIENT.test(name));
    const byName = (a: Described, b: Described) => a.name.localeCompare(b.name);
    expect(documented.toSorted(byName)).toEqual(own.toSorted(byName));
    expect(documented.length).toBeGreaterThan(30);
  });

  // shows: C56, C57, C59
  it("have the names, labels and buckets of the event system's design", () => {
    const attempt = /^webhook_delivery_total\{webhook_id="sub_\w+",event_type="order.created",status="success"\} 1$/m;
    expect(text).toMatch(attempt);
    const bounds = [...text.matchAll(/^webhook_delivery_latency_seconds_bucket\{webhook_id="(\w+)",le="([^"]+)"\}/gm)];
    const first = bounds.filter(([, id]) => id === bounds[0]?.[1]).map(([, , le]) => le);
    expect(first).toEqual(["0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"]);
    expect([valueOf("webhook_delivery_success"), valueOf("webhook_active_subscriptions")]).toEqual([2, 3]);
    expect(valueOf('webhook_delivery_latency{quantile="0.99"}')).toBeGreaterThan(0);
    expect(valueOf("webhook_delivery_latency_count")).toBe(3);
    expect([valueOf("webhook_retry_total"), valueOf("dlq_messages")]).toEqual([0, 0]);
  });

  it("tell how much waits for a target, and for how long", () => {
    expect(valueOf('posthorn_target_open_deliveries{tenant_id="default",target="down"}')).toBe(1);
    expect(valueOf('posthorn_target_oldest_open_seconds{tenant_id="default",target="down"}')).toBeGreaterThanOrEqual(
      90,
    );
    expect(valueOf('posthorn_target_open_deliveries{tenant_id="default",target="well"}')).toBe(0);
    expect(valueOf('posthorn_target_oldest_open_seconds{tenant_id="default",target="well"}')).toBe(0);
  });

  it("tell of the store: commits, its log, and that nothing is unaccounted for", () => {
    expect(valueOf("posthorn_commit_seconds_count")).toBeGreaterThan(0);
    expect(valueOf("posthorn_commit_rows_sum")).toBeGreaterThan(valueOf("posthorn_commit_rows_count") / 2);
    expect(valueOf("posthorn_wal_bytes")).toBeGreaterThan(0);
    expect([valueOf("posthorn_conservation_imbalance"), valueOf("posthorn_retention_behind_seconds")]).toEqual([0, 0]);
    expect(valueOf("posthorn_accept_to_delivered_seconds_count")).toBe(2);
  });

  it("are all that the rules and the dashboard ask for, by name and by label", () => {
    const rules = parse(readFileSync("deploy/prometheus/posthorn.rules.yaml", "utf8")) as {
      groups: { rules: { expr: string }[] }[];
    };
    const dashboard = JSON.parse(readFileSync("deploy/grafana/posthorn.json", "utf8")) as {
      panels: { targets: { expr: string }[] }[];
    };
    const asked = [
      ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
      ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ].flatMap((expression) => expression.match(/\b(?:posthorn|webhook|dlq|process|nodejs)_\w+/g) ?? []);
    const known = new Set(
      told.flatMap(({ name, type }) => {
        const parts = type === "histogram" ? ["bucket", "sum", "count"] : type === "summary" ? ["sum", "count"] : [];
        return [name, ...parts.map((part) => `${name}_${part}`)];
      }),
    );
    const labels = /webhook_id/;
    expect(asked.filter((name) => !known.has(name) && !labels.test(name))).toEqual([]);
    // Each of the seed's own is watched.
    for (const name of [
      "webhook_delivery_success",
      "webhook_delivery_latency",
      "webhook_retry_total",
      "dlq_messages",
    ]) {
      expect(asked).toContain(name);
    }
  });
});
