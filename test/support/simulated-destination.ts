/** Destinations with moods, and the sender that reaches them in virtual time. */
import { createHash } from "node:crypto";
import { DELIVERED, failedHere, type Outcome } from "../../src/model/outcome.ts";
import { ONE_BY_ONE, type Attempt, type AttemptReport, type Sender } from "../../src/destinations/sender.ts";
import type { Chance } from "./chance.ts";
import { answered, destinationOf, recordOf, timedOut, unreachable } from "./http-outcomes.ts";
import type { VirtualTime } from "./virtual-clock.ts";

export const MOODS = [
  "well",
  "slow",
  "erring",
  "busy",
  "limited",
  "bad gateway",
  "down",
  "hanging",
  "flaky",
  "flapping",
  "gone",
  "missing",
] as const;
export type Mood = (typeof MOODS)[number];

export interface Destination {
  /** From when on it is in which mood, by time; the last stays. */
  moods: { from: number; mood: Mood }[];
  latencyMs: number;
  chance: Chance;
}

export interface Sending {
  attempt: Attempt;
  hash: string;
  /** The destination took it. Known to the gateway only once `done` was called. */
  accepted: boolean;
  /** Reports that the gateway cut it off. */
  abort: () => void;
}

export interface SimulatedSender extends Sender {
  readonly inFlight: ReadonlySet<Sending>;
}

export interface SimulatedSenderOptions {
  time: VirtualTime;
  findDestination: (attempt: Attempt) => Destination;
  onSend: (sending: Sending) => void;
  /** False once the process is gone: nobody is told any more. */
  isAlive: () => boolean;
}

interface Answer {
  afterMs: number;
  outcome: Outcome;
}

const FLAP_MS = 40_000;

export function createSimulatedSender(options: SimulatedSenderOptions): SimulatedSender {
  const { time } = options;
  const inFlight = new Set<Sending>();

  function sendOne(attempt: Attempt, done: (reports: readonly AttemptReport[]) => void): void {
    const { afterMs, outcome } = answerOf(options.findDestination(attempt), attempt, time.elapsedMs);
    const report = {
      outcome,
      startedAt: time.wall(),
      durationMs: afterMs,
      record: recordOf(attempt.subscription),
    };
    const finish = (finished: AttemptReport) => {
      if (!inFlight.delete(sending) || !options.isAlive()) return;
      timer.cancel();
      done([finished]);
    };
    const sending: Sending = {
      attempt,
      hash: hashOf(attempt.event.body),
      accepted: outcome.kind === "delivered",
      abort: () => finish({ ...report, outcome: failedHere("the gateway is stopping") }),
    };
    inFlight.add(sending);
    const timer = time.after(afterMs, () => finish(report));
    options.onSend(sending);
  }

  return {
    limitsOf: () => ONE_BY_ONE,
    inFlight,
    send(attempts, done) {
      sendOne(attempts[0] as Attempt, done);
    },
    async close() {
      for (const sending of inFlight) sending.abort();
    },
  };
}

export function hashOf(body: Uint8Array): string {
  return createHash("sha1").update(body).digest("base64url").slice(0, 16);
}

function moodAt({ moods }: Destination, elapsedMs: number): Mood {
  let mood: Mood = "well";
  for (const next of moods) if (next.from <= elapsedMs) mood = next.mood;
  return mood;
}

function answerOf(destination: Destination, attempt: Attempt, elapsedMs: number): Answer {
  const { chance, latencyMs } = destination;
  const { timeoutMs } = attempt.subscription;
  const quickMs = Math.min(latencyMs * chance.between(0.5, 2), timeoutMs - 1);
  const mood = moodAt(destination, elapsedMs);
  const { retryOn } = destinationOf(attempt.subscription);
  const refused = (status: number, retryAfterMs?: number) => answered(status, { retryOn, retryAfterMs });
  switch (mood) {
    case "well":
      return { afterMs: quickMs, outcome: DELIVERED };
    case "slow":
      return { afterMs: Math.min(timeoutMs - 1, chance.between(1_000, 20_000)), outcome: DELIVERED };
    case "flapping": {
      const isUp = Math.floor(elapsedMs / FLAP_MS) % 2 === 0;
      return { afterMs: quickMs, outcome: isUp ? DELIVERED : refused(503) };
    }
    case "flaky":
      if (chance.isTrue(0.5)) return { afterMs: quickMs, outcome: DELIVERED };
      if (chance.isTrue(0.3)) return { afterMs: timeoutMs, outcome: timedOut() };
      return { afterMs: quickMs, outcome: chance.isTrue(0.5) ? refused(500) : refused(chance.pick([429, 502, 504])) };
    case "erring":
      return { afterMs: quickMs, outcome: refused(500) };
    case "busy":
      return { afterMs: quickMs, outcome: refused(503, chance.pick([undefined, 1_000, 600_000])) };
    case "limited":
      return { afterMs: quickMs, outcome: refused(429, chance.pick([undefined, 30_000, 3_600_000])) };
    case "bad gateway":
      return { afterMs: quickMs, outcome: refused(502) };
    case "missing":
      return { afterMs: quickMs, outcome: refused(404) };
    case "down":
      return { afterMs: chance.between(0, 100), outcome: unreachable() };
    case "hanging":
      return { afterMs: timeoutMs, outcome: timedOut() };
    case "gone":
      return { afterMs: quickMs, outcome: refused(410) };
  }
}
