/**
 * W3C Trace Context: the trace that an event belongs to, as one text that is kept with it. `traceparent`, and after a
 * space `tracestate` where there is one.
 */
export type Trace = string;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Version, trace, parent and flags; later versions may have more behind. */
const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
/** As many members, and as long, as everybody must hand on. */
const MAX_MEMBERS = 32;
const MAX_STATE_LENGTH = 512;
const MEMBER = /^(?:[a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const SAMPLED_AND_RANDOM = 0b11;

/** What a request says; undefined when it says nothing, or nothing that the specification lets stand. */
export function readTrace(headers: Headers): Trace | undefined {
  const given = headers["traceparent"];
  if (given === undefined) return undefined;
  const parent = parseParent(typeof given === "string" ? given : given.join(","));
  if (parent === undefined) return undefined;
  const state = readState(headers["tracestate"]);
  return state === undefined ? parent : `${parent} ${state}`;
}

/** In the form of version 00, which is the one that is written here. */
function parseParent(text: string): string | undefined {
  const [, version, trace = "", span = "", flags = "", more] = PARENT.exec(text.trim()) ?? [];
  if (version === undefined || version === "ff" || ZEROS.test(trace) || ZEROS.test(span)) return undefined;
  if (version === "00" && more !== undefined) return undefined;
  const known = (Number.parseInt(flags, 16) & SAMPLED_AND_RANDOM).toString(16).padStart(2, "0");
  return `00-${trace}-${span}-${known}`;
}

/** One that is not in order is left out; the parent holds without it. */
function readState(given: string | readonly string[] | undefined): string | undefined {
  if (given === undefined) return undefined;
  const text = typeof given === "string" ? given : given.join(",");
  const members = text
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  if (members.length === 0 || members.length > MAX_MEMBERS) return undefined;
  const state = members.join(",");
  return state.length <= MAX_STATE_LENGTH && members.every((member) => MEMBER.test(member)) ? state : undefined;
}

export interface TraceParts {
  traceparent: string;
  tracestate: string | undefined;
}

export function partsOf(trace: Trace): TraceParts {
  const at = trace.indexOf(" ");
  return at === -1
    ? { traceparent: trace, tracestate: undefined }
    : { traceparent: trace.slice(0, at), tracestate: trace.slice(at + 1) };
}

const TRACE_END = "00-".length + 32;
const SPAN_END = TRACE_END + 1 + 16;

/** The same trace, for a span of it. `spanId`: 16 hex digits. */
export function withSpan(trace: Trace, spanId: string): Trace {
  return `${trace.slice(0, TRACE_END)}-${spanId}${trace.slice(SPAN_END)}`;
}

/** Kept with the event, behind its hops: so it is found without reading the rest. */
export function traceDetail(trace: Trace | undefined): string | undefined {
  return trace === undefined ? undefined : `"trace":${JSON.stringify(trace)}`;
}

/** Out of what was written with `traceDetail`. */
export function traceOf(details: string | undefined): Trace | undefined {
  // As with most events.
  if (details === undefined) return undefined;
  const [, text] = TRACE_DETAIL.exec(details) ?? [];
  return text === undefined ? undefined : (JSON.parse(text) as string);
}

/** Details with this trace, in place of the one that they had. */
export function replaceTrace(details: string | undefined, trace: Trace): string {
  const [, first = "", rest = ""] = AROUND_TRACE.exec(details ?? "{}") ?? [];
  return `{${[first, traceDetail(trace), rest].filter((part) => part !== "").join(",")}}`;
}

/** What stands before the trace, or would, and what stands behind it. */
const AROUND_TRACE =
  /^\{((?:"hops":\d+)?(?:(?:(?<=\{)|,)"origin_event_id":"[^"\\]*")?)(?:(?:(?<=\{)|,)"trace":"(?:[^"\\]|\\.)*")?,?(.*)\}$/s;
const TRACE_DETAIL = /^\{(?:"hops":\d+,)?(?:"origin_event_id":"[^"\\]*",)?"trace":("(?:[^"\\]|\\.)*")/;
