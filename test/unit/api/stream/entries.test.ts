import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFrameIds, writeFrame, writeHeartbeat } from "../../../../src/api/stream/entries.ts";

describe("the frames of a stream", () => {
  it("are one frame each, whatever stands in them", () => {
    const nasty = fc.array(
      fc.constantFrom("\r", "\n", "\r\n", "\u2028", "\u0085", "data: ", "id: 1", ":", "\u0000", "a"),
    );
    fc.assert(
      fc.property(fc.jsonValue(), nasty, (value, pieces) => {
        const data = { value, text: pieces.join("") };
        const written = writeFrame("event", JSON.stringify(data), "0000abcd.1.2") + writeHeartbeat("0000abcd.1.2");
        const lines = written.split(/\r\n|\n|\r/);
        expect(lines.slice(0, 2)).toEqual(["id: 0000abcd.1.2", "event: event"]);
        expect(JSON.parse((lines[2] ?? "").replace(/^data: /, ""))).toEqual(JSON.parse(JSON.stringify(data)));
        expect(lines.slice(3)).toEqual(["", ": heartbeat", "id: 0000abcd.1.2", "", ""]);
      }),
    );
  });

  it("have ids that lead back to where they were, in their own store only", () => {
    const ids = createFrameIds("str_3f9c0a71d2b84e6605");
    const position = { eventSeq: 12, attemptSeq: 34 };
    expect(ids.write(position)).toBe("3f9c0a71.12.34");
    expect(ids.parse("3f9c0a71.12.34")).toEqual({ position });
    expect(ids.parse("00000000.12.34")).toEqual({ isForeign: true });
    for (const wrong of ["", "3f9c0a71", "3f9c0a71.-1.2", "3f9c0a71.1.2.3", "3f9c0a71.1e3.1", "x".repeat(500)]) {
      expect(ids.parse(wrong)).toBeUndefined();
    }
  });
});
