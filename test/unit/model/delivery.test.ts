import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DELIVERY_ACTIONS,
  DELIVERY_STATES,
  ENDED,
  MAX_RANK_OFFSET_MS,
  deriveEventStatus,
  isTerminal,
  nextState,
  rankOf,
  STATE,
  statesOf,
  type DeliveryAction,
  type DeliveryState,
} from "../../../src/model/delivery.ts";
import { isRefused } from "../../../src/model/errors.ts";
import { PRIORITIES } from "../../../src/model/event.ts";

const legal: readonly [DeliveryState, DeliveryAction, DeliveryState][] = [
  ["pending", "claim", "sending"],
  ["sending", "release", "pending"],
  ["pending", "bring_forward", "pending"],
  ["sending", "succeed", "delivered"],
  ["sending", "retry", "pending"],
  ["sending", "give_up", "dead"],
  ["pending", "give_up", "dead"],
  ["sending", "recover", "pending"],
  ["pending", "cancel", "cancelled"],
  ["sending", "cancel", "cancelled"],
  ["dead", "cancel", "cancelled"],
  ["delivered", "replay", "pending"],
  ["dead", "replay", "pending"],
  ["cancelled", "replay", "pending"],
];

describe("the states of a delivery", () => {
  it.each(legal)("%s allows %s and becomes %s", (from, act, to) => {
    expect(nextState(from, act)).toBe(to);
  });

  it("allow nothing else", () => {
    for (const from of DELIVERY_STATES) {
      for (const act of DELIVERY_ACTIONS) {
        if (legal.some(([state, allowed]) => state === from && allowed === act)) continue;
        expect(nextState(from, act), `${from} ${act}`).toMatchObject({
          refused: { code: "illegal_transition", details: { state: from, act } },
        });
      }
    }
  });

  it("leave a terminal state only by an operator's replay or cancel, whatever happens", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...DELIVERY_ACTIONS), { maxLength: 60 }), (acts) => {
        let state: DeliveryState = "pending";
        for (const act of acts) {
          const from: DeliveryState = state;
          const next = nextState(from, act);
          if (isRefused(next)) continue;
          state = next;
          expect(!isTerminal(from) || act === "replay" || act === "cancel").toBe(true);
          expect(state !== "delivered" || from === "sending").toBe(true);
        }
      }),
    );
  });

  it("are written as their positions in the list, the open ones first", () => {
    expect(Object.entries(STATE)).toEqual(DELIVERY_STATES.map((state, i) => [state, i]));
    expect(DELIVERY_STATES.filter((state) => STATE[state] >= ENDED)).toEqual(DELIVERY_STATES.filter(isTerminal));
  });

  it("give SQL what an act takes a delivery from and brings it to", () => {
    for (const act of DELIVERY_ACTIONS) {
      const moves = legal.filter(([, allowed]) => allowed === act);
      const { from, to } = statesOf(act);
      const listed = from.slice(1, -1).split(", ").map(Number);
      expect(new Set(listed)).toEqual(new Set(moves.map(([state]) => STATE[state])));
      expect(new Set(moves.map(([, , state]) => STATE[state]))).toEqual(new Set([to]));
    }
  });

  it("are terminal when delivered, dead or cancelled", () => {
    expect(DELIVERY_STATES.filter(isTerminal)).toEqual(["delivered", "dead", "cancelled"]);
  });
});

describe("the status of an event", () => {
  it.each([
    [{ open: 0, delivered: 0, dead: 0, cancelled: 0 }, "COMPLETED"],
    [{ open: 0, delivered: 2, dead: 0, cancelled: 0 }, "COMPLETED"],
    [{ open: 0, delivered: 1, dead: 0, cancelled: 1 }, "COMPLETED"],
    [{ open: 1, delivered: 5, dead: 0, cancelled: 0 }, "PENDING"],
    [{ open: 1, delivered: 0, dead: 3, cancelled: 0 }, "PENDING"],
    [{ open: 0, delivered: 5, dead: 1, cancelled: 0 }, "FAILED"],
  ] as const)("%o: %s", (counts, expected) => {
    expect(deriveEventStatus(counts)).toBe(expected);
  });
});

describe("the rank in a lane", () => {
  it("puts critical before high before normal before low, and first tries before retries", () => {
    const ranks = PRIORITIES.flatMap((priority) => rankOf(0, priority, false));
    expect(ranks).toEqual([0, 1000, 5000, 60_000]);
    for (const priority of PRIORITIES) expect(rankOf(0, priority, true)).toBe(rankOf(0, priority, false) + 30_000);
  });

  it("starves nothing: what has waited longer than the largest offset comes first", () => {
    const priority = fc.constantFrom(...PRIORITIES);
    fc.assert(
      fc.property(
        fc.nat(),
        priority,
        fc.boolean(),
        priority,
        fc.boolean(),
        (at, oldOne, oldRetry, newOne, newRetry) => {
          const older = rankOf(at, oldOne, oldRetry);
          expect(older - at).toBeLessThanOrEqual(MAX_RANK_OFFSET_MS);
          expect(older).toBeLessThan(rankOf(at + MAX_RANK_OFFSET_MS + 1, newOne, newRetry));
        },
      ),
    );
  });
});
