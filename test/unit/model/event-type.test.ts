import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkEventTypeInput, compareVersions } from "../../../src/model/event-type.ts";

const version = fc.stringMatching(/^[A-Za-z0-9._-]{1,8}$/);

describe("the order of versions", () => {
  it("counts numbers as numbers", () => {
    const sorted = ["1.0", "1.9", "1.10", "2", "2.0", "2.0-beta", "10.0", "v1", "v2"];
    expect([...sorted].reverse().sort(compareVersions)).toEqual(sorted);
  });

  it("is an order: no two are equal, and turning the question turns the answer", () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(Math.sign(compareVersions(a, b))).toBe(-Math.sign(compareVersions(b, a)) + 0);
        expect(compareVersions(a, b) === 0).toBe(a === b);
      }),
    );
  });

  it("is transitive", () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        const sorted = [a, b, c].sort(compareVersions);
        const [first = "", , last = ""] = sorted;
        expect(compareVersions(first, last)).toBeLessThanOrEqual(0);
      }),
    );
  });
});

describe("an event type as it is given", () => {
  it("is right without anything but its name", () => {
    expect(checkEventTypeInput({ name: "order.created" })).toEqual([]);
  });

  it("hears of everything that is wrong with it at once", () => {
    const fields = checkEventTypeInput({
      name: "test.event",
      replaced_by: "test.event",
      deprecated_at: "2026-99-99T00:00:00Z",
      versions: [1, 2].map(() => ({ version: "1.0", schema: {} })),
    }).map(({ field }) => field);
    expect(fields).toEqual(["name", "deprecated_at", "deprecated_at", "replaced_by", "versions[1].version"]);
  });
});
