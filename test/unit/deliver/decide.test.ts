import { describe, expect, it } from "vitest";
import { assess, decide } from "../../../src/deliver/decide.ts";
import { blocked, deliveredWith, failedHere, postponed, type Outcome } from "../../../src/model/outcome.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";
import { DOWN, gone, OK, refused } from "../../support/delivery-bench.ts";
import { answered, NO_RETRY_ON, recordOf, timedOut } from "../../support/http-outcomes.ts";

const NOW = 1_000_000;
const random = createSeededRandom(1);

function decideOn(
  outcome: Outcome,
  delivery: Partial<ClaimedDelivery> = {},
  subscription: Partial<Subscription> = {},
  isTrial = false,
) {
  const claimed = {
    eventSeq: 7,
    subscriptionSeq: 3,
    generation: 2,
    attemptCount: 0,
    uncountedAttempts: 0,
    trigger: "first",
    event: { id: "evt_1", type: "order.created" },
  };
  const settings = { retryPolicy: { delays_s: [10, 60] }, onDeadHead: "block" };
  const assessed = assess(
    { ...claimed, ...delivery } as ClaimedDelivery,
    { ...settings, ...subscription } as Subscription,
    {
      outcome,
      startedAt: NOW - 5,
      durationMs: 5,
      record: recordOf({ place: "https://example.com" }, 200),
    },
    { now: NOW, wall: NOW, random, isTrial },
  );
  return { ...assessed, settlement: decide(assessed, undefined, false) };
}

describe("what follows from an attempt", () => {
  it("is the end of a delivery that was taken", () => {
    const { settlement, signal, suspends } = decideOn(OK);
    expect(settlement).toMatchObject({
      eventSeq: 7,
      subscriptionSeq: 3,
      generation: 2,
      attemptNumber: 1,
      verdict: "delivered",
      leavesKeyQueue: true,
      attempt: { result: "success", record: { code: 200 } },
    });
    expect({ signal, suspends }).toEqual({ signal: "healthy", suspends: false });
  });

  it("is a try that uses up no retry when it came before its time in a round, but only twenty times", () => {
    const policy = { retryPolicy: { delays_s: [10, 60] } };
    const isSpared = (uncountedAttempts: number, isTrial = true) =>
      decideOn(refused(500), { attemptCount: 21, isEarly: true, uncountedAttempts }, policy, isTrial).settlement
        .isUncounted;
    expect([isSpared(19), isSpared(20), isSpared(19, false)]).toEqual([true, false, false]);
  });

  it("is another try at its own time, however many there were, when a limit of the gateway put it off", () => {
    const { settlement, signal } = decideOn(
      postponed("too many", 5000),
      { attemptCount: 9 },
      { retryPolicy: { delays_s: [] } },
    );
    expect(settlement).toMatchObject({
      verdict: "retry",
      nextAttemptAt: NOW + 5000,
      isUncounted: true,
      keepsTime: true,
    });
    expect(signal).toBe("none");
    // Whoever tries a destination out is told at once.
    const test = { event: { id: "evt_1", type: "test.event" } } as Partial<ClaimedDelivery>;
    expect(decideOn(postponed("too many", 5000), test).settlement).toMatchObject({ verdict: "dead" });
  });

  it("is the end, with a warning, of a delivery that only some have taken", () => {
    const { settlement, signal } = decideOn(deliveredWith("refused for b@example.com"));
    expect(settlement).toMatchObject({ verdict: "delivered", attempt: { error: "refused for b@example.com" } });
    expect(signal).toBe("healthy");
  });

  it("is another try after the wait that its number asks for", () => {
    const first = decideOn(DOWN).settlement;
    const second = decideOn(DOWN, { attemptCount: 1 }).settlement;
    expect([first.verdict, second.verdict]).toEqual(["retry", "retry"]);
    expect(first.nextAttemptAt).toBeGreaterThanOrEqual(NOW + 10_000);
    expect(first.nextAttemptAt).toBeLessThanOrEqual(NOW + 12_000);
    expect(second.nextAttemptAt).toBeGreaterThanOrEqual(NOW + 60_000);
  });

  it("is not another try sooner than Retry-After says", () => {
    const busy: Outcome = { ...refused(503), retryAfterMs: 3_600_000 };
    expect(decideOn(busy).settlement.nextAttemptAt).toBe(NOW + 3_600_000);
  });

  it("is a dead letter with its reason when the tries are used up", () => {
    const { settlement } = decideOn(DOWN, { attemptCount: 2 });
    expect(settlement).toMatchObject({ verdict: "dead", deadReason: "retries_exhausted", leavesKeyQueue: false });
  });

  it("does not count the tries before a replay, nor those that a crash interrupted", () => {
    expect(decideOn(DOWN, { attemptCount: 5, uncountedAttempts: 4 }).settlement.verdict).toBe("retry");
    expect(decideOn(DOWN, { attemptCount: 5, uncountedAttempts: 3 }).settlement.verdict).toBe("dead");
  });

  it("lets the followers of a dead head go only where they may skip it", () => {
    expect(decideOn(refused(400)).settlement.leavesKeyQueue).toBe(false);
    expect(decideOn(refused(400), {}, { onDeadHead: "skip" }).settlement.leavesKeyQueue).toBe(true);
  });

  it("tells what the answer says about the destination", () => {
    const signal = (outcome: Outcome) => decideOn(outcome).signal;
    expect([signal(refused(503)), signal(DOWN), signal(timedOut("late"))]).toEqual(["failing", "failing", "failing"]);
    expect([signal(refused(500)), signal(refused(404)), signal(refused(429))]).toEqual([
      "failing",
      "healthy",
      "limited",
    ]);
    // Failing again at the same delivery, it may be the delivery; that it cannot be reached is never about that.
    expect([
      decideOn(refused(500), { attemptCount: 1 }).signal,
      decideOn(refused(503), { attemptCount: 1 }).signal,
    ]).toEqual(["unclear", "failing"]);
    expect([signal(failedHere("ours")), signal(blocked("private"))]).toEqual(["none", "none"]);
  });

  it("suspends a subscription whose destination is gone", () => {
    expect(decideOn(gone())).toMatchObject({ suspends: true, settlement: { verdict: "dead", deadReason: "gone" } });
  });

  it("does not call a 200 that means failure a success", () => {
    const { settlement, signal } = decideOn(answered(200, { retryOn: { ...NO_RETRY_ON, statuses: [200] } }));
    expect(settlement).toMatchObject({ verdict: "retry", attempt: { result: "failed", record: { code: 200 } } });
    expect(signal).toBe("failing");
  });

  it("ends a test with its first attempt, and holds against nobody what it shows", () => {
    const test = { event: { id: "evt_2", type: "test.event" } as ClaimedDelivery["event"] };
    const [down, refusal, end] = [decideOn(DOWN, test), decideOn(refused(400), test), decideOn(gone(), test)];
    expect([down, refusal, end].map(({ settlement }) => [settlement.verdict, settlement.deadReason])).toEqual([
      ["dead", "retries_exhausted"],
      ["dead", "refused"],
      ["dead", "gone"],
    ]);
    for (const failed of [down, refusal, end]) {
      expect(failed).toMatchObject({ signal: "none", suspends: false, testOf: "evt_2" });
      expect(failed.settlement.leavesKeyQueue).toBe(true);
    }
    expect(decideOn(OK, test)).toMatchObject({ signal: "healthy", testOf: "evt_2" });
    expect(decideOn(OK).testOf).toBeUndefined();
  });

  it("says where a delivery moves, and keeps what follows when it cannot move", () => {
    const assessed = decideOn(DOWN);
    const before = structuredClone({ ...assessed, delivery: undefined, report: undefined });
    const to = { seq: 9, ordered: true } as Subscription;
    const taken = decide(assessed, { to, isReturn: false }, true);
    const returned = decide(assessed, { to, isReturn: true }, false);
    expect(taken).toEqual({
      ...assessed.settlement,
      moveTo: { subscriptionSeq: 9, ordered: true },
      claimNext: true,
    });
    expect(returned.moveTo).toEqual({ subscriptionSeq: 9, ordered: true, isReturn: true });
    expect([taken.verdict, returned.verdict, assessed.settlement.moveTo]).toEqual(["retry", "retry", undefined]);
    expect({ ...assessed, delivery: undefined, report: undefined }).toEqual(before);
  });
});
