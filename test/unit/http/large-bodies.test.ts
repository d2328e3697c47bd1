import { describe, expect, it } from "vitest";
import { createLargeBody } from "../../../src/http/large-bodies.ts";

const MAX = 100;

describe("large bodies that are being received", () => {
  it("share a bound, and give back what they held when they end", () => {
    const [first, second] = [createLargeBody(MAX), createLargeBody(MAX)];
    expect(first.hold(40)).toBeUndefined();
    expect(first.hold(60)).toBeUndefined();
    expect(second.hold(40)).toBeUndefined();
    expect(second.hold(41)).toMatchObject({ code: "overloaded" });
    expect(first.hold(61)).toMatchObject({ code: "overloaded" });
    first.release();
    first.release();
    expect(second.hold(100)).toBeUndefined();
    second.release();
    expect(createLargeBody(MAX).hold(101)).toMatchObject({ code: "overloaded" });
  });
});
