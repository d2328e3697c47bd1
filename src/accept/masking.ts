import { readKeptRequest, writeKeptRequest, addDetail } from "../model/event.ts";
import { MASK } from "../model/secrets.ts";
import { maskJson, parseMask, type MaskRules } from "../model/masking.ts";
import type { EventType } from "../model/event-type.ts";
import type { IncomingEvent } from "./fan-out.ts";
import { scanJson } from "../sandbox/text/json-text.ts";
import { bomLength } from "../model/json.ts";

/** Deeper than any body that is accepted. */
const MAX_DEPTH = 1000;

export type Masking = ReturnType<typeof createMasking>;

/** Masks values that must not be stored, as the source and the event type say. */
export function createMasking() {
  const ofTypes = new Map<string, MaskRules>();
  return {
    /** Returns the same event when there is nothing to mask, which is the usual case. */
    mask(event: IncomingEvent, ofSource?: MaskRules): IncomingEvent {
      const ofType = ofTypes.size === 0 ? undefined : ofTypes.get(event.type);
      if (ofSource === undefined && ofType === undefined) return event;
      const pointers = [...(ofSource?.pointers ?? []), ...(ofType?.pointers ?? [])];
      const bytes = Buffer.from(event.body.buffer, event.body.byteOffset, event.body.length);
      const body = maskBody(bytes, pointers) ?? { body: bytes, count: 0 };
      const head = maskHeaders(event.request, ofSource);
      const count = body.count + head.count;
      if (count === 0) return event;
      const details = addDetail(event.details, `"masked":${count}`);
      return { ...event, body: body.body, request: head.request, details };
    },
    update(types: readonly EventType[]): void {
      ofTypes.clear();
      for (const { name, mask } of types) {
        const rules = parseMask(mask);
        if (rules !== undefined) ofTypes.set(name, rules);
      }
    },
  };
}

/** For a request without an event. A body in which the values to mask cannot be found is not kept. */
export function maskLogged(
  rules: MaskRules,
  logged: { facts: string; body: Uint8Array | undefined },
): { facts: string; body: Uint8Array | undefined } {
  const { request: facts = logged.facts } = maskHeaders(logged.facts, rules);
  if (logged.body === undefined || rules.pointers.length === 0) return { facts, body: logged.body };
  return { facts, body: maskBody(Buffer.from(logged.body), rules.pointers)?.body };
}

/** Undefined when the body is not JSON. */
function maskBody(body: Buffer, pointers: MaskRules["pointers"]): { body: Buffer; count: number } | undefined {
  if (pointers.length === 0) return { body, count: 0 };
  const start = bomLength(body);
  try {
    scanJson(body, start, MAX_DEPTH);
  } catch {
    return undefined;
  }
  return maskJson(body, pointers, start);
}

function maskHeaders(text: string | undefined, rules: MaskRules | undefined) {
  if (text === undefined || rules === undefined || rules.headers.size === 0) return { request: text, count: 0 };
  const kept = readKeptRequest(text);
  const { headers } = kept;
  const names = Object.keys(headers).filter((name) => rules.headers.has(name.toLowerCase()));
  if (names.length === 0) return { request: text, count: 0 };
  const masked = { ...headers, ...Object.fromEntries(names.map((name) => [name, MASK])) };
  return { request: writeKeptRequest({ ...kept, headers: masked }), count: names.length };
}
