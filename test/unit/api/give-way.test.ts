import { describe, expect, it } from "vitest";
import { createGiveWay } from "../../../src/api/give-way.ts";

describe("what can wait", () => {
  it("waits while the loop is late, but not for ever", async () => {
    const waits: number[] = [];
    let busyFor = 3;
    const wait = async (ms: number) => void waits.push(ms);
    const giveWay = createGiveWay({ isBusy: () => busyFor-- > 0, wait });
    await giveWay();
    expect(waits).toEqual([20, 20, 20]);
    busyFor = Number.POSITIVE_INFINITY;
    await giveWay();
    expect(waits).toHaveLength(3 + 50);
  });
});
