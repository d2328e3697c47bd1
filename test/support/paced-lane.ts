/** One lane of a target with its mode and pace alone, in virtual time: what a destination of some kind gets, second by second. */
import { takePaceToken, paceOpensAt, paceRoom } from "../../src/deliver/pace.ts";
import {
  createTarget,
  createTargetCondition,
  recordSuccess,
  recordFailure,
  recordLimited,
  type Target,
} from "../../src/deliver/target.ts";
import { createSeededRandom } from "./seeded-random.ts";

export type Reply = "ok" | "failed" | { limitedForMs: number | undefined };
/** What a destination says to an attempt that begins at this time; `random` is uniform in [0, 1). */
export type Replies = (atMs: number, random: () => number) => Reply;

export interface PacedRun {
  target: Target;
  attempts: number;
  good: number;
  goodPerS: readonly number[];
  attemptsPerS: readonly number[];
  openedAt: readonly number[];
}

export interface PacedOptions {
  durationMs: number;
  offeredPerS: number;
  concurrency?: number;
  latencyMs?: number;
  retryAfterMs?: number;
  seed?: number;
}

interface Happening {
  at: number;
  run: () => void;
}

export function runPaced(replies: Replies, options: PacedOptions): PacedRun {
  const { durationMs, offeredPerS, concurrency = 64, latencyMs = 20, retryAfterMs = 30_000, seed = 1 } = options;
  const chance = createSeededRandom(seed);
  const random = () => chance.next();
  const target = createTarget(createTargetCondition(0));
  const { mode, pace } = target;
  const seconds = Math.ceil(durationMs / 1000);
  const goodPerS = Array.from({ length: seconds }, () => 0);
  const attemptsPerS = Array.from({ length: seconds }, () => 0);
  const openedAt: number[] = [];
  const coming = createLine();
  let now = 0;
  let waiting = 0;
  let inFlight = 0;
  let isProbing = false;
  let wakesAt = Number.POSITIVE_INFINITY;

  function count(perS: number[]): void {
    const second = Math.floor(now / 1000);
    perS[second] = (perS[second] ?? 0) + 1;
  }

  function opensAt(): number {
    if (mode.isOpen) return isProbing ? Number.POSITIVE_INFINITY : mode.probeAt;
    return inFlight >= paceRoom(pace, concurrency) ? Number.POSITIVE_INFINITY : paceOpensAt(pace, now);
  }

  function pump(): void {
    while (waiting > 0) {
      const at = opensAt();
      if (at > now) return wake(at);
      send(mode.isOpen);
    }
  }

  function wake(at: number): void {
    if (at >= wakesAt) return;
    wakesAt = at;
    coming.add({ at, run: () => at === wakesAt && (wakesAt = Number.POSITIVE_INFINITY) });
  }

  function send(isProbe: boolean): void {
    waiting--;
    inFlight++;
    isProbing ||= isProbe;
    count(attemptsPerS);
    if (!isProbe) takePaceToken(pace, now);
    const reply = replies(now, random);
    coming.add({ at: now + latencyMs, run: () => end(reply, isProbe) });
  }

  function end(reply: Reply, isProbe: boolean): void {
    inFlight--;
    if (isProbe) isProbing = false;
    if (reply === "ok") {
      recordSuccess(target, now);
      return count(goodPerS);
    }
    coming.add({ at: now + retryAfterMs, run: () => waiting++ });
    if (reply !== "failed") return recordLimited(target, now, "429", reply.limitedForMs);
    if (recordFailure(target, { now, error: "503", jitter: random(), isProbe }) === "opened") openedAt.push(now);
  }

  function arrive(): void {
    waiting++;
    coming.add({ at: now + 1000 / offeredPerS, run: arrive });
  }

  coming.add({ at: 0, run: arrive });
  for (let next = coming.take(); next !== undefined && next.at < durationMs; next = coming.take()) {
    now = next.at;
    next.run();
    pump();
  }
  const sum = (perS: readonly number[]) => perS.reduce((all, one) => all + one, 0);
  return { target, attempts: sum(attemptsPerS), good: sum(goodPerS), goodPerS, attemptsPerS, openedAt };
}

/** By time; among those of the same time in any order. */
function createLine() {
  const heap: Happening[] = [];
  const at = (i: number) => heap[i]?.at ?? Number.POSITIVE_INFINITY;
  const swap = (i: number, j: number) => ([heap[i], heap[j]] = [heap[j] as Happening, heap[i] as Happening]);
  return {
    add(one: Happening) {
      let i = heap.push(one) - 1;
      for (let up = (i - 1) >> 1; i > 0 && at(up) > at(i); up = (i - 1) >> 1) {
        swap(i, up);
        i = up;
      }
    },
    take(): Happening | undefined {
      const first = heap[0];
      const last = heap.pop();
      if (first === undefined || last === undefined || heap.length === 0) return first;
      heap[0] = last;
      for (let i = 0; ;) {
        const child = at(2 * i + 2) < at(2 * i + 1) ? 2 * i + 2 : 2 * i + 1;
        if (at(child) >= at(i)) return first;
        swap(i, child);
        i = child;
      }
    },
  };
}
