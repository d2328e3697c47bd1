import { describe, expect, it } from "vitest";
import {
  restartOutage,
  createMode,
  createModeNotices,
  MODE,
  countFailure,
  markReportable,
  clearReportable,
  recordAnswer,
  postponeProbe,
  takeModeNotice,
  type ModeNotices,
  type TargetMode,
} from "../../../src/deliver/mode.ts";

const fail = (mode: TargetMode, now: number, isProbe = true, sureAfterMs = 0) =>
  countFailure(mode, { now, error: "down", jitter: 0, isProbe, sureAfterMs });

function opened(now = 0): TargetMode {
  const mode = createMode();
  for (let i = 0; i < MODE.failuresToOpen; i++) fail(mode, now);
  return mode;
}

describe("a mode", () => {
  it("opens only after failures in a row", () => {
    const mode = createMode();
    expect([fail(mode, 1), fail(mode, 2)]).toEqual([undefined, undefined]);
    recordAnswer(mode, 3);
    expect([fail(mode, 3004), fail(mode, 3005), fail(mode, 3006)]).toEqual([undefined, undefined, "opened"]);
    expect(mode).toMatchObject({ isOpen: true, openedAt: 3006, lastError: "down" });
    expect(mode.probeAt).toBe(3006 + MODE.firstProbeMs);
  });

  it("does not take three failures for an outage where something was taken a moment ago, but a hundred", () => {
    const failAt = (mode: TargetMode, now: number) => fail(mode, now, true, 3000);
    const mode = createMode();
    recordAnswer(mode, 1000);
    for (let failures = 1; failures < MODE.failuresInAnyCase; failures++) expect(failAt(mode, 1001)).toBeUndefined();
    expect(failAt(mode, 1001)).toBe("opened");
    const other = createMode();
    recordAnswer(other, 1000);
    for (let failures = 0; failures < 10; failures++) expect(failAt(other, 3999)).toBeUndefined();
    expect(failAt(other, 4000)).toBe("opened");
  });

  it("goes on waiting longer for its probes when it opens again soon after it closed", () => {
    const mode = opened();
    const waits: number[] = [];
    for (let again = 0; again < 8; again++) {
      recordAnswer(mode, mode.probeAt);
      const now = mode.probeAt + 3000;
      for (let i = 0; i < MODE.failuresToOpen; i++) fail(mode, now);
      waits.push((mode.probeAt - now) / 1000);
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60]);
    recordAnswer(mode, mode.probeAt);
    const later = mode.probeAt + MODE.relapseMs;
    for (let i = 0; i < MODE.failuresToOpen; i++) fail(mode, later);
    expect(mode.probeAt - later).toBe(MODE.firstProbeMs);
  });

  it("closes with the first success", () => {
    const mode = opened();
    expect(recordAnswer(mode, 19_000)).toBe("closed");
    expect(mode).toMatchObject({ isOpen: false, failures: 0, changedAt: 19_000, awayMs: 19_000 });
    expect(recordAnswer(mode, 20_000)).toBeUndefined();
  });

  it("puts off each probe further, up to a minute", () => {
    const mode = opened();
    const waits = [];
    for (let i = 0; i < 7; i++) {
      const now = mode.probeAt;
      fail(mode, now);
      waits.push(mode.probeAt - now);
    }
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("learns nothing while open from what was in flight before", () => {
    const mode = opened();
    const { probeAt } = mode;
    fail(mode, 1_000, false);
    expect(mode).toMatchObject({ probeAt, failedProbes: 0 });
  });

  it("does not follow a probe that said nothing with another at once", () => {
    const mode = opened();
    postponeProbe(mode, 10_000, 0.5);
    expect(mode.probeAt).toBe(10_000 + MODE.firstProbeMs * 1.1);
  });

  it("has its whole time again when its subscription goes on", () => {
    const mode = opened();
    restartOutage(mode, 100 * 3_600_000);
    expect(mode.probeAt).toBe(100 * 3_600_000);
    expect(mode.openedAt).toBe(100 * 3_600_000);
  });
});

describe("what is told of a target's mode", () => {
  const opens = (notices: ModeNotices) => takeModeNotice({ mode: { ...createMode(), isOpen: true }, notices });
  const closes = (notices: ModeNotices) => takeModeNotice({ mode: createMode(), notices });

  it("tells that it opened only for a failure of others' events, and that it closed only when that was told", () => {
    const notices = createModeNotices();
    expect([opens(notices), closes(notices)]).toEqual([false, false]);
    markReportable({ notices });
    expect(opens(notices)).toBe(true);
    // The next one has to be caused anew: the notice itself may fail at the same destination.
    expect([closes(notices), opens(notices), closes(notices)]).toEqual([true, false, false]);
    markReportable({ notices });
    clearReportable({ notices });
    expect(opens(notices)).toBe(false);
  });
});
