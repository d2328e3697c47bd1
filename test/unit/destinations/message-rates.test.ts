import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createNumberTurns } from "../../../src/destinations/message-rates.ts";

const WINDOW_MS = 1000;
const at = (number: string, tenantId = "shop") => ({ tenantId, number });

describe("the turns at a number", () => {
  it("give what comes too early a turn, which it keeps", () => {
    const turns = createNumberTurns({ max: 2, windowMs: WINDOW_MS });
    expect(["a", "b", "c", "d", "e"].map((id) => turns.ask(at("+1"), id, 0))).toEqual([0, 0, 1000, 1000, 2000]);
    expect(turns.ask(at("+1"), "c", 400)).toBe(600);
    expect(turns.ask(at("+1"), "c", 1000)).toBe(0);
    expect(turns.ask(at("+1"), "f", 1000)).toBe(1000);
    expect(turns.ask(at("+2"), "a", 0)).toBe(0);
  });

  it("are not held up by what another tenant sends there", () => {
    const turns = createNumberTurns({ max: 2, windowMs: WINDOW_MS });
    const flood = Array.from({ length: 90 }, (_, n) => turns.ask(at("+1", "flood"), `f${n}`, 0));
    expect(flood.at(-1)).toBe(44 * WINDOW_MS);
    expect(turns.ask(at("+1"), "otp", 0)).toBe(0);
  });

  it("never let more than the limit go in any span, in every order of attempts", () => {
    const arrivals = fc.array(fc.record({ at: fc.nat(5000), number: fc.constantFrom("+1", "+2") }), { maxLength: 60 });
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 1, max: 4 }), (list, max) => {
        const turns = createNumberTurns({ max, windowMs: WINDOW_MS });
        const due = list.map((one, id) => ({ ...one, id: String(id) }));
        const sent: { at: number; number: string }[] = [];
        while (due.length > 0) {
          due.sort((a, b) => a.at - b.at);
          const next = due.shift();
          if (next === undefined) break;
          const waitMs = turns.ask(at(next.number), next.id, next.at);
          if (waitMs > 0) due.push({ ...next, at: next.at + waitMs });
          else sent.push(next);
        }
        expect(sent).toHaveLength(list.length);
        for (const { at: from, number } of sent) {
          const within = sent.filter((one) => one.number === number && one.at >= from && one.at < from + WINDOW_MS);
          expect(within.length).toBeLessThanOrEqual(max);
        }
      }),
    );
  });
});
