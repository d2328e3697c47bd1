import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addReady, createLane, isBusy, startLinger, type Lane, type LaneRound } from "../../../src/deliver/lane.ts";
import { admitsNew, nextStep, type SharedRoom, type Step } from "../../../src/deliver/lane-step.ts";
import { createSubscriptionState } from "../../../src/deliver/subscription-state.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import { DEFAULT_RULES } from "../../../src/model/target.ts";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";

const NOW = 1_000_000;
const ROOM: SharedRoom = { isStopping: false, claims: 100, mayProbe: true };
const ACTIVE = { seq: 1, tenantId: "a", status: "active", concurrency: 4 } as Subscription;
const FALLBACK: Subscription = { ...ACTIVE, seq: 2 };
const PAUSED = { ...ACTIVE, status: "inactive" } as Subscription;

/** What a situation is made of; the rest is as in a new lane. */
interface Situation extends Partial<
  Pick<
    Lane,
    | "inFlight"
    | "unsettled"
    | "reserved"
    | "claiming"
    | "mayHaveMore"
    | "nextDueAt"
    | "isBeingSuspended"
    | "isMoving"
    | "movesAt"
  >
> {
  ready?: number;
  /** How long ago the first of them came. */
  readyForMs?: number;
  maxBatch?: number;
  lingerMs?: number;
  /** In QUEUE, with the next probe then. */
  probeAt?: number;
  isProbing?: boolean;
  hasHealthCheck?: boolean;
  /** What a round may still begin. */
  roundRoom?: number;
  /** Nothing goes before. */
  heldUntil?: number;
  perMinute?: number;
  spentTokens?: number;
}

function laneOf(situation: Situation): Lane {
  const { ready = 0, readyForMs = 0, maxBatch = 1, lingerMs = 0, probeAt, roundRoom, ...rest } = situation;
  const { isProbing = false, hasHealthCheck = false, heldUntil = 0, perMinute, spentTokens = 0, ...counts } = rest;
  const lane = createLane({ ...ACTIVE, rateLimitPerMinute: perMinute }, createSubscriptionState(NOW), NOW);
  Object.assign(lane, counts);
  for (let eventSeq = 1; eventSeq <= ready; eventSeq++) addReady(lane, { eventSeq } as ClaimedDelivery, 0);
  if (ready > 0) startLinger(lane, NOW - readyForMs);
  Object.assign(lane, { limits: { maxBatch, lingerMs } });
  const { target } = lane;
  const { mode } = target;
  if (probeAt !== undefined) Object.assign(mode, { isOpen: true, probeAt });
  Object.assign(target.pace, { heldUntil });
  target.isProbing = isProbing;
  if (hasHealthCheck) target.rules = { ...DEFAULT_RULES, health: { kind: "http", url: "https://a.example" } };
  if (roundRoom !== undefined) lane.round = { target, room: roundRoom } as LaneRound;
  for (let token = 0; token < spentTokens; token++) lane.rateLimit?.take(NOW);
  return lane;
}

function stepOf(situation: Situation, subscription: Subscription | undefined = ACTIVE, room: Partial<SharedRoom> = {}) {
  return nextStep(laneOf(situation), subscription, { ...ROOM, ...room }, NOW);
}

describe("the next step of a lane that may send", () => {
  it("is to claim what is due: for its free slots and a few ahead, and no more than there is room for", () => {
    const due = { mayHaveMore: true, nextDueAt: NOW };
    expect(stepOf(due)).toEqual({ action: "claim", limit: 4 + 16 });
    expect(stepOf({ ...due, inFlight: 3, ready: 5 })).toEqual({ action: "claim", limit: 1 + 16 - 5 });
    expect(stepOf(due, ACTIVE, { claims: 3 })).toEqual({ action: "claim", limit: 3 });
    expect(stepOf({ ...due, maxBatch: 10 })).toEqual({ action: "claim", limit: 100 });
    expect(stepOf({ ...due, perMinute: 180, spentTokens: 1 })).toEqual({ action: "claim", limit: 2 });
  });

  it("is to wait for what is due later, and for a rate that lets nothing go now", () => {
    expect(stepOf({ mayHaveMore: true, nextDueAt: NOW + 70 })).toEqual({ action: "wait", until: NOW + 70 });
    const throttled = { mayHaveMore: true, nextDueAt: NOW, perMinute: 60, spentTokens: 1 };
    expect(stepOf(throttled)).toEqual({ action: "wait", until: NOW + 1000 });
    expect(stepOf({ ready: 1, heldUntil: NOW + 30 })).toEqual({ action: "wait", until: NOW + 30 });
    const both = { ready: 1, heldUntil: NOW + 30, mayHaveMore: true, nextDueAt: NOW + 20 };
    expect(stepOf(both)).toEqual({ action: "wait", until: NOW + 20 });
  });

  it("is to send what is ready, unless as many as may be are in flight", () => {
    expect(stepOf({ ready: 1 })).toEqual({ action: "send" });
    expect(stepOf({ ready: 1, inFlight: 3 })).toEqual({ action: "send" });
    expect(stepOf({ ready: 1, inFlight: 4 })).toEqual({ action: "rest" });
  });

  it("is to rest while something is under way, and to be forgotten when nothing is", () => {
    expect([stepOf({ unsettled: 1 }), stepOf({ claiming: 3 }), stepOf({ reserved: 1 })]).toEqual(
      [1, 2, 3].map(() => ({ action: "rest" })),
    );
    expect(stepOf({})).toEqual({ action: "forget" });
    expect(stepOf({ perMinute: 60, spentTokens: 1 })).toEqual({ action: "wait", until: NOW + 1000 });
  });

  it("is for a batch to go when it is full, or when it has waited for more for long enough", () => {
    const batch = { maxBatch: 3, lingerMs: 50 };
    expect(stepOf({ ...batch, ready: 3 })).toEqual({ action: "send" });
    expect(stepOf({ ...batch, ready: 2, readyForMs: 20 })).toEqual({ action: "wait", until: NOW + 30 });
    expect(stepOf({ ...batch, ready: 2, readyForMs: 50 })).toEqual({ action: "send" });
    expect(stepOf({ ...batch, ready: 2, readyForMs: 50, claiming: 1 })).toEqual({ action: "rest" });
  });
});

describe("the next step of a lane that is held", () => {
  it("is to give back what is ready", () => {
    const steps = [
      stepOf({ ready: 2 }, PAUSED),
      nextStep(laneOf({ ready: 2 }), undefined, ROOM, NOW),
      stepOf({ ready: 2, isBeingSuspended: true }),
      stepOf({ ready: 2 }, ACTIVE, { isStopping: true }),
    ];
    expect(steps).toEqual(steps.map(() => ({ action: "give back" })));
  });

  it("is to cancel what the table holds for a subscription that is deleted, but not when all stop", () => {
    const lane = laneOf({ mayHaveMore: true });
    expect(nextStep(lane, undefined, ROOM, NOW)).toEqual({ action: "cancel" });
    expect(nextStep(lane, undefined, { ...ROOM, isStopping: true }, NOW)).toEqual({ action: "rest" });
  });

  it("is to be forgotten with a subscription that is deleted, though its target is down", () => {
    expect(nextStep(laneOf({ probeAt: NOW }), undefined, ROOM, NOW)).toEqual({ action: "forget" });
    expect(stepOf({ probeAt: NOW }, PAUSED)).toEqual({ action: "rest" });
  });
});

describe("the next step of a lane whose target is in QUEUE", () => {
  const due = { mayHaveMore: true, nextDueAt: NOW - 5 };

  it("is to claim one for the probe when that is due, and to send it", () => {
    expect(stepOf({ ...due, probeAt: NOW + 9 })).toEqual({ action: "wait", until: NOW + 9 });
    expect(stepOf({ ...due, probeAt: NOW })).toEqual({ action: "claim", limit: 1 });
    expect(stepOf({ probeAt: NOW, ready: 1 })).toEqual({ action: "probe" });
  });

  it("is to give back what is ready before the time of the probe, or beside one that is under way", () => {
    expect(stepOf({ probeAt: NOW + 1, ready: 1 })).toEqual({ action: "give back" });
    expect(stepOf({ probeAt: NOW, ready: 1, isProbing: true })).toEqual({ action: "give back" });
  });

  it("is to put the probe off where too many others are under way", () => {
    expect(stepOf({ ...due, probeAt: NOW }, ACTIVE, { mayProbe: false })).toEqual({ action: "postpone" });
    expect(stepOf({ probeAt: NOW, ready: 1 }, ACTIVE, { mayProbe: false })).toEqual({ action: "give back" });
  });

  it("is to risk nothing where a health check finds out, except in a round", () => {
    expect(stepOf({ ...due, probeAt: NOW, hasHealthCheck: true })).toEqual({ action: "rest" });
    const inRound = { ...due, probeAt: NOW, hasHealthCheck: true };
    expect(stepOf({ ...inRound, roundRoom: 2 })).toEqual({ action: "claim", limit: 2 });
    expect(stepOf({ ...inRound, roundRoom: 0 })).toEqual({ action: "rest" });
    expect(stepOf({ ready: 1, probeAt: NOW, hasHealthCheck: true, roundRoom: 1 })).toEqual({ action: "send" });
  });

  it("is to hand over what waits where there is a fallback that takes it, retries at once and the rest in its time", () => {
    const inQueue = { ...due, probeAt: NOW, hasHealthCheck: true };
    const room = { movesTo: FALLBACK };
    expect(stepOf(inQueue, ACTIVE, room)).toEqual({ action: "move", to: FALLBACK });
    const later = { ...inQueue, nextDueAt: NOW + 5 };
    expect(stepOf(later, ACTIVE, room)).toEqual({ action: "move", to: FALLBACK });
    expect(stepOf({ ...later, movesAt: NOW + 5 }, ACTIVE, room)).toEqual({ action: "wait", until: NOW + 5 });
    // What the fallback cannot accept is due, and stays.
    expect(stepOf({ ...inQueue, movesAt: Infinity }, ACTIVE, room)).toEqual({ action: "rest" });
    expect(stepOf({ ...inQueue, isMoving: true }, ACTIVE, room)).toEqual({ action: "rest" });
    expect(stepOf({ ...inQueue, ready: 1 }, ACTIVE, room)).toEqual({ action: "give back" });
    expect(stepOf({ ...inQueue, roundRoom: 2 }, ACTIVE, room)).toEqual({ action: "claim", limit: 2 });
    expect(stepOf(inQueue, PAUSED, room)).toEqual({ action: "rest" });
  });
});

/** What speaks against a step, written down a second time. */
function findFault(lane: Lane, subscription: Subscription | undefined, room: SharedRoom, step: Step) {
  const { target, round, ready, limits } = lane;
  const isHeld = room.isStopping || subscription?.status !== "active" || lane.isBeingSuspended;
  const isShut = target.mode.isOpen && round === undefined;
  const isSpared = target.isProbing || target.rules.health !== undefined;
  switch (step.action) {
    case "claim":
      if (isHeld) return "claims although it is held";
      if (!lane.mayHaveMore || lane.claiming > 0 || lane.nextDueAt > NOW) return "claims nothing";
      if (isShut) return step.limit === 1 && !isSpared && target.mode.probeAt <= NOW ? undefined : "claims in QUEUE";
      return step.limit > 0 && step.limit <= room.claims ? undefined : "claims too many";
    case "move":
      if (isHeld || !isShut || room.movesTo === undefined) return "hands over what is to stay";
      return lane.mayHaveMore && lane.claiming === 0 && ready.length === 0 ? undefined : "hands nothing over";
    case "wait":
      return step.until > NOW && step.until < Number.POSITIVE_INFINITY ? undefined : `waits until ${step.until}`;
    case "send": {
      if (isHeld || isShut || ready.length === 0) return "sends what may not go";
      if (lane.inFlight >= ACTIVE.concurrency) return "sends too many at once";
      if (round !== undefined && round.room <= 0) return "sends more than the round may";
      if (target.pace.heldUntil > NOW || (lane.rateLimit?.readyAt(NOW) ?? NOW) > NOW) return "sends too fast";
      const hasWaited = NOW - (lane.readySince ?? NOW) >= limits.lingerMs && lane.claiming === 0;
      return ready.length >= limits.maxBatch || hasWaited ? undefined : "sends a batch too soon";
    }
    case "probe":
      if (isHeld || !isShut || isSpared || ready.length === 0) return "probes what may not be";
      return room.mayProbe && target.mode.probeAt <= NOW ? undefined : "probes too soon";
    case "postpone":
      return !isHeld && isShut && !room.mayProbe ? undefined : "postpones for nothing";
    case "give back":
      return ready.length > 0 && (isHeld || isShut) ? undefined : "gives back what may go";
    case "cancel":
      return subscription === undefined && lane.mayHaveMore ? undefined : "cancels what is wanted";
    case "forget":
      return isBusy(lane) || lane.mayHaveMore ? "forgets what is there" : undefined;
    case "rest": {
      // Somebody or something will wake it.
      const isUnderWay = lane.inFlight + lane.unsettled + lane.reserved + lane.claiming > 0;
      if (isUnderWay || isHeld || (round !== undefined && round.room <= 0)) return undefined;
      if (isShut) return isSpared || !lane.mayHaveMore ? undefined : "is never probed again";
      return ready.length > 0 || lane.mayHaveMore ? "rests for ever" : undefined;
    }
  }
}

const few = fc.integer({ min: 0, max: 6 });
const about = fc.integer({ min: NOW - 3, max: NOW + 3 });
const maybe = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined });
const anySituation: fc.Arbitrary<Situation> = fc
  .record({
    ready: few,
    readyForMs: fc.integer({ min: 0, max: 4 }),
    inFlight: few,
    unsettled: fc.integer({ min: 0, max: 1 }),
    reserved: fc.integer({ min: 0, max: 1 }),
    claiming: fc.integer({ min: 0, max: 2 }),
    mayHaveMore: fc.boolean(),
    nextDueAt: about,
    isBeingSuspended: fc.boolean(),
    maxBatch: fc.integer({ min: 1, max: 5 }),
    lingerMs: fc.integer({ min: 0, max: 4 }),
    probeAt: maybe(about),
    isProbing: fc.boolean(),
    hasHealthCheck: fc.boolean(),
    roundRoom: maybe(fc.integer({ min: 0, max: 3 })),
    heldUntil: fc.constantFrom(0, NOW + 2),
    perMinute: maybe(fc.constantFrom(60, 180)),
    spentTokens: fc.integer({ min: 0, max: 3 }),
  })
  // Who is not in QUEUE is in no round.
  .map((one) => (one.probeAt === undefined ? { ...one, roundRoom: undefined } : one)) as fc.Arbitrary<Situation>;
const anyRoom = fc.record({
  isStopping: fc.boolean(),
  claims: fc.integer({ min: 1, max: 40 }),
  mayProbe: fc.boolean(),
  movesTo: fc.constantFrom(undefined, undefined, FALLBACK),
});
const anySubscription = fc.constantFrom(ACTIVE, ACTIVE, ACTIVE, PAUSED, undefined);

/** Faults of what decides, over situations of all kinds. */
function findFaults(decide: typeof nextStep): Set<string> {
  const faults = new Set<string>();
  const check = fc.property(anySituation, anySubscription, anyRoom, (situation, subscription, room) => {
    const lane = laneOf(situation);
    const fault = findFault(lane, subscription, room, decide(lane, subscription, room, NOW));
    if (fault !== undefined) faults.add(fault);
  });
  fc.assert(check, { numRuns: 5000, seed: 7 });
  return faults;
}

describe("whatever the situation", () => {
  it("no step is wrong, and none is missing that would wake the lane again", () => {
    expect([...findFaults(nextStep)]).toEqual([]);
  });

  it.each<[string, (step: Step, room: SharedRoom) => Step, string]>([
    ["sends what may only wait", (step) => (step.action === "wait" ? { action: "send" } : step), "sends too fast"],
    ["never wakes", (step) => (step.action === "wait" ? { action: "rest" } : step), "rests for ever"],
    ["forgets what rests", (step) => (step.action === "rest" ? { action: "forget" } : step), "forgets what is there"],
    [
      "claims beyond its room",
      (step, { claims }) => (step.action === "claim" ? { action: "claim", limit: claims + 1 } : step),
      "claims too many",
    ],
    ["probes at any time", (step) => (step.action === "give back" ? { action: "probe" } : step), "probes too soon"],
  ])("shows when something %s (control)", (_, breakStep, fault) => {
    const broken: typeof nextStep = (lane, subscription, room, now) =>
      breakStep(nextStep(lane, subscription, room, now), room);
    expect([...findFaults(broken)]).toContainEqual(fault);
  });

  it("the same is decided again, and the lane is as it was", () => {
    fc.assert(
      fc.property(anySituation, anySubscription, anyRoom, (situation, subscription, room) => {
        const lane = laneOf(situation);
        const before = snapshot(lane);
        const first = nextStep(lane, subscription, room, NOW);
        expect(snapshot(lane)).toBe(before);
        expect(nextStep(lane, subscription, room, NOW)).toEqual(first);
      }),
    );
  });
});

describe("a lane with a rate limit", () => {
  it("records a new delivery as being sent only while there is a token for it beside those that are claimed", () => {
    const admits = (situation: Situation) => admitsNew(laneOf({ perMinute: 120, ...situation }), ACTIVE, 100, NOW);
    expect(admits({ claiming: 1 })).toBe(true);
    for (const taken of [
      { claiming: 2 },
      { ready: 2 },
      { reserved: 2 },
      { spentTokens: 2 },
      { claiming: 1, ready: 1 },
    ]) {
      expect([taken, admits(taken)]).toEqual([taken, false]);
    }
  });
});

/** All but buckets of tokens, and the round, which leads back to the lane. */
function snapshot(lane: Lane): string {
  const isLeftOut = (key: string) => key === "pace" || key === "rateLimit" || key === "round";
  const text = JSON.stringify(lane, (key, value: unknown) => (isLeftOut(key) ? undefined : value));
  return `${text} ${lane.round?.room}`;
}
