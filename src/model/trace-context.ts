/**
 * W3C Trace Context: the trace that an event belongs to, stored with it as one text: `traceparent`, then after a space
 * `tracestate`, if there is one.
 */
export type Trace = string;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Version, trace, parent and flags; later versions may append more fields. */
const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
/** The limits up to which every system must pass `tracestate` on. */
const MAX_MEMBERS = 32;
const MAX_STATE_LENGTH = 512;
const MEMBER = /^(?:[a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const SAMPLED_AND_RANDOM = 0b11;

/** The trace of a request; undefined when the header is missing or invalid. */
export function readTrace(headers: Headers): Trace | undefined {
  const given = headers["traceparent"];
  if (given === undefined) return undefined;
  const parent = parseParent(typeof given === "string" ? given : given.join(","));
  if (parent === undefined) return undefined;
  const state = readState(headers["tracestate"]);
  return state === undefined ? parent : `${parent} ${state}`;
}

/** Returns the parent in the form of version 00, which the gateway sends. */
function parseParent(text: string): string | undefined {
  const [, version, trace = "", span = "", flags = "", more] = PARENT.exec(text.trim()) ?? [];
  if (version === undefined || version === "ff" || ZEROS.test(trace) || ZEROS.test(span)) return undefined;
  if (version === "00" && more !== undefined) return undefined;
  const known = (Number.parseInt(flags, 16) & SAMPLED_AND_RANDOM).toString(16).padStart(2, "0");
  return `00-${trace}-${span}-${known}`;
}

/** An invalid `tracestate` is left out; the parent is valid without it. */
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

/** The same trace with another span. `spanId`: 16 hex digits. */
function withSpan(trace: Trace, spanId: string): Trace {
  return `${trace.slice(0, TRACE_END)}-${spanId}${trace.slice(SPAN_END)}`;
}

/** Stored in the event's details after the hops, so that it is found without parsing the rest. */
export function traceDetail(trace: Trace | undefined): string | undefined {
  return trace === undefined ? undefined : `"trace":${JSON.stringify(trace)}`;
}

/** Reads what `traceDetail` wrote. */
export function traceOf(details: string | undefined): Trace | undefined {
  // The common case.
  if (details === undefined) return undefined;
  const [, text] = TRACE_DETAIL.exec(details) ?? [];
  return text === undefined ? undefined : (JSON.parse(text) as string);
}

/** The details with this trace, in place of an earlier one. */
export function replaceTrace(details: string | undefined, trace: Trace): string {
  const [, first = "", rest = ""] = AROUND_TRACE.exec(details ?? "{}") ?? [];
  return `{${[first, traceDetail(trace), rest].filter((part) => part !== "").join(",")}}`;
}

/** The parts before and after the trace, or before and after the place where it belongs. */
const AROUND_TRACE =
  /^\{((?:"hops":\d+)?(?:(?:(?<=\{)|,)"origin_event_id":"[^"\\]*")?)(?:(?:(?<=\{)|,)"trace":"(?:[^"\\]|\\.)*")?,?(.*)\}$/s;
const TRACE_DETAIL = /^\{(?:"hops":\d+,)?(?:"origin_event_id":"[^"\\]*",)?"trace":("(?:[^"\\]|\\.)*")/;

const traceBytes = Buffer.alloc(24);

/**
 * The trace context of an attempt: a span in the trace that the event came with, or in a new trace of the event's own.
 */
export function attemptTrace(
  event: { id: string; trace?: Trace | undefined },
  deliveryId: string,
  attempt: number,
): Trace {
  const [c, d] = scatter(deliveryId, attempt);
  writeWord(c, 16);
  writeWord(d, 20);
  if (event.trace !== undefined) return withSpan(event.trace, traceBytes.toString("hex", 16));
  const [a, b] = scatter(event.id, 0);
  writeWord(a, 0);
  writeWord(b, 4);
  writeWord(a ^ Math.imul(b, 5), 8);
  writeWord(b ^ Math.imul(a, 7), 12);
  // All bytes in one call: JavaScript takes longer to format one number than this takes for all of them.
  const digits = traceBytes.toString("hex");
  return `00-${digits.slice(0, 32)}-${digits.slice(32)}-01`;
}

/** Writes 1 instead of 0: an id of only zeros is invalid. */
function writeWord(word: number, at: number): void {
  traceBytes.writeUInt32BE(word >>> 0 || 1, at);
}

/**
 * Two 32-bit hashes of the text and the seed. They name spans and protect nothing, so a faster function than a digest
 * is enough.
 */
function scatter(text: string, seed: number): [number, number] {
  let a = seed ^ 0xdeadbeef;
  let b = seed ^ 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return [a, b];
}
