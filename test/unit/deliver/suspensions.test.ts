import { describe, expect, it } from "vitest";
import {
  checkOutage,
  countDead,
  createSuspensionState,
  endHold,
  resetDead,
} from "../../../src/deliver/subscription-state.ts";

describe("how near a subscription is to its suspension", () => {
  it("is too long in QUEUE after as long as is said, and half of that is told once", () => {
    const state = createSuspensionState();
    const limitMs = 72 * 3_600_000;
    const openFor = [limitMs / 2 - 1, limitMs / 2, limitMs - 1, limitMs];
    const told = openFor.map((openMs) => checkOutage(state, openMs, limitMs));
    expect(told).toEqual([undefined, "failing", undefined, "exhausted"]);
    expect(checkOutage(state, limitMs * 100, undefined)).toBeUndefined();
  });

  it("lets more die in a row than is said before it is too many, or any number", () => {
    const state = createSuspensionState();
    expect([1, 2, 3, 4, 5].map(() => countDead(state, 4))).toEqual([
      undefined,
      "failing",
      undefined,
      undefined,
      "exhausted",
    ]);
    expect(countDead(state, undefined)).toBeUndefined();
  });

  it("begins anew with a success, and when the subscription goes on after a hold", () => {
    const state = createSuspensionState();
    expect(resetDead(state)).toBe(false);
    countDead(state, 2);
    expect(resetDead(state)).toBe(true);
    expect(countDead(state, 2)).toBe("failing");
    endHold(state);
    expect(state).toMatchObject({ deadInARow: 1, isWarned: true });
    Object.assign(state, { isHeld: true, cause: { at: 1, reason: "gone", isOutOfReach: false } });
    endHold(state);
    expect(state).toEqual(createSuspensionState());
  });
});
