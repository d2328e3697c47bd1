import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countSegments } from "../../../../src/destinations/sms/sender.ts";

describe("the messages that a text takes", () => {
  it.each([
    ["", "GSM-7", 1],
    ["a".repeat(160), "GSM-7", 1],
    ["a".repeat(161), "GSM-7", 2],
    ["a".repeat(306), "GSM-7", 2],
    ["a".repeat(307), "GSM-7", 3],
    ["€".repeat(80), "GSM-7", 1],
    ["€".repeat(81), "GSM-7", 2],
    // An escaped sign does not fit into the last septet of a part.
    [`${"a".repeat(152)}€${"a".repeat(152)}`, "GSM-7", 3],
    ["ä".repeat(160), "GSM-7", 1],
    ["é\n".repeat(80), "GSM-7", 1],
    ["ы".repeat(70), "UCS-2", 1],
    ["ы".repeat(71), "UCS-2", 2],
    ["😀".repeat(35), "UCS-2", 1],
    // 67 units hold 33 of two.
    ["😀".repeat(67), "UCS-2", 3],
    [`${"a".repeat(159)}ы`, "UCS-2", 3],
  ])("%j", (text, encoding, count) => {
    expect(countSegments(text)).toEqual({ encoding, count });
  });

  it("grow with the text, and hold no more than a part can", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 500 }), fc.string({ maxLength: 10 }), (text, more) => {
        const { count, encoding } = countSegments(text);
        expect(text.length).toBeLessThanOrEqual(count === 1 ? 160 : count * 153);
        const longer = countSegments(text + more);
        expect(longer.encoding !== encoding || longer.count >= count).toBe(true);
      }),
    );
  });
});
