import { describe, expect, it } from "vitest";
import {
  formatSubscription,
  formatTarget,
  parseSubscription,
  parseTarget,
} from "../../../src/deliver/subscription-state.ts";
import { countLimited } from "../../../src/deliver/pace.ts";
import { createSubscriptionState } from "../../../src/deliver/subscription-state.ts";
import { createTarget, createTargetCondition, recordFailure } from "../../../src/deliver/target.ts";
import { markReportable } from "../../../src/deliver/mode.ts";

/** As a gateway of 0.1.0 saves it. */
const SAVED = {
  isOpen: true,
  changedAt: 100,
  reason: "connection refused",
  failures: 3,
  failedChecks: 0,
  openedAt: 100,
  probeAt: 2100,
  failedProbes: 1,
  relapses: 0,
  awayMs: 0,
  pace: { perS: null, share: 0.5, usualPerS: 12, averagePerS: 10, isMeasuring: false, windowAt: 5, filledAt: 5 },
  attemptMs: 41,
  isHeld: true,
  lastError: "connection refused",
  deadInARow: 4,
  isWarned: true,
  failedOthers: true,
  suspension: { at: 90, reason: "410", isOutOfReach: false },
  isOpeningTold: true,
};

describe("what is saved of subscriptions and targets", () => {
  it("comes back as it was", () => {
    const state = createSubscriptionState(0);
    const { ownTarget, suspension, attemptTime } = state;
    for (let at = 1; at <= 3; at++) recordFailure(ownTarget, { now: at, error: "down", jitter: 0, isProbe: false });
    countLimited(ownTarget.pace, 4, 1000);
    markReportable(ownTarget);
    Object.assign(suspension, { deadInARow: 2, cause: { at: 1, reason: "gone", isOutOfReach: true } });
    Object.assign(attemptTime, { averageMs: 7 });
    const again = parseSubscription(formatSubscription(state), 0);
    // Its window of time begins anew.
    Object.assign(again.ownTarget.pace, { windowAt: ownTarget.pace.windowAt, filledAt: ownTarget.pace.filledAt });
    const target = { mode: ownTarget.mode, pace: ownTarget.pace, notices: ownTarget.notices };
    expect(again).toEqual({ suspension, attemptTime, ownTarget: createTarget(target) });
    expect(parseTarget(formatTarget(ownTarget), 0)).toMatchObject({ mode: target.mode, notices: target.notices });
  });

  it("is read as 0.1.0 writes it, and written so that 0.1.0 can read it", () => {
    const state = parseSubscription(JSON.stringify(SAVED), 1000);
    const { mode, pace, notices } = state.ownTarget;
    expect(mode).toMatchObject({
      isOpen: true,
      changedAt: 100,
      reason: "connection refused",
      failures: 3,
      probeAt: 2100,
      lastError: "connection refused",
    });
    expect(pace).toMatchObject({ perS: Number.POSITIVE_INFINITY, share: 0.5, usualPerS: 12, windowAt: 1000 });
    expect(notices).toEqual({ failedOthers: true, isOpeningTold: true });
    expect(state.suspension).toEqual({ deadInARow: 4, isWarned: true, isHeld: true, cause: SAVED.suspension });
    expect(state.attemptTime.averageMs).toBe(41);
    expect(JSON.parse(formatSubscription(state))).toMatchObject({ ...SAVED, pace: { share: 0.5, usualPerS: 12 } });
  });

  it("is as new where nothing was saved", () => {
    expect(parseTarget("{}", 5)).toEqual(createTargetCondition(5));
    expect(parseSubscription("{}", 5)).toEqual(createSubscriptionState(5));
  });
});
