import { hash } from "node:crypto";
import {
  elementSpans,
  findMember,
  memberSpans,
  readString,
  skipSpace,
  trimEnd,
  type Span,
  bomLength,
} from "../../src/model/json.ts";
import { findRfc3339 } from "../../src/model/rfc3339.ts";

/** Reads Smartsheet's callbacks from their bytes: ids are copied digit by digit and never become floats. */
export interface Callback {
  readonly webhookId: string;
  /** The id of the sheet, for a webhook on a sheet. */
  readonly scopeId: string;
  readonly nonce: string | undefined;
  readonly timestamp: string | undefined;
  /** Set in a callback that is only about the webhook itself. */
  readonly newStatus: string | undefined;
  /** Undefined when there is no such array. */
  readonly events: readonly Span[] | undefined;
}

/** Undefined when the body, which is known to be JSON, is not a callback. */
export function readCallback(body: Buffer): Callback | undefined {
  const start = skipSpace(body, bomLength(body));
  if (body[start] !== 0x7b) return undefined;
  const members = memberSpans(body, start, trimEnd(body));
  const webhookId = digitsAt(body, members.get("webhookId"));
  const scopeId = digitsAt(body, members.get("scopeObjectId"));
  if (typeof webhookId !== "string" || typeof scopeId !== "string") return undefined;
  const events = members.get("events");
  return {
    webhookId,
    scopeId,
    nonce: textAt(body, members.get("nonce")),
    timestamp: textAt(body, members.get("timestamp")),
    newStatus: textAt(body, members.get("newWebhookStatus")),
    events:
      events !== undefined && body[events.start] === 0x5b ? elementSpans(body, events.start, events.end) : undefined,
  };
}

/** The webhook id that a body claims, from any bytes, even invalid JSON. It is not verified yet. */
export function findWebhookId(body: Buffer): string | undefined {
  const start = skipSpace(body, bomLength(body));
  if (body[start] !== 0x7b) return undefined;
  const digits = digitsAt(body, findMember(body, start, trimEnd(body), "webhookId"));
  return typeof digits === "string" ? digits : undefined;
}

export interface CallbackEvent {
  /** `row.updated`. */
  readonly name: string;
  readonly eventId: string;
  readonly rowId: string | undefined;
  readonly changeAgent: string | undefined;
  readonly occurredAt: number | undefined;
  /** The normalised event. */
  readonly json: string;
}

const WORDS = /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,2}$/;
/** The object types whose events name the object. */
const HAS_ID: ReadonlySet<string> = new Set(["attachment", "column", "comment", "discussion", "row", "sheet"]);

/** Undefined when it is not an event. */
export function readCallbackEvent(
  body: Buffer,
  span: Span,
  callback: Callback,
  source: string,
): CallbackEvent | undefined {
  if (body[span.start] !== 0x7b) return undefined;
  const members = memberSpans(body, span.start, span.end);
  const type = textAt(body, members.get("objectType"));
  const action = textAt(body, members.get("eventType"));
  if (type === undefined || action === undefined || !WORDS.test(type) || !WORDS.test(action)) return undefined;
  const id = digitsAt(body, members.get("id"));
  const cellRowId = digitsAt(body, members.get("rowId"));
  const columnId = digitsAt(body, members.get("columnId"));
  if (id === null || cellRowId === null || columnId === null) return undefined;
  if (id === undefined && (HAS_ID.has(type) || (type === "cell" && cellRowId === undefined))) return undefined;
  const userId = digitsAt(body, members.get("userId")) ?? undefined;
  const changeAgent = textAt(body, members.get("changeAgent"));
  const time = readTime(textAt(body, members.get("timestamp")));
  const rowId = type === "row" ? id : cellRowId;
  const { webhookId, scopeId, nonce } = callback;
  // Times have whole seconds, so only the callback distinguishes two changes within one second.
  const of = `${webhookId}|${scopeId}|${nonce ?? callback.timestamp ?? ""}`;
  const object = id ?? `${cellRowId}:${columnId}`;
  const identity = `${source}|${of}|${type}|${action}|${object}|${userId ?? ""}|${time.text ?? ""}`;
  const eventId = `ss_${hash("sha256", identity, "base64url")}`;
  const json =
    `{"event_id":"${eventId}","sheet_id":"${scopeId}","row_id":${quote(rowId)},"column_id":${quote(columnId)},` +
    `"object_id":${quote(id)},"object_type":"${type}","action":"${action}","user_id":${quote(userId)},` +
    `"timestamp":${stringify(time.text)},"webhook_id":"${webhookId}","nonce":${stringify(nonce)},` +
    `"change_agent":${stringify(changeAgent)}}`;
  return { name: `${type}.${action}`, eventId, rowId, changeAgent, occurredAt: time.at, json };
}

const DIGITS = /^[0-9]{1,32}$/;

/** Undefined when there is none, null when it is not an id. */
function digitsAt(body: Buffer, span: Span | undefined): string | undefined | null {
  if (span === undefined) return undefined;
  const first = body[span.start];
  if (first === 0x6e) return undefined;
  const text = first === 0x22 ? readString(body, span.start, span.end) : body.toString("latin1", span.start, span.end);
  return DIGITS.test(text) ? text : null;
}

function textAt(body: Buffer, span: Span | undefined): string | undefined {
  return span !== undefined && body[span.start] === 0x22 ? readString(body, span.start, span.end) : undefined;
}

function quote(digits: string | undefined): string {
  return digits === undefined ? "null" : `"${digits}"`;
}

function stringify(text: string | undefined): string {
  return text === undefined ? "null" : JSON.stringify(text);
}

interface EventTime {
  readonly text: string | undefined;
  readonly at: number | undefined;
}

const NEVER: EventTime = { text: undefined, at: undefined };
let latest: { written: string; time: EventTime } | undefined;

/** Smartsheet writes the offset as `+0000` or as `+00:00`. Other texts stay unchanged. */
function readTime(written: string | undefined): EventTime {
  if (written === undefined || written === "") return NEVER;
  // Most events of a callback have the same time.
  if (latest?.written === written) return latest.time;
  const at = findRfc3339(written.replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
  const time = { at, text: at === undefined ? written : new Date(at).toISOString() };
  latest = { written, time };
  return time;
}
