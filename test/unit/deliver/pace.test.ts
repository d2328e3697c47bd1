import { describe, expect, it } from "vitest";
import {
  createPace,
  loadPace,
  countBad,
  countGood,
  countLimited,
  takePaceToken,
  PACE,
  paceAllows,
  paceOpensAt,
  paceRoom,
  startRamp,
} from "../../../src/deliver/pace.ts";
import { runPaced, type Replies, type Reply } from "../../support/paced-lane.ts";

const MINUTE_S = 60;
const OFFERED_PER_S = 400;

function failing(share: number): Replies {
  return (_, random) => (random() < share ? "failed" : "ok");
}

/** Takes so many in each tenth of a second, and answers the rest with that. */
function taking(perS: number, otherwise: Reply): Replies {
  let tenth = -1;
  let taken = 0;
  return (at) => {
    if (Math.floor(at / 100) !== tenth) [tenth, taken] = [Math.floor(at / 100), 0];
    return ++taken <= perS / 10 ? "ok" : otherwise;
  };
}

function run(replies: Replies, seconds = MINUTE_S, offeredPerS = OFFERED_PER_S) {
  return runPaced(replies, { durationMs: seconds * 1000, offeredPerS, concurrency: 32 });
}

describe("a destination that fails sometimes", () => {
  it.each([
    { share: 0.1, atLeast: 0.94 },
    { share: 0.3, atLeast: 0.8 },
    { share: 0.5, atLeast: 0.6 },
    { share: 0.7, atLeast: 0.35 },
  ])("is served at nearly the rate that it can take, with $share failing", ({ share, atLeast }) => {
    // What fails comes again after half of the time.
    const { good, openedAt } = run(failing(share));
    expect(good / (OFFERED_PER_S * MINUTE_S)).toBeGreaterThan(atLeast);
    expect(openedAt.filter((at) => at > 1000)).toEqual([]);
  });

  it("is served all the while when it is away for a tenth of a second now and then", () => {
    const { good, openedAt } = run((at) => (at % 10_000 < 9_900 ? "ok" : "failed"));
    expect(good / (OFFERED_PER_S * MINUTE_S)).toBeGreaterThan(0.97);
    expect(openedAt).toEqual([]);
  });

  it("is served in every second that it is there, when it comes and goes with each", () => {
    const { good, attempts, openedAt } = run((at) => (Math.floor(at / 1000) % 2 === 0 ? "ok" : "failed"));
    expect(openedAt).toEqual([]);
    expect(good / (OFFERED_PER_S * MINUTE_S)).toBeGreaterThan(0.9);
    expect(attempts - good).toBeLessThan(0.2 * good);
  });
});

describe("a destination that has a limit", () => {
  it.each<[string, Reply, number]>([
    ["fails at the rest", "failed", 0.85],
    ["answers the rest with 429", { limitedForMs: undefined }, 0.7],
    ["says when to come again", { limitedForMs: 1000 }, 0.4],
  ])("is served near that limit when it %s", (_, otherwise, atLeast) => {
    const { good, attempts, openedAt } = run(taking(100, otherwise));
    expect(openedAt).toEqual([]);
    expect(good / (100 * MINUTE_S)).toBeGreaterThan(atLeast);
    expect(attempts).toBeLessThan(3 * good);
  });

  it("is asked once a minute, and stays in NORMAL, when it answers nothing but 429", () => {
    const { attempts, attemptsPerS, openedAt } = run(() => ({ limitedForMs: undefined }), 20 * MINUTE_S, 50);
    expect(openedAt).toEqual([]);
    expect(attempts).toBeLessThan(60);
    const later = attemptsPerS.slice(10 * MINUTE_S).reduce((sum, one) => sum + one, 0);
    expect(later).toBeGreaterThanOrEqual(9);
    expect(later).toBeLessThanOrEqual(11);
  });

  it("is left alone for as long as it asks, but for an hour at most", () => {
    const pace = createPace(0);
    countLimited(pace, 0, 90_000);
    expect([paceOpensAt(pace, 10), paceAllows(pace, 10)]).toEqual([90_000, 0]);
    countLimited(pace, 20, 86_400_000);
    expect(paceOpensAt(pace, 30)).toBe(20 + PACE.maxHoldMs);
  });

  it("is sent more again as soon as it takes something", () => {
    const pace = createPace(0);
    for (let second = 0; second < 600; second++) countLimited(pace, second * 1000, undefined);
    expect(pace.perS).toBe(PACE.minPerS);
    countGood(pace, 600_000);
    expect(pace.perS).toBe(PACE.minUsualPerS);
  });
});

describe("a destination that is away", () => {
  it("costs few attempts", () => {
    const { attempts, good, openedAt } = run((at) => (at < 20_000 ? "ok" : "failed"), 2 * MINUTE_S);
    expect(openedAt).toHaveLength(1);
    expect(attempts - good).toBeLessThan(130);
  });

  it("is found to be away at the third failure in a row when little is sent to it", () => {
    const { openedAt } = run((at) => (at < 20_000 ? "ok" : "failed"), MINUTE_S, 0.2);
    expect(openedAt).toEqual([30_020]);
  });

  it("is sent little at first when it is back, and not much more than usual for a minute", () => {
    const back = 3 * MINUTE_S;
    const isAway = (at: number) => at >= 2 * MINUTE_S * 1000 && at < back * 1000;
    const { goodPerS, attemptsPerS } = run((at) => (isAway(at) ? "failed" : "ok"), 6 * MINUTE_S, 100);
    const from = goodPerS.findIndex((good, second) => second >= back && good > 0);
    expect(from - back).toBeLessThanOrEqual(70);
    expect(attemptsPerS[from]).toBeLessThanOrEqual(12);
    const minute = attemptsPerS.slice(from, from + MINUTE_S);
    expect(Math.max(...minute)).toBeLessThanOrEqual(200);
    expect(minute.findIndex((sent) => sent >= 90)).toBeLessThan(15);
  });

  it("starts lower each time when it goes away again soon after", () => {
    const first = createPace(0);
    const third = createPace(0);
    startRamp(first, 0, { awayMs: 60_000, relapses: 0, minPerS: 10 });
    startRamp(third, 0, { awayMs: 60_000, relapses: 2, minPerS: 10 });
    expect([first.perS, third.perS]).toEqual([PACE.minUsualPerS, PACE.minUsualPerS / 4]);
  });
});

describe("a pace", () => {
  it("lets everything go while nothing speaks against it", () => {
    const pace = createPace(0);
    expect([paceOpensAt(pace, 5), paceAllows(pace, 5), paceRoom(pace, 32)]).toEqual([5, Number.POSITIVE_INFINITY, 32]);
  });

  it("gives a token for each attempt while the rate is limited", () => {
    const pace = createPace(0);
    startRamp(pace, 0, { awayMs: 60_000, relapses: 0, minPerS: 10 });
    expect([paceAllows(pace, 0), paceOpensAt(pace, 0)]).toEqual([0, 1000 / PACE.minUsualPerS]);
    expect(paceAllows(pace, 200)).toBe(1);
    takePaceToken(pace, 200);
    expect(paceAllows(pace, 200)).toBe(0);
  });

  it("halves what is in flight with every tenth failure in a row, down to one, and doubles it with each success", () => {
    const pace = createPace(0);
    for (let failures = 1; failures <= 20; failures++) countBad(pace, 0, failures);
    expect(paceRoom(pace, 32)).toBe(8);
    for (let failures = 21; failures <= 300; failures++) countBad(pace, 0, failures);
    expect(paceRoom(pace, 32)).toBe(1);
    for (let i = 0; i < 10; i++) countGood(pace, 0);
    expect(paceRoom(pace, 32)).toBe(32);
  });

  it("is the same after it was saved", () => {
    const pace = createPace(0);
    for (let ms = 0; ms < 60_000; ms += 100) countGood(pace, ms);
    const loaded = loadPace(JSON.parse(JSON.stringify(pace)) as typeof pace, 60_000);
    expect(loaded).toMatchObject({ perS: Number.POSITIVE_INFINITY, usualPerS: pace.usualPerS });
    expect(loaded.usualPerS).toBeGreaterThan(5);
  });
});
