import { describe, expect, it } from "vitest";
import { createLatencyWindow } from "../../../src/telemetry/meters.ts";

describe("the latencies of the last minutes", () => {
  it("are told to within a tenth", () => {
    const recent = createLatencyWindow(() => 0);
    for (let ms = 1; ms <= 1000; ms++) recent.record(ms / 1000);
    for (const share of [0.5, 0.95, 0.99]) {
      expect(recent.quantile(share)).toBeGreaterThanOrEqual(share * 0.999);
      expect(recent.quantile(share)).toBeLessThanOrEqual(share * 1.1);
    }
  });

  it("are forgotten after ten minutes, and none are 0", () => {
    let now = 0;
    const recent = createLatencyWindow(() => now);
    expect(recent.quantile(0.99)).toBe(0);
    recent.record(5);
    now = 9 * 60_000;
    recent.record(0.1);
    expect(recent.quantile(0.99)).toBeGreaterThanOrEqual(5);
    now = 10 * 60_000;
    expect(recent.quantile(0.99)).toBeLessThan(0.2);
    now = 25 * 60_000;
    expect(recent.quantile(0.99)).toBe(0);
  });

  it("take what is shorter or longer than they know for the nearest that they do", () => {
    const recent = createLatencyWindow(() => 0);
    recent.record(0);
    recent.record(86_400);
    expect(recent.quantile(0.5)).toBe(0.001);
    expect(recent.quantile(1)).toBeGreaterThan(400);
  });
});
