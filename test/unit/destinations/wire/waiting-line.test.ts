import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createWaitingLine } from "../../../../src/destinations/wire/waiting-line.ts";

const waiting = (owner: string, number: number) => ({ owner, number, isFinished: false });
type One = ReturnType<typeof waiting>;

function drain(line: ReturnType<typeof createWaitingLine<One>>): string[] {
  const order: string[] = [];
  for (let one = line.take(); one !== undefined; one = line.take()) order.push(`${one.owner}${one.number}`);
  return order;
}

describe("a line of those who wait for a connection", () => {
  it("lets owners take turns, each in order of arrival", () => {
    const line = createWaitingLine<One>();
    for (let number = 0; number < 4; number++) line.push(waiting("a", number));
    line.push(waiting("b", 0));
    line.push(waiting("c", 0));
    line.push(waiting("b", 1));
    expect(drain(line)).toEqual(["a0", "b0", "c0", "a1", "b1", "a2", "a3"]);
    expect(line.isEmpty).toBe(true);
  });

  it("passes over those who gave up, and knows when nobody is left", () => {
    const line = createWaitingLine<One>();
    const [gone, there, alsoGone] = [waiting("a", 0), waiting("a", 1), waiting("b", 0)];
    for (const one of [gone, there, alsoGone]) line.push(one);
    gone.isFinished = true;
    alsoGone.isFinished = true;
    expect([line.take(), line.take(), line.isEmpty]).toEqual([there, undefined, true]);
  });

  it("takes one back before the others of its owner", () => {
    const line = createWaitingLine<One>();
    for (let number = 0; number < 3; number++) line.push(waiting("a", number));
    const first = line.take() as One;
    line.putBack(first);
    expect(drain(line)).toEqual(["a0", "a1", "a2"]);
  });

  it("passes over owners that may not be served, who keep their place", () => {
    const line = createWaitingLine<One>();
    for (const one of [waiting("a", 0), waiting("b", 0), waiting("a", 1)]) line.push(one);
    const isB = (owner: string) => owner === "b";
    expect([line.has(isB), line.take(isB)?.owner]).toEqual([true, "b"]);
    expect([line.has(isB), line.take(isB), line.isEmpty]).toEqual([false, undefined, false]);
    line.push(waiting("b", 1));
    expect(drain(line)).toEqual(["a0", "b1", "a1"]);
    expect(line.has()).toBe(false);
  });

  it("serves everyone, and never the same owner twice while another waits", () => {
    const owners = fc.constantFrom("a", "b", "c");
    fc.assert(
      fc.property(fc.array(owners, { maxLength: 3000 }), (arrivals) => {
        const line = createWaitingLine<One>();
        for (const [number, owner] of arrivals.entries()) line.push(waiting(owner, number));
        const order = drain(line).map((name) => name.charAt(0));
        expect(order.toSorted()).toEqual(arrivals.toSorted());
        const again = order.findIndex((owner, at) => owner === order[at + 1]);
        expect(new Set(again === -1 ? [] : order.slice(again)).size).toBeLessThanOrEqual(1);
      }),
      { numRuns: 30 },
    );
  });
});
