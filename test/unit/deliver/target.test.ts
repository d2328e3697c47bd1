import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createTarget,
  createTargetCondition,
  forceMode,
  isHealthy,
  recordSuccess,
  recordCheckFailed,
  recordCheckSucceeded,
  recordFailedEvent,
  recordFailure,
  recordAllTried,
  type Target,
} from "../../../src/deliver/target.ts";
import { DEFAULT_RULES, toTargetRules, type TargetRules } from "../../../src/model/target.ts";

const HEALTH = { kind: "http", url: "https://n8n.example/healthz" };

function open(rules: Partial<TargetRules> = {}): Target {
  return createTarget(createTargetCondition(0), { ...DEFAULT_RULES, health: HEALTH, ...rules });
}

const ill = (target: Target, now = 1, isProbe = false) =>
  recordFailure(target, { now, error: "answered 503", jitter: 0, isProbe });
const failCheck = (target: Target, now = 1) => recordCheckFailed(target, { now, error: "check failed", jitter: 0 });

describe("a target with a health check", () => {
  // shows: B6, B16
  it("goes to QUEUE after three failures in a row, of checks and deliveries together", () => {
    const target = open();
    expect([ill(target), failCheck(target), ill(target, 7)]).toEqual([undefined, undefined, "opened"]);
    expect(target.mode).toMatchObject({ isOpen: true, changedAt: 7, reason: "answered 503" });
  });

  // shows: B33
  it("goes there after as many as its rules say", () => {
    expect(failCheck(open({ failuresToOpen: 1 }))).toBe("opened");
    const patient = open({ failuresToOpen: 5 });
    expect([1, 2, 3, 4, 5].map(() => ill(patient))).toEqual([undefined, undefined, undefined, undefined, "opened"]);
  });

  it("goes there at that number also when it has just accepted something, and so does any that was given one", () => {
    const failuresOf = (...[input, health]: Parameters<typeof toTargetRules>) => {
      const target = createTarget(createTargetCondition(0), toTargetRules(input, health));
      recordSuccess(target, 1);
      for (let failures = 1; failures < 200; failures++) if (ill(target, 2) === "opened") return failures;
      return undefined;
    };
    expect([failuresOf({}, HEALTH), failuresOf({ failures_to_open: 1 }, HEALTH)]).toEqual([3, 1]);
    expect([1, 3, 7].map((count) => failuresOf({ failures_to_open: count }, undefined))).toEqual([1, 3, 7]);
    // Where nobody gave a number and no check tells when it is back, a busy target may fail three times by chance.
    expect(failuresOf({}, undefined)).toBe(100);
  });

  it("forgets failed checks when one succeeds, but not that deliveries fail", () => {
    const target = open();
    failCheck(target);
    ill(target);
    recordCheckSucceeded(target, 2);
    expect(target.mode.failures).toBe(1);
    expect([ill(target), ill(target)]).toEqual([undefined, "opened"]);
    const other = open();
    failCheck(other);
    failCheck(other);
    recordSuccess(other, 2);
    expect([failCheck(other), failCheck(other), failCheck(other)]).toEqual([undefined, undefined, "opened"]);
  });

  // shows: B10, B17
  it("is in NORMAL again after three successes in a row, once all that waits was tried", () => {
    const target = open({ failuresToOpen: 1 });
    failCheck(target);
    expect(recordCheckSucceeded(target, 10)).toBe("recovering");
    expect(recordAllTried(target, 11, false)).toBeUndefined();
    expect([recordCheckSucceeded(target, 12), recordCheckSucceeded(target, 13)]).toEqual([undefined, "closed"]);
    expect(target.mode).toMatchObject({ isOpen: false, failures: 0, changedAt: 13, lastError: undefined });
    expect(target.mode.reason).toContain("3 times in a row");
  });

  // shows: B17
  it("waits for the last try when its health is good before", () => {
    const target = open({ failuresToOpen: 1, successesToClose: 2 });
    failCheck(target);
    expect([1, 2, 3].map((at) => recordCheckSucceeded(target, at))).toEqual(["recovering", undefined, undefined]);
    expect(recordAllTried(target, 4, false)).toBe("closed");
  });

  it("begins to count anew when a check fails, and what was tried before counts no more", () => {
    const target = open({ failuresToOpen: 1 });
    failCheck(target);
    recordCheckSucceeded(target, 1);
    recordAllTried(target, 1, false);
    recordCheckSucceeded(target, 2);
    failCheck(target, 3);
    expect([4, 5, 6, 7].map((at) => recordCheckSucceeded(target, at))).toEqual([
      "recovering",
      undefined,
      undefined,
      undefined,
    ]);
    expect(recordAllTried(target, 8, false)).toBe("closed");
  });

  it("stays in QUEUE while its health is good and it takes nothing", () => {
    const target = open();
    for (let at = 1; at <= 3; at++) failCheck(target, at);
    recordCheckSucceeded(target, 4);
    for (let at = 5; at < 8; at++) {
      ill(target, at);
      recordFailedEvent(target, at);
    }
    recordAllTried(target, 8, false);
    expect([9, 10, 11].map((at) => recordCheckSucceeded(target, at))).toEqual([undefined, undefined, undefined]);
    recordSuccess(target, 12);
    // What it failed at until then is brought forward and tried once more first.
    expect([target.hastens, recordCheckSucceeded(target, 13), recordAllTried(target, 13, false)]).toEqual([
      true,
      undefined,
      undefined,
    ]);
    target.hastens = false;
    expect(recordAllTried(target, 14, false)).toBe("closed");
  });

  it("is held in QUEUE neither by one event that fails many times, nor by events that are gone", () => {
    for (const [events, isEmpty] of [
      [[7, 7, 7, 7], false],
      [[7, 8, 9], true],
    ] as const) {
      const target = open({ failuresToOpen: 1 });
      ill(target);
      recordCheckSucceeded(target, 1);
      for (const event of events) recordFailedEvent(target, event);
      for (const at of [2, 3]) recordCheckSucceeded(target, at);
      expect(recordAllTried(target, 4, isEmpty)).toBe("closed");
    }
  });

  it("is not held in QUEUE by one or two deliveries that fail while its health is good", () => {
    const target = open({ failuresToOpen: 1 });
    ill(target);
    recordCheckSucceeded(target, 1);
    ill(target, 2);
    recordCheckSucceeded(target, 2);
    ill(target, 3);
    recordAllTried(target, 3, false);
    expect(recordCheckSucceeded(target, 4)).toBe("closed");
  });

  it("is not back because a delivery was answered", () => {
    const target = open({ failuresToOpen: 1 });
    failCheck(target);
    expect(recordSuccess(target, 2)).toBeUndefined();
    expect(target.mode.isOpen).toBe(true);
  });

  it("tells of each check that fails while it is in QUEUE", () => {
    const target = open({ failuresToOpen: 1 });
    expect([failCheck(target, 0), failCheck(target, 1)]).toEqual(["opened", "still"]);
  });
});

describe("a target without a health check", () => {
  it("is in NORMAL with the first success, and starts slowly", () => {
    const target = open({ health: undefined });
    for (let at = 0; at < 3; at++) ill(target, 0);
    expect(recordSuccess(target, 19_000)).toBe("closed");
    expect(target).toMatchObject({ mode: { isOpen: false, failures: 0 } });
    expect(target).toMatchObject({ pace: { perS: 5, rampUntil: 79_000, rampMaxPerS: 10 } });
  });

  it("starts with hardly twice the rate that it had before it was down, however long ago", () => {
    const target = open({ health: undefined });
    for (let ms = 0; ms <= 300_000; ms += 25) recordSuccess(target, ms);
    for (let i = 0; i < 3; i++) ill(target, 303_000);
    recordSuccess(target, 300_000 + 24 * 3_600_000);
    expect(target.pace.rampMaxPerS).toBeGreaterThan(75);
    expect(target.pace.rampMaxPerS).toBeLessThanOrEqual(80);
  });
});

describe("a mode that is set by hand", () => {
  it("stays in QUEUE whatever succeeds, and tells the target's health all the same", () => {
    const target = open();
    expect(forceMode(target, "QUEUE", 5)).toBe("opened");
    expect(target.mode).toMatchObject({ forced: "QUEUE", changedAt: 5, reason: "set by an operator" });
    for (let at = 6; at < 20; at++) {
      expect(recordCheckSucceeded(target, at)).toBeUndefined();
      expect(recordSuccess(target, at)).toBeUndefined();
      expect(recordAllTried(target, at, false)).toBeUndefined();
    }
    expect(target.mode.isOpen).toBe(true);
    expect(isHealthy(target)).toBe(true);
    expect(forceMode(target, "auto", 30)).toBe("closed");
  });

  it("stays in NORMAL whatever fails", () => {
    const target = open();
    expect(forceMode(target, "NORMAL", 0)).toBeUndefined();
    for (let at = 1; at < 20; at++) expect([ill(target, at), failCheck(target, at)]).toEqual([undefined, undefined]);
    expect(target.mode.isOpen).toBe(false);
    forceMode(target, "auto", 21);
    expect(ill(target, 22)).toBe("opened");
  });

  it("leaves it in QUEUE with auto when it is down", () => {
    const target = open();
    forceMode(target, "QUEUE", 0);
    for (let at = 1; at < 4; at++) failCheck(target, at);
    expect(forceMode(target, "auto", 5)).toBeUndefined();
    expect(target.mode).toMatchObject({ isOpen: true, forced: undefined, probeAt: 5 });
  });

  it("brings it out of QUEUE, slowly", () => {
    const target = open({ failuresToOpen: 1 });
    failCheck(target, 1);
    expect(forceMode(target, "NORMAL", 2)).toBe("closed");
    expect(target).toMatchObject({ mode: { isOpen: false }, pace: { perS: 5, rampMaxPerS: 32 } });
    expect(forceMode(target, "NORMAL", 3)).toBeUndefined();
  });
});

/** Whatever happens, in whatever order. */
const ACTS = {
  answered: (target: Target, now: number) => recordSuccess(target, now),
  ill: (target: Target, now: number) => ill(target, now),
  probeFailed: (target: Target, now: number) => ill(target, now, true),
  checkOk: (target: Target, now: number) => recordCheckSucceeded(target, now),
  checkFailed: (target: Target, now: number) => failCheck(target, now),
  tried: (target: Target, now: number) => recordAllTried(target, now, false),
  forceQueue: (target: Target, now: number) => forceMode(target, "QUEUE", now),
  forceNormal: (target: Target, now: number) => forceMode(target, "NORMAL", now),
  auto: (target: Target, now: number) => forceMode(target, "auto", now),
};
type Act = keyof typeof ACTS;

/** What must be true for a mode to change, written down a second time. */
function findFault(before: Snapshot, act: Act, target: Target, told: unknown): string | undefined {
  const { mode, rules } = target;
  if (mode.isOpen === before.isOpen) return told === "opened" || told === "closed" ? `told ${told}` : undefined;
  if (told !== (mode.isOpen ? "opened" : "closed")) return `changed, and told ${String(told)}`;
  const isForcing = act === "forceQueue" || act === "forceNormal" || act === "auto";
  if (isForcing) return mode.isOpen && act !== "forceQueue" ? `${act} opened it` : undefined;
  if (before.forced !== undefined) return `${act} changed what was forced`;
  if (mode.isOpen) {
    if (!["ill", "probeFailed", "checkFailed"].includes(act)) return `${act} opened it`;
    return before.failures + 1 >= rules.failuresToOpen ? undefined : "opened too soon";
  }
  if (rules.health === undefined) return act === "answered" ? undefined : `${act} closed it`;
  if (act !== "checkOk" && act !== "tried") return `${act} closed it`;
  const checks = before.checksInARow + (act === "checkOk" ? 1 : 0);
  if (checks < rules.successesToClose) return `closed after ${checks} checks`;
  return act === "tried" || before.wasTried ? undefined : "closed before all was tried";
}

interface Snapshot {
  isOpen: boolean;
  forced: unknown;
  failures: number;
  checksInARow: number;
  wasTried: boolean;
}

function findFaults(acts: readonly Act[], target: Target): string[] {
  const faults: string[] = [];
  let checksInARow = 0;
  let wasTried = false;
  for (const [at, act] of acts.entries()) {
    const { isOpen, forced, failures } = target.mode;
    const before = { isOpen, forced, failures, checksInARow, wasTried };
    const told = ACTS[act](target, at + 1);
    const fault = findFault(before, act, target, told);
    if (fault !== undefined) faults.push(`${at} ${act}: ${fault}`);
    const { mode } = target;
    if (!mode.isOpen || isOpen !== mode.isOpen || act === "checkFailed") [checksInARow, wasTried] = [0, false];
    else if (act === "checkOk" && mode.forced !== "QUEUE") checksInARow++;
    else if (act === "tried" && checksInARow > 0) wasTried = true;
    if (mode.failures < mode.failedChecks) faults.push(`${at} ${act}: more checks than failures`);
  }
  return faults;
}

const Acts = fc.array(fc.constantFrom(...(Object.keys(ACTS) as Act[])), { maxLength: 60 });

describe("whatever happens to a target", () => {
  it.each([
    { what: "with a health check", health: HEALTH },
    { what: "without one", health: undefined },
  ])("its mode changes only by the rules, $what", ({ health }) => {
    fc.assert(
      fc.property(Acts, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), (acts, toOpen, toClose) => {
        const target = open({ health, failuresToOpen: toOpen, successesToClose: toClose });
        expect(findFaults(acts, target)).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it("is seen when it breaks them", () => {
    const target = open({ failuresToOpen: 1, successesToClose: 1 });
    const hasty = new Proxy(target, { get: (from, name) => (name === "isTried" ? true : Reflect.get(from, name)) });
    expect(findFaults(["checkFailed", "checkOk"], hasty)).toEqual(["1 checkOk: closed before all was tried"]);
  });
});
