import { describe, expect, it } from "vitest";
import { createMetrics } from "../../../src/telemetry/metrics.ts";

const GAUGES = {
  openDeliveries: 0,
  deadLetters: 0,
  activeSubscriptions: 0,
  inFlight: 0,
  destinationsDown: 0,
  freeDiskBytes: 0,
  loopLagMs: 0,
  walBytes: 0,
  dueEvents: 0,
  retentionBehindS: 0,
  imbalance: 0,
};

describe("values of labels", () => {
  it("are bounded: what comes beyond is told as other, and still counted", async () => {
    const metrics = createMetrics();
    const attempt = { result: "success", isRetry: false, durationMs: 1, dwellMs: undefined };
    const [subscriptions, types] = [300, 100];
    for (let n = 0; n < subscriptions; n++) {
      for (let type = 0; type < types; type++) {
        metrics.countAttempt({ ...attempt, subscriptionId: `sub_${n}`, eventType: `type.${type}` });
      }
    }
    const text = await metrics.scrape(GAUGES);
    const series = [...text.matchAll(/^webhook_delivery_total\{.*\} (\d+)$/gm)];
    expect(series.length).toBeLessThanOrEqual(10_000 + subscriptions);
    expect(series.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(subscriptions * types);
    expect(text).toContain('event_type="other"');
  });

  it("are bounded for subscriptions too", async () => {
    const metrics = createMetrics();
    const attempt = { eventType: "a", result: "success", isRetry: false, durationMs: 1, dwellMs: undefined };
    for (let n = 0; n < 3000; n++) metrics.countAttempt({ ...attempt, subscriptionId: `sub_${n}` });
    const text = await metrics.scrape(GAUGES);
    expect([...text.matchAll(/^webhook_delivery_latency_seconds_count\{/gm)]).toHaveLength(1001);
  });
});
