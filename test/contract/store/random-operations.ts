import * as fc from "fast-check";
import { expect } from "vitest";
import { isTerminal, type DeliveryState } from "../../../src/model/delivery.ts";
import { isRefused, orThrow } from "../../../src/model/errors.ts";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  NOON,
  accept,
  change,
  claim,
  countChanged,
  expire,
  newAttempt,
  newDelivery,
  newEvent,
  newSettlement,
  recover,
  setTime,
  settle,
} from "../../support/store-fixtures.ts";

/** Any sequence of what can happen to the deliveries of one lane, and a watch on what the store hands over. */

const STEP_MS = 500;
const KEYS = ["a", "b", "c"];

const pick = fc.nat({ max: 50 });
const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant("accept"),
      key: fc.nat({ max: 2 }),
      claim: fc.boolean(),
      short: fc.nat({ max: 9 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("claim"), limit: fc.integer({ min: 1, max: 4 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      act: fc.constant("settle"),
      pick,
      verdict: fc.constantFrom("delivered" as const, "retry" as const, "dead" as const),
      leaves: fc.boolean(),
      claimNext: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constantFrom("cancel", "replay", "retryDelivery", "release"), pick }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom("skipDeadHeads", "expire", "recover") }) },
);
export type Operation = typeof operation extends fc.Arbitrary<infer One> ? One : never;
export const operations = fc.array(operation, { minLength: 40, maxLength: 120, size: "max" });

interface Known {
  seq: number;
  key: string;
  state: DeliveryState;
  handedOver: ClaimedDelivery | undefined;
  /** A dead letter that keeps its place. */
  blocks: boolean;
  /** Opened again: it may stand behind one that came later. */
  reopened: boolean;
}

export interface Watch {
  /** What a strict queue per ordering key does not allow. */
  readonly violations: readonly string[];
  readonly known: readonly Known[];
}

export async function runOperations(
  store: Store,
  lane: number,
  list: readonly Operation[],
  options: { ordered: boolean },
): Promise<Watch> {
  const known: Known[] = [];
  const violations: string[] = [];
  let now = NOON;

  function handOver(claimed: ClaimedDelivery | undefined): void {
    const one = known.find(({ seq }) => seq === claimed?.eventSeq);
    if (one === undefined) return;
    for (const other of known) {
      if (other === one || other.key !== one.key) continue;
      if (other.state === "sending") violations.push(`${one.seq} was handed over while ${other.seq} was being sent`);
      const isBefore = other.seq < one.seq && !other.reopened && !one.reopened;
      if (isBefore && (other.state === "pending" || other.blocks)) violations.push(`${one.seq} overtook ${other.seq}`);
    }
    one.state = "sending";
    one.handedOver = claimed;
  }

  /** What the store changed by itself. */
  async function refresh(): Promise<void> {
    for (const one of known) {
      if (isTerminal(one.state)) continue;
      const stored = await store.reads.findDelivery({ eventSeq: one.seq, subscriptionSeq: lane });
      one.state = stored?.state ?? one.state;
      one.blocks = stored?.deadReason === "poison" && options.ordered;
    }
  }

  async function skipDeadHeads(): Promise<void> {
    await countChanged(store, lane, { act: "skip_dead_heads" }, now);
    for (const one of known) one.blocks = false;
  }

  async function settleOne(one: Known, verdict: "delivered" | "retry" | "dead", leaves: boolean, claimNext: boolean) {
    one.state = verdict === "retry" ? "pending" : verdict;
    one.blocks = verdict === "dead" && !leaves && options.ordered;
    const { next } = await settle(
      store,
      newSettlement(one.handedOver as ClaimedDelivery, {
        verdict,
        claimNext,
        leavesKeyQueue: leaves,
        nextAttemptAt: now + STEP_MS,
        deadReason: verdict === "dead" ? "refused" : undefined,
        attempt: newAttempt({ startedAt: now }),
      }),
    );
    handOver(next);
  }

  async function run(op: Operation): Promise<void> {
    if ("key" in op) {
      const event = newEvent({ receivedAt: now, orderingKey: KEYS[op.key] });
      const expiresAt = op.short === 0 ? now + 4 * STEP_MS : undefined;
      const result = await accept(store, event, [newDelivery(lane, { ...options, claim: op.claim, expiresAt })]);
      if (result.kind !== "stored") throw new Error("a new event was not stored");
      const { eventSeq: seq } = result;
      const fresh = { key: event.orderingKey ?? "", blocks: false, reopened: false, handedOver: undefined };
      known.push({ ...fresh, seq, state: "pending" });
      if (result.claimed[0] === true) {
        const born = { eventSeq: seq, subscriptionSeq: lane, generation: 1, attemptCount: 0, uncountedAttempts: 0 };
        handOver({ ...born, expiresAt, trigger: "first", event: { ...event, size: event.body.length } });
      }
    } else if ("limit" in op) {
      const { claimed, expired } = await claim(store, lane, { limit: op.limit, now });
      if (expired > 0) await refresh();
      claimed.forEach(handOver);
    } else if ("verdict" in op) {
      const one = choose(known, op.pick, ({ state }) => state === "sending");
      if (one !== undefined) await settleOne(one, op.verdict, op.leaves, op.claimNext);
    } else if ("pick" in op) {
      await act(op.act, op.pick);
    } else {
      if (op.act === "skipDeadHeads") await skipDeadHeads();
      else await (op.act === "expire" ? expire(store, now) : recover(store, [], now));
      await refresh();
    }
  }

  async function act(name: string, at: number): Promise<void> {
    const chosen = choose(known, at, ({ state, blocks }) =>
      name === "release"
        ? state === "sending"
        : name === "cancel"
          ? !isTerminal(state) || blocks
          : name === "retryDelivery" || isTerminal(state),
    );
    if (chosen === undefined) return;
    const key = { eventSeq: chosen.seq, subscriptionSeq: lane };
    if (name === "release") {
      await store.lanes.release([chosen.handedOver as ClaimedDelivery]);
      chosen.state = "pending";
    } else if (name === "cancel") {
      orThrow(await change(store, key, { act: "cancel" }, now));
      Object.assign(chosen, { state: "cancelled", blocks: false });
    } else if (name === "replay") {
      orThrow(await change(store, key, { act: "replay", ordered: options.ordered, expiresAt: undefined }, now));
      Object.assign(chosen, { state: "pending", blocks: false, reopened: true });
    } else {
      const was = await change(store, key, { act: "retry" }, now);
      if (isRefused(was)) expect(was.refused.code).toBe("illegal_transition");
      else if (was !== undefined && isTerminal(was))
        Object.assign(chosen, { state: "pending", blocks: false, reopened: true });
    }
  }

  for (const op of list) {
    now += STEP_MS;
    setTime(store, now);
    await run(op);
  }

  // Whatever happened, everything can still come to an end.
  now += 1000 * STEP_MS;
  setTime(store, now);
  await skipDeadHeads();
  for (;;) {
    for (const one of known) if (one.state === "sending") await settleOne(one, "delivered", true, false);
    const { claimed, expired } = await claim(store, lane, { now });
    if (expired > 0) await refresh();
    claimed.forEach(handOver);
    if (claimed.length + expired === 0) break;
  }
  await refresh();
  for (const one of known) if (!isTerminal(one.state)) violations.push(`${one.seq} never came to an end`);
  return { violations, known };
}

function choose(known: readonly Known[], at: number, accepts: (one: Known) => boolean): Known | undefined {
  const candidates = known.filter(accepts);
  return candidates[at % Math.max(1, candidates.length)];
}
