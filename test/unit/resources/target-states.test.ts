import { describe, expect, it } from "vitest";
import { createTarget, createTargetCondition, recordFailure, type Target } from "../../../src/deliver/target.ts";
import { conditionOf, conditionOfTarget, worstOf } from "../../../src/resources/target-states.ts";

function targetAfter(failures: number): Target {
  const target = createTarget(createTargetCondition(0));
  for (let n = 0; n < failures; n++) recordFailure(target, { now: n, error: "503", jitter: 0, isProbe: false });
  return target;
}

const WELL = targetAfter(0);
const ILL = targetAfter(1);
const DOWN = targetAfter(3);
const active = { status: "active", isFailing: false } as const;

describe("the condition of a subscription", () => {
  it.each([
    ["healthy", { ...active, target: undefined }],
    ["healthy", { ...active, target: WELL }],
    ["failing", { ...active, target: ILL }],
    ["failing", { ...active, isFailing: true, target: WELL }],
    ["down", { ...active, target: DOWN }],
    ["down", { ...active, isFailing: true, target: DOWN }],
    ["paused", { status: "inactive", isFailing: false, target: DOWN }],
    ["suspended", { status: "suspended", isFailing: true, target: WELL }],
  ] as const)("is %s", (word, facts) => {
    expect(conditionOf(facts)).toBe(word);
  });
});

describe("the condition of a target", () => {
  it("is that of its only subscription", () => {
    expect(conditionOfTarget(WELL, [{ status: "suspended", isFailing: false }])).toBe("suspended");
    expect(conditionOfTarget(DOWN, [{ status: "inactive", isFailing: false }])).toBe("paused");
    expect(conditionOfTarget(WELL, [{ ...active, isFailing: true }])).toBe("failing");
  });

  it("is its own where others still send to it, or nobody does yet", () => {
    expect(conditionOfTarget(WELL, [active, { status: "suspended", isFailing: false }])).toBe("healthy");
    expect(conditionOfTarget(DOWN, [active, { status: "inactive", isFailing: false }])).toBe("down");
    expect(conditionOfTarget(undefined, [])).toBe("healthy");
    expect(conditionOfTarget(DOWN, [])).toBe("down");
  });
});

it("is healthy for all together only when all are", () => {
  expect(worstOf([])).toBe("healthy");
  expect(worstOf(["healthy", "down", "failing"])).toBe("down");
  expect(worstOf(["down", "suspended", "healthy"])).toBe("suspended");
});
