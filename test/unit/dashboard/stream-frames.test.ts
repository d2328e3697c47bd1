import { expect, it } from "vitest";
import { createFrameParser, type StreamFrame } from "../../../dashboard/src/api/frames.ts";

it("reads frames in whatever parts they come, and notes the id of heartbeats too", () => {
  const text =
    "retry: 2000\nid: a.1.0\nevent: ready\ndata: {}\n\n" +
    'id: a.2.0\nevent: event\ndata: {"text":"a: b"}\n\n' +
    ": heartbeat\nid: a.9.4\n\n";
  for (const size of [1, 7, 1000]) {
    const seen: [string | undefined, StreamFrame | undefined][] = [];
    const parse = createFrameParser((id, frame) => seen.push([id, frame]));
    for (let at = 0; at < text.length; at += size) parse(text.slice(at, at + size));
    expect(seen).toEqual([
      ["a.1.0", { name: "ready", data: {} }],
      ["a.2.0", { name: "event", data: { text: "a: b" } }],
      ["a.9.4", undefined],
    ]);
  }
});
