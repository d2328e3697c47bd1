import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createServerSentEvents } from "../../../sdk/src/client/server-sent-events.ts";

const TEXT =
  'retry: 20\nid: a.1\nevent: event\ndata: {"n":1}\n\n: heartbeat\nid: a.2\n\nid: a.3\ndata:x\ndata: y\n\nid: a.4\ndata: cut';

const EVENTS = [
  { event: "event", data: '{"n":1}', id: "a.1" },
  { event: "message", data: "x\ny", id: "a.3" },
];

describe("server-sent events", () => {
  it("are the same however the text is cut, and whatever ends its lines", () => {
    const cuts = fc.array(fc.nat(TEXT.length + 20), { maxLength: 20 });
    fc.assert(
      fc.property(cuts, fc.constantFrom("\n", "\r\n", "\r"), (places, end) => {
        const text = TEXT.replaceAll("\n", end);
        const sorted = [0, ...places.sort((a, b) => a - b), text.length];
        const events = createServerSentEvents();
        const found = sorted.slice(1).flatMap((place, index) => events.take(text.slice(sorted[index], place)));
        expect(found).toEqual(EVENTS);
        expect([events.lastEventId, events.retryMs]).toEqual(["a.3", 20]);
      }),
    );
  });

  it("move the last id by a comment too, and not by an event that was cut off", () => {
    const events = createServerSentEvents("before");
    expect(events.take("id: next\ndata: x\n")).toEqual([]);
    expect(events.lastEventId).toBe("before");
    events.take("\n: heartbeat\nid: later\n\n");
    expect(events.lastEventId).toBe("later");
  });
});
