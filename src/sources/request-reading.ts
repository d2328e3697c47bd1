import { createHash } from "node:crypto";
import { EVENT_TYPE_MAX_LENGTH } from "../model/event.ts";
import { PosthornError } from "../model/errors.ts";
import { findRfc3339 } from "../model/rfc3339.ts";
import type { WellFormed } from "../sandbox/text/body-check.ts";
import { remember } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, ReadEvent, Reading } from "./source-kind.ts";
import { elementSpans, findMember, skipSpace, trimEnd, type Span, bomLength } from "../model/json.ts";

/** Turns providers' names and ids into event types and ids. */

export const MAX_KEY_LENGTH = 255;
/** Control characters and lone surrogates: such text would be changed when it is stored. */
export const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
const PARTED_BY = "\n";
const typeOf = remember(toEventType);

/**
 * `github` and `pull_request`, `opened` become `github.pull_request.opened`. Other separators of a provider become
 * dots, or `_` inside a word; a capital inside a word begins a new word. The kind comes first, so that no
 * provider can name an event of the gateway itself.
 */
export function eventTypeOf(kind: string, ...names: readonly (string | undefined)[]): string {
  let text = kind;
  for (const name of names) if (name !== undefined) text += PARTED_BY + name.slice(0, EVENT_TYPE_MAX_LENGTH);
  return typeOf(text);
}

function toEventType(text: string): string {
  const [kind = "", ...names] = text.split(PARTED_BY);
  const words = names.flatMap(wordsOf);
  let type = kind;
  for (const word of words.length === 0 ? ["unknown"] : words) {
    if (type.length + 1 + word.length > EVENT_TYPE_MAX_LENGTH) break;
    type += `.${word}`;
  }
  return type;
}

function wordsOf(name: string): readonly string[] {
  return name
    .split(/[./:]+/)
    .map((word) =>
      word
        .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
        .toLowerCase()
        .replace(/[^a-z0-9_-]+/g, "_")
        .replace(/^_+|_+$/g, ""),
    )
    .filter((word) => word !== "");
}

/** Joins several texts; undefined if one is missing. A long or unprintable result is hashed. */
export function identityOf(...parts: readonly (string | undefined)[]): string | undefined {
  if (parts.some((part) => part === undefined || part === "")) return undefined;
  return toKey(parts.join(":"));
}

/** A provider may send any text: text that cannot be stored unchanged is hashed. */
export function toKey(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  return text.length > MAX_KEY_LENGTH || UNPRINTABLE.test(text) ? hashOf(text) : text;
}

export function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("base64url");
}

/** A request with one event, which has the request's body. */
export function oneEvent(type: string, identity: string | undefined, occurredAt?: number): Reading {
  return { events: [{ type, identity, occurredAt }] };
}

/** For kinds whose requests are one event in JSON, with its type, id and time at the pointers. */
export function readOneAtPointers(kind: string, provider: string) {
  return (_request: ArrivedRequest, _settings: KindSettings, form: WellFormed): Reading => {
    requireJson(form, provider);
    const [type, id, time] = form.texts;
    return oneEvent(eventTypeOf(kind, type), identityOf(id), findTime(time));
  };
}

/** Reads a provider's time: Unix seconds, with or without a fraction, or RFC 3339. */
export function findTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,11}(\.\d{1,9})?$/.test(text)) return Math.floor(Number(text) * 1000);
  return findRfc3339(text);
}

/** The same in milliseconds. */
export function findTimeInMs(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,14}$/.test(text) ? Number(text) : undefined;
}

/** For kinds that must read the body as JSON. */
export function requireJson(form: WellFormed, provider: string): void {
  if (form.kind !== "json") {
    throw new PosthornError(
      "unreadable_body",
      `The body is not JSON, but ${provider} sends JSON. Check who sends this request.`,
    );
  }
}

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
/** A form is read before its sender is verified: this much blocks the event loop for some milliseconds. */
const MAX_FORM_BYTES = 256 * 1024;

export function isForm({ headers }: ArrivedRequest): boolean {
  return FORM.test(headers["content-type"] ?? "");
}

export function formFields({ body }: ArrivedRequest): URLSearchParams {
  if (body.length > MAX_FORM_BYTES) {
    throw new PosthornError("too_large", `A form for this kind of source may have at most ${MAX_FORM_BYTES} bytes.`);
  }
  return new URLSearchParams(body.toString("utf8"));
}

/** The beginning of a field, from the first bytes of a form: decoding 25 MB would block the event loop too long. */
export function findFieldStart({ body }: ArrivedRequest, name: string, maxBytes: number): Buffer | undefined {
  const prefix = `${name}=`;
  let at = 0;
  while (!body.subarray(at, at + prefix.length).equals(Buffer.from(prefix))) {
    at = body.indexOf("&", at) + 1;
    if (at === 0) return undefined;
  }
  const field = new URLSearchParams(body.toString("utf8", at, at + prefix.length + maxBytes)).get(name);
  return field === null ? undefined : Buffer.from(field);
}

export function queryFields({ query }: ArrivedRequest): URLSearchParams {
  return new URLSearchParams(query);
}

/** Splits a request with several events into the bytes of each, exactly as they were sent. */

/** More than any provider puts into one request. */
const MAX_PARTS = 10_000;

export function rootSpan(body: Buffer): Span {
  return { start: skipSpace(body, bomLength(body)), end: trimEnd(body) };
}

/** The elements of the array at a span; undefined when there is none. */
export function partsOf(body: Buffer, span: Span | undefined): readonly Buffer[] | undefined {
  if (span === undefined || body[span.start] !== 0x5b) return undefined;
  const spans = elementSpans(body, span.start, span.end, MAX_PARTS + 1);
  if (spans.length > MAX_PARTS) {
    throw new PosthornError("too_large", `The request has more than ${MAX_PARTS} events.`);
  }
  return spans.map(({ start, end }) => body.subarray(start, end));
}

/** The elements of a body that is a list; otherwise the body itself. */
export function partsOfBody(body: Buffer): readonly Buffer[] {
  return partsOf(body, rootSpan(body)) ?? [body];
}

export function partsOfMember(body: Buffer, name: string): readonly Buffer[] | undefined {
  const { start, end } = rootSpan(body);
  return body[start] === 0x7b ? partsOf(body, findMember(body, start, end, name)) : undefined;
}

/** Elements that are not objects are not events. */
export function readParts(parts: readonly Buffer[], read: (part: Buffer) => ReadEvent): Reading {
  const events: ReadEvent[] = [];
  const ignored: { cause: string }[] = [];
  for (const part of parts) {
    if (part[0] === 0x7b) events.push(read(part));
    else ignored.push({ cause: "invalid" });
  }
  return { events, ignored };
}
