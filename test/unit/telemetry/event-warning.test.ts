import { describe, expect, it } from "vitest";
import { createEventWarning } from "../../../src/telemetry/event-warning.ts";
import { createLogger } from "../../../src/telemetry/logger.ts";

function openBench() {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    level: "info",
    maxBytes: 1e6,
    keep: 1,
    pretty: false,
    stdout: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const clock = { now: 0 };
  const warn = createEventWarning(logger, () => clock.now, "nobody subscribes to this event");
  return { lines, clock, warn: (type: string) => warn({ id: "evt_1", type, tenantId: "default" }) };
}

describe("a warning about events", () => {
  it("comes once a minute for each type, and says how many there were", () => {
    const { lines, clock, warn } = openBench();
    for (let i = 0; i < 100; i++) warn("webhook.shop");
    warn("webhook.till");
    expect(lines.map(({ event_type: type, events }) => [type, events])).toEqual([
      ["webhook.shop", 1],
      ["webhook.till", 1],
    ]);
    clock.now += 60_000;
    warn("webhook.shop");
    expect(lines[2]).toMatchObject({ event_type: "webhook.shop", events: 100 });
    warn("webhook.suspended");
    expect(lines).toHaveLength(3);
  });

  it("cannot be had a thousand times by a thousand made-up names", () => {
    const { lines, clock, warn } = openBench();
    for (let i = 0; i < 10_000; i++) warn(`webhook.made-up-${i}`);
    expect(lines).toHaveLength(20);
    clock.now += 60_000;
    warn("webhook.next");
    expect(lines[20]).toMatchObject({ event_type: "webhook.next", events: 1, other_events: 9980 });
    clock.now += 60_000;
    warn("webhook.next");
    expect(lines[21]).not.toHaveProperty("other_events");
  });
});
