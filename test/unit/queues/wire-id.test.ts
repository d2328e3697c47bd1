import { describe, expect, it } from "vitest";
import { sessionIdOf, wireIdOf } from "../../../src/queues/wire-id.ts";

describe("the id on the wire", () => {
  // shows: A28, Q11
  it("is the event's, and another for every replay", () => {
    expect(wireIdOf("evt_1", 1)).toBe("evt_1");
    expect(wireIdOf("evt_1", 2)).toBe("evt_1:2");
    expect(wireIdOf("evt_1", 3)).not.toBe(wireIdOf("evt_1", 2));
  });

  // shows: Q13
  it("never exceeds what brokers take, and still tells events apart", () => {
    const longest = "x".repeat(128);
    expect(wireIdOf(longest, 1)).toBe(longest);
    expect(wireIdOf(longest, 2)).toHaveLength(50);
    expect(wireIdOf(longest, 2)).not.toBe(wireIdOf(longest, 3));
    expect(wireIdOf(longest, 2)).toBe(wireIdOf(longest, 2));
  });
});

describe("the id of a session", () => {
  // shows: A27, Q14
  it("is the ordering key, and without one the message's own id", () => {
    expect(sessionIdOf("order-1", "evt_1")).toBe("order-1");
    expect(sessionIdOf(undefined, "evt_1:2")).toBe("evt_1:2");
    expect(sessionIdOf("k".repeat(255), "evt_1")).toHaveLength(50);
  });
});
