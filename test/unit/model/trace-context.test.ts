import { describe, expect, it } from "vitest";
import {
  attemptTrace,
  partsOf,
  readTrace,
  replaceTrace,
  traceDetail,
  traceOf,
} from "../../../src/model/trace-context.ts";
import { hopsDetail } from "../../../src/model/event.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN_ID = "00f067aa0ba902b7";
const PARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;

describe("the trace of a request", () => {
  it.each([
    [PARENT, PARENT],
    [`00-${TRACE_ID}-${SPAN_ID}-00`, `00-${TRACE_ID}-${SPAN_ID}-00`],
    // Flags that are not known are not handed on, and later versions are read as far as they are known.
    [`00-${TRACE_ID}-${SPAN_ID}-ff`, `00-${TRACE_ID}-${SPAN_ID}-03`],
    [`cc-${TRACE_ID}-${SPAN_ID}-01`, PARENT],
    [`cc-${TRACE_ID}-${SPAN_ID}-01-more`, PARENT],
  ])("is read: %s", (given, read) => {
    expect(readTrace({ traceparent: given })).toBe(read);
  });

  it.each([
    "",
    "00",
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${"0".repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${"0".repeat(16)}-01`,
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-01-more`,
    `cc-${TRACE_ID}-${SPAN_ID}-01more`,
    `00-${TRACE_ID.slice(1)}-${SPAN_ID}-01`,
    `${PARENT},${PARENT}`,
  ])("is ignored when it is not in order: %s", (traceparent) => {
    expect(readTrace({ traceparent, tracestate: "a=1" })).toBeUndefined();
  });

  it("has the state of others, as long as that is in order", () => {
    const stateOf = (tracestate: string | string[]) =>
      partsOf(readTrace({ traceparent: PARENT, tracestate }) ?? "").tracestate;
    expect(stateOf("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")).toBe("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
    expect(stateOf(["a=1", " b=2 ,"])).toBe("a=1,b=2");
    expect(stateOf("tenant@vendor=x y")).toBe("tenant@vendor=x y");
    for (const bad of ["a", "A=1", "a=1\r\nX: y", "a=\u00e9", `a=${"x".repeat(600)}`, Array(33).fill("a=1").join()]) {
      expect(stateOf(bad)).toBeUndefined();
    }
  });

  it("is kept with an event, and found there whatever stands before and after it", () => {
    const trace = `${PARENT} a="1"`.replaceAll('"', "'");
    const detail = traceDetail(trace);
    for (const details of [
      hopsDetail(0, detail),
      hopsDetail(3, detail),
      `{"hops":1,"origin_event_id":"evt_1",${detail},"metadata":{}}`,
      `${hopsDetail(0, detail)?.slice(0, -1)},"metadata":{"trace":"other"}}`,
    ]) {
      expect(traceOf(details)).toBe(trace);
    }
    expect(traceOf('{"metadata":{"trace":"00-x"}}')).toBeUndefined();
    expect(traceOf(undefined)).toBeUndefined();
  });
});

describe("the trace of an attempt", () => {
  const spanOf = (trace: string) => trace.split("-")[2];

  it("is that of its event, as a span of its own for each attempt of each delivery", () => {
    const event = { id: "evt_1", trace: `${PARENT} a=1` };
    const traces = [attemptTrace(event, "dlv_1", 1), attemptTrace(event, "dlv_1", 2), attemptTrace(event, "dlv_2", 1)];
    expect(new Set(traces.map(spanOf)).size).toBe(3);
    for (const trace of traces) expect(trace).toMatch(new RegExp(`^00-${TRACE_ID}-(?!${SPAN_ID})[0-9a-f]{16}-01 a=1$`));
    expect(attemptTrace(event, "dlv_1", 1)).toBe(traces[0]);
  });

  it("is one of the event's own where it came with none", () => {
    const [first, second] = [1, 2].map((attempt) => attemptTrace({ id: "evt_1" }, "dlv_1", attempt)) as [
      string,
      string,
    ];
    expect(first).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(second.slice(0, 35)).toBe(first.slice(0, 35));
    expect(spanOf(second)).not.toBe(spanOf(first));
  });
});

describe("the trace among the details of an event", () => {
  const other = `00-${TRACE_ID}-aaaaaaaaaaaaaaaa-01 a="1"`;
  const trace = traceDetail(PARENT);
  it.each([
    undefined,
    `{${trace}}`,
    '{"hops":2}',
    `{"hops":2,${trace}}`,
    `{"hops":2,"origin_event_id":"e1",${trace},"origin":"x"}`,
    '{"origin_event_id":"e1","metadata":{"trace":"mine","a":"\\n"}}',
    `{${trace},"metadata":{"a":[1.0,2]}}`,
    '{"metadata":{"hops":1}}',
  ])("is replaced, and nothing else: %s", (details) => {
    const replaced = replaceTrace(details, other);
    const before = details === undefined ? {} : (JSON.parse(details) as object);
    expect(JSON.parse(replaced)).toEqual({ ...before, trace: other });
    expect(traceOf(replaced)).toBe(other);
    expect(replaceTrace(replaced, other)).toBe(replaced);
  });
});
