import { describe, expect, it } from "vitest";
import { createRequestLog } from "../../../src/intake/webhook-log.ts";
import type { LoggedRequest } from "../../../src/store/port/event-log.ts";
import { newRequest } from "../../support/store-fixtures.ts";

describe("the log of rejected requests", () => {
  function open() {
    const kept: LoggedRequest[] = [];
    const clock = { now: 0 };
    const log = createRequestLog(
      (request) => kept.push(request),
      () => clock.now,
    );
    const bytes = () => kept.reduce((sum, { facts, body }) => sum + facts.length + (body?.length ?? 0), 0);
    return { kept, clock, log, bytes };
  }

  it("keeps what comes now and then whole", () => {
    const { kept, clock, log } = open();
    for (let n = 0; n < 5; n++) {
      log(newRequest(`req_${n}`, { body: Buffer.alloc(1_900_000) }));
      clock.now += 2000;
    }
    expect(kept.map(({ body }) => body?.length)).toEqual(Array(5).fill(1_900_000));
  });

  it("keeps a flood without bodies, then in part, and no more than a bound of it", () => {
    const { kept, clock, log, bytes } = open();
    for (let n = 0; n < 1000; n++) {
      log(newRequest(`req_${n}`, { body: Buffer.alloc(2_000_000), facts: "x".repeat(10_000) }));
      clock.now += 10;
    }
    expect(kept[0]?.body?.length).toBe(2_000_000);
    expect(kept.filter(({ body }) => body === undefined).length).toBeGreaterThan(100);
    expect(bytes()).toBeLessThan(2 * 1024 * 1024 + 10 * 1024 * 1024);
    const before = kept.length;
    for (let n = 0; n < 1000; n++) log(newRequest(`req_more_${n}`, { facts: "x".repeat(10_000) }));
    expect(kept.length - before).toBeLessThan(300);
  });
});
