import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstCursor, formatCursor, isAtEnd, parseCursor } from "../../../src/replays/replay-selection.ts";

const seq = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const cursors = fc.record({
  at: fc.option(fc.record({ eventSeq: seq, subscriptionSeq: seq }), { nil: undefined }),
  lanes: fc.array(fc.tuple(seq, fc.option(seq, { nil: undefined })), { maxLength: 20 }).map((list) => new Map(list)),
});

describe("the cursor of a replay", () => {
  it("is the same after it was written down", () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(parseCursor(formatCursor(cursor))).toEqual(cursor);
      }),
    );
  });

  it("is at its end when the common walk and every lane of its own are", () => {
    expect(isAtEnd(firstCursor(0, undefined))).toBe(false);
    expect(isAtEnd(firstCursor(0, 7))).toBe(false);
    expect(isAtEnd({ at: undefined, lanes: new Map([[7, 3]]) })).toBe(false);
    expect(isAtEnd({ at: undefined, lanes: new Map([[7, undefined]]) })).toBe(true);
    expect(isAtEnd({ at: { eventSeq: 1, subscriptionSeq: 1 }, lanes: new Map([[7, undefined]]) })).toBe(false);
  });
});
