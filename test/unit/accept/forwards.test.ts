import { describe, expect, it } from "vitest";
import { createForwards } from "../../../src/accept/forwarding.ts";
import type { AwaitedForward, ForwardResult } from "../../../src/model/forward-rules.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const START = Date.UTC(2026, 0, 1);

function build() {
  const time = createVirtualTime(START);
  const clock = createVirtualClock(time);
  const answers: string[] = [];
  const counted: [ForwardResult, number][] = [];
  const forwards = createForwards({ clock, onAnswer: (result, tookMs) => counted.push([result, tookMs]) });
  const wait = (eventId: string, more: Partial<AwaitedForward> = {}) => {
    const receivedAt = clock.now();
    forwards.wait({ eventId, subscriptionSeq: 1, isUnderWay: true, receivedAt, ...more }, (result) =>
      answers.push(`${eventId} ${typeof result === "object" ? result.reason : result}`),
    );
  };
  /** Runs what is due until then. */
  const pass = (untilMs: number) => {
    for (let at = time.nextAt(); at !== undefined && at <= untilMs; at = time.nextAt()) time.step();
    time.moveTo(untilMs);
  };
  return { time, forwards, answers, counted, wait, pass };
}

describe("a sender who waits for a forward", () => {
  it("hears of the first attempt of that event and subscription, and of no other", () => {
    const { forwards, answers, wait } = build();
    wait("e1");
    wait("e2");
    forwards.recordAttempt("e1", 2, "forwarded");
    forwards.recordAttempt("e3", 1, "forwarded");
    expect(answers).toEqual([]);
    forwards.recordAttempt("e2", 1, "queued");
    forwards.recordAttempt("e1", 1, "forwarded");
    forwards.recordAttempt("e1", 1, "queued");
    expect(answers).toEqual(["e2 queued", "e1 forwarded"]);
  });

  it("hears that it was given up", () => {
    const { forwards, answers, wait } = build();
    wait("e1");
    forwards.recordAttempt("e1", 1, { reason: "refused", code: 422, isError: false });
    expect(answers).toEqual(["e1 refused"]);
  });

  // shows: B14
  it("waits for ten seconds at most, counted from when the webhook came", () => {
    const { time, answers, wait, pass } = build();
    wait("e1", { receivedAt: START - 3000 });
    pass(6999);
    expect(answers).toEqual([]);
    pass(7000);
    expect(answers).toEqual(["e1 queued"]);
    expect(time.nextAt()).toBeUndefined();
  });

  it("waits less long where the source says so, and never longer", () => {
    const { answers, wait, pass } = build();
    wait("quick", { answerWithinMs: 2500 });
    wait("slow", { answerWithinMs: 60_000 });
    pass(2499);
    expect(answers).toEqual([]);
    pass(2500);
    expect(answers).toEqual(["quick queued"]);
    pass(10_000);
    expect(answers).toEqual(["quick queued", "slow queued"]);
  });

  it("does not wait when no attempt is to be expected", () => {
    const { time, answers, wait } = build();
    wait("e1", { isUnderWay: false });
    expect(answers).toEqual(["e1 queued"]);
    expect(time.nextAt()).toBeUndefined();
  });

  it("is let go when the destination is found to be down, and those of others are not", () => {
    const { forwards, answers, wait } = build();
    wait("e1");
    wait("e2", { subscriptionSeq: 2 });
    wait("e3");
    forwards.giveUp(1);
    expect(answers).toEqual(["e1 queued", "e3 queued"]);
    forwards.recordAttempt("e1", 1, "forwarded");
    expect(answers).toHaveLength(2);
  });

  it("is let go when the gateway stops, and nobody begins to wait after that", () => {
    const { time, forwards, answers, wait } = build();
    wait("e1");
    forwards.stop();
    wait("e2");
    expect(answers).toEqual(["e1 queued", "e2 queued"]);
    expect(time.nextAt()).toBeUndefined();
  });

  it("is counted with the time that it took", () => {
    const { forwards, counted, wait, pass } = build();
    wait("e1");
    wait("e2");
    pass(120);
    forwards.recordAttempt("e1", 1, "forwarded");
    forwards.recordAttempt("e2", 1, "queued");
    expect(counted).toEqual([
      ["forwarded", 120],
      ["queued", 120],
    ]);
  });

  it("need not wait behind the head of its ordering key once that waits for its next try", () => {
    const { forwards, answers, wait } = build();
    wait("e1", { orderingKey: "a" });
    wait("e2", { orderingKey: "b" });
    wait("e3", { orderingKey: "a", subscriptionSeq: 2 });
    forwards.recordHead(1, "a", true);
    expect(answers).toEqual(["e1 queued"]);
    expect(["a", "b"].map((key) => forwards.isBehindWaiting(1, key))).toEqual([true, false]);
    forwards.recordHead(1, "a", false);
    expect(forwards.isBehindWaiting(1, "a")).toBe(false);
  });

  it("is behind the same key where none is given", () => {
    const { forwards } = build();
    forwards.recordHead(1, undefined, true);
    expect(forwards.isBehindWaiting(1, undefined)).toBe(true);
  });
});
