import { describe, expect, it } from "vitest";
import { createActivityLines } from "../../../src/cli/activity-lines.ts";
import type { Terminal } from "../../../src/cli/terminal.ts";
import type { EndedAttempt } from "../../../src/telemetry/activity.ts";

const ATTEMPT: EndedAttempt = {
  eventId: "evt_7",
  deliveryId: "dlv_7",
  eventType: "order.created",
  subscription: "tour",
  number: 1,
  verdict: "delivered",
  responseCode: 200,
  error: undefined,
  durationMs: 11.6,
  retryInMs: undefined,
};

function watch(terminal: Terminal = { width: 80, hasColour: false }) {
  const lines: string[] = [];
  let tick: () => void = () => undefined;
  const activity = createActivityLines({
    write: (line) => lines.push(line),
    findTerminal: () => terminal,
    now: () => new Date(2026, 0, 2, 3, 4, 5).getTime(),
    later: (run) => (tick = run),
  });
  const request = (path = "/webhook/orders", status = 202, eventId?: string) =>
    activity.request({ method: "POST", path, status, durationMs: 2.4, eventId });
  const message = (outcome: string, eventId?: string) =>
    activity.message({ source: "bus", outcome, eventId, durationMs: 2.4 });
  const attempt = (changed: Partial<EndedAttempt> = {}) => activity.attempt({ ...ATTEMPT, ...changed });
  return { lines, request, message, attempt, passSecond: () => tick() };
}

describe("what a terminal shows of a gateway's work", () => {
  it("is a line for each request and each attempt", () => {
    const { lines, request, attempt } = watch();
    request("/webhook/orders", 202, "evt_7\u001b[2J");
    request("/webhook/orders", 401);
    attempt();
    attempt({ number: 3 });
    attempt({ verdict: "retry", responseCode: undefined, error: "connection refused (ECONNREFUSED)", retryInMs: 2100 });
    attempt({ verdict: "dead", responseCode: 404 });
    expect(lines).toEqual([
      "03:04:05 in  POST /webhook/orders 202 2 ms evt_7\\u001b[2J",
      "03:04:05 in  POST /webhook/orders 401 2 ms",
      "03:04:05 out order.created to tour 200 12 ms delivered evt_7",
      "03:04:05 out order.created to tour 200 12 ms delivered at attempt 3 evt_7",
      "03:04:05 out order.created to t… connection refused 12 ms attempt 1, next in 2 s",
      "03:04:05 out order.created to tour 404 12 ms dead letter evt_7",
    ]);
  });

  it("is a line for each message of a queue", () => {
    const { lines, message } = watch();
    message("accepted", "evt_7");
    message("invalid_field");
    for (let i = 0; i < 30; i++) message("ignored");
    expect(lines).toHaveLength(20);
    message("too_large");
    expect(lines.slice(0, 3)).toEqual([
      "03:04:05 in  message of bus accepted 2 ms evt_7",
      "03:04:05 in  message of bus invalid_field 2 ms",
      "03:04:05 in  message of bus ignored 2 ms",
    ]);
    expect(lines.at(-1)).toBe("03:04:05 in  message of bus too_large 2 ms");
  });

  it.each([80, 120])("fits %i columns, whatever the names", (width) => {
    const { lines, request, attempt } = watch({ width, hasColour: false });
    request(`/webhook/${"long-".repeat(60)}`);
    attempt({ eventType: "very.".repeat(40), subscription: "s".repeat(90) });
    attempt({
      verdict: "retry",
      responseCode: undefined,
      error: "e".repeat(300),
      number: 12,
      durationMs: 60_000,
      retryInMs: 86_400_000,
    });
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
    expect(lines[0]).toMatch(/… 202 2 ms$/);
  });

  it("has colours where the terminal has them, and follows no control sequence of a sender", () => {
    const { lines, request, attempt } = watch({ width: 80, hasColour: true });
    request();
    attempt({ verdict: "dead", responseCode: 500 });
    request("/webhook/\u001b[2J");
    expect(lines[0]).toContain("\u001b[32m202\u001b[39m");
    expect(lines[1]).toContain("\u001b[31mdead letter\u001b[39m");
    expect(lines[2]).toContain("/webhook/\\u001b[2J");
    expect(lines[2]).not.toContain("\u001b[2J");
  });

  it("leaves out probes, which come all the time", () => {
    const { lines, request } = watch();
    for (const path of ["/health", "/livez", "/readyz", "/metrics"]) request(path, 200);
    expect(lines).toEqual([]);
    request("/status", 200);
    expect(lines).toHaveLength(1);
  });

  it("is a sample under load, which leaves room for failures and counts the rest", () => {
    const { lines, request, attempt, passSecond } = watch();
    for (let i = 0; i < 500; i++) request();
    expect(lines).toHaveLength(20);
    request("/webhook/orders", 503);
    expect(lines.at(-1)).toContain("503");
    for (let i = 0; i < 300; i++) attempt();
    expect(lines).toHaveLength(21);
    passSecond();
    expect(lines.at(-1)).toBe("03:04:05 …   480 requests and 300 attempts more in the last second");
    request();
    expect(lines).toHaveLength(23);
    passSecond();
    expect(lines).toHaveLength(23);
  });
});
