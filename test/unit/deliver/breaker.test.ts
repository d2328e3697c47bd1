import { describe, expect, it } from "vitest";
import {
  BREAKER,
  createBreakerState,
  noteFailure,
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
    expect([fail(state, 4), fail(state, 5), fail(state, 6)]).toEqual([undefined, undefined, "opened"]);
    expect(state).toMatchObject({ isOpen: true, openedAt: 6, probeAt: 6 + BREAKER.firstProbeMs, lastError: "down" });
  });

  it("puts off each probe further, up to a minute", () => {
    const state = opened();
    const waits = [];
    for (let i = 0; i < 6; i++) {
      const now = state.probeAt;
      fail(state, now);
      waits.push(state.probeAt - now);
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
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
    expect(noteSuccess(state, 9_000)).toBe("closed");
    expect(state).toMatchObject({ isOpen: false, failures: 0, slowStartUntil: 69_000, slowStartPerS: 10 });
  });

  it("starts with hardly twice the rate that it had before it opened, however long ago", () => {
    const state = createBreakerState(0);
    for (let ms = 0; ms <= 300_000; ms += 25) noteSuccess(state, ms);
    for (let i = 0; i < 3; i++) fail(state, 300_000);
    noteSuccess(state, 300_000 + 24 * 3_600_000);
    expect(state.slowStartPerS).toBeGreaterThan(75);
    expect(state.slowStartPerS).toBeLessThanOrEqual(80);
  });

  it("expires when it was open for 72 hours, and says so once at half of them", () => {
    const state = opened();
    expect(fail(state, BREAKER.suspendAfterMs / 2 - 1)).toBeUndefined();
    expect(fail(state, BREAKER.suspendAfterMs / 2)).toBe("failing");
    expect(fail(state, BREAKER.suspendAfterMs - 1)).toBeUndefined();
    expect(fail(state, BREAKER.suspendAfterMs)).toBe("expired");
  });

  it("does not count the time in which its subscription was held", () => {
    const state = opened();
    state.isHeld = true;
    resumeBreaker(state, 100 * 3_600_000);
    expect(state.probeAt).toBe(100 * 3_600_000);
    expect(fail(state, 101 * 3_600_000)).toBeUndefined();
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
