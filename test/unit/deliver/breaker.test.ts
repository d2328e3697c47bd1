import { describe, expect, it } from "vitest";
import {
  BREAKER,
  createBreakerState,
  loadBreakerState,
  noteDead,
  noteFailure,
  noteStillOpen,
  noteSuccess,
  postponeProbe,
  resumeBreaker,
  type BreakerState,
  noteDelivered,
  takeClosingNews,
  takeOpeningNews,
} from "../../../src/deliver/breaker.ts";

const fail = (state: BreakerState, now: number, isProbe = true) =>
  noteFailure(state, { now, error: "down", jitter: 0, isProbe });

function opened(now = 0): BreakerState {
  const state = createBreakerState(now);
  for (let i = 0; i < BREAKER.failuresToOpen; i++) fail(state, now);
  return state;
}

describe("a breaker", () => {
  it("opens only after failures in a row", () => {
    const state = createBreakerState(0);
    expect([fail(state, 1), fail(state, 2)]).toEqual([undefined, undefined]);
    noteSuccess(state, 3);
    expect([fail(state, 3004), fail(state, 3005), fail(state, 3006)]).toEqual([undefined, undefined, "opened"]);
    expect(state).toMatchObject({ isOpen: true, openedAt: 3006, lastError: "down" });
    expect(state.probeAt).toBe(3006 + BREAKER.firstProbeMs);
  });

  it("does not take three failures for an outage where something was taken a moment ago, but a hundred", () => {
    const state = createBreakerState(0);
    noteSuccess(state, 1000);
    for (let failures = 1; failures < BREAKER.failuresInAnyCase; failures++) expect(fail(state, 1001)).toBeUndefined();
    expect(fail(state, 1001)).toBe("opened");
    const other = createBreakerState(0);
    noteSuccess(other, 1000);
    for (let failures = 0; failures < 10; failures++) expect(fail(other, 3999)).toBeUndefined();
    expect(fail(other, 1000 + BREAKER.sureAfterMs)).toBe("opened");
  });

  it("goes on waiting longer for its probes when it opens again soon after it closed", () => {
    const state = opened();
    const waits: number[] = [];
    for (let again = 0; again < 8; again++) {
      noteSuccess(state, state.probeAt);
      const now = state.probeAt + BREAKER.sureAfterMs;
      for (let i = 0; i < BREAKER.failuresToOpen; i++) fail(state, now);
      waits.push((state.probeAt - now) / 1000);
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60]);
    noteSuccess(state, state.probeAt);
    const later = state.probeAt + BREAKER.relapseMs;
    for (let i = 0; i < BREAKER.failuresToOpen; i++) fail(state, later);
    expect(state.probeAt - later).toBe(BREAKER.firstProbeMs);
  });

  it("puts off each probe further, up to a minute", () => {
    const state = opened();
    const waits = [];
    for (let i = 0; i < 7; i++) {
      const now = state.probeAt;
      fail(state, now);
      waits.push(state.probeAt - now);
    }
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("learns nothing while open from what was in flight before", () => {
    const state = opened();
    const { probeAt } = state;
    fail(state, 1_000, false);
    expect(state).toMatchObject({ probeAt, failedProbes: 0 });
  });

  it("does not follow a probe that said nothing with another at once", () => {
    const state = opened();
    postponeProbe(state, 10_000, 0.5);
    expect(state.probeAt).toBe(10_000 + BREAKER.firstProbeMs * 1.1);
  });

  it("closes with the first success and starts slowly", () => {
    const state = opened();
    expect(noteSuccess(state, 19_000)).toBe("closed");
    expect(state).toMatchObject({ isOpen: false, failures: 0, pace: { perS: 5, rampUntil: 79_000, rampMaxPerS: 10 } });
  });

  it("starts with hardly twice the rate that it had before it opened, however long ago", () => {
    const state = createBreakerState(0);
    for (let ms = 0; ms <= 300_000; ms += 25) noteSuccess(state, ms);
    for (let i = 0; i < 3; i++) fail(state, 303_000);
    noteSuccess(state, 300_000 + 24 * 3_600_000);
    expect(state.pace.rampMaxPerS).toBeGreaterThan(75);
    expect(state.pace.rampMaxPerS).toBeLessThanOrEqual(80);
  });

  it("is open for too long after as long as is said, and half of that is told once", () => {
    const state = opened();
    const limitMs = 72 * 3_600_000;
    const openFor = [limitMs / 2 - 1, limitMs / 2, limitMs - 1, limitMs];
    const told = openFor.map((openMs) => noteStillOpen(state, openMs, limitMs));
    expect(told).toEqual([undefined, "failing", undefined, "exhausted"]);
    expect(noteStillOpen(state, limitMs * 100, undefined)).toBeUndefined();
  });

  it("lets more die in a row than is said before it is too many, or any number", () => {
    const state = createBreakerState(0);
    expect([1, 2, 3, 4, 5].map(() => noteDead(state, 4))).toEqual([
      undefined,
      "failing",
      undefined,
      undefined,
      "exhausted",
    ]);
    expect(noteDead(state, undefined)).toBeUndefined();
  });

  it("does not count the time in which its subscription was held", () => {
    const state = opened();
    state.isHeld = true;
    resumeBreaker(state, 100 * 3_600_000);
    expect(state.probeAt).toBe(100 * 3_600_000);
    expect(state.openedAt).toBe(100 * 3_600_000);
  });

  it("knows the usual rate of one that an earlier version saved", () => {
    const saved = JSON.stringify({ ...createBreakerState(0), pace: undefined, averagePerS: 30, slowStartUntil: 0 });
    expect(loadBreakerState(saved, 1000).pace).toMatchObject({ usualPerS: 30, perS: Number.POSITIVE_INFINITY });
  });

  it("is told to have opened only for a failure of others' events, and to have closed only when that was told", () => {
    const state = opened();
    expect([takeOpeningNews(state), takeClosingNews(state)]).toEqual([false, false]);
    state.failedOthers = true;
    expect(takeOpeningNews(state)).toBe(true);
    // The next one has to be caused anew: the news itself may fail at the same destination.
    expect([takeClosingNews(state), takeOpeningNews(state), takeClosingNews(state)]).toEqual([true, false, false]);
    state.failedOthers = true;
    noteDelivered(state);
    expect(takeOpeningNews(state)).toBe(false);
  });
});
