import type { CountedEvent } from "../../model/delivery.ts";
import type { LoggedAttempt, LoggedEvent, LogPage, LogPosition } from "../../store/port/log-reads.ts";
import type { StoredDelivery } from "../../store/port/reads.ts";
import { isoTime } from "../present.ts";
import { oneLine, presentBody, presentBytes, presentEvent, presentEventRequest } from "../routes/event-shape.ts";

/** One event or attempt of a page, with its frames. */
export interface Entry {
  readonly type: FrameType;
  readonly tenantId: string;
  readonly eventType: string;
  readonly source: string;
  /** The subscriptions that it concerns, among those that clients asked for. */
  readonly subscriptionSeqs: readonly number[];
  /** Unix ms: when the event came in, or the attempt began. */
  readonly at: number;
  readonly eventId: string;
  readonly orderingKey: string | undefined;
  /** The state of the delivery; undefined for an event. */
  readonly status: StoredDelivery["state"] | undefined;
  /** Why the delivery is dead; undefined for an event. */
  readonly deadReason: StoredDelivery["deadReason"];
  /** Undefined for an attempt. */
  readonly event: Pick<LoggedEvent, "details" | keyof CountedEvent> | undefined;
  /** Of an alert; read on first use. */
  alert(): AlertFacts | undefined;
  /** Built on first use, and once for all clients of a tenant, or of none. */
  frame(body: BodyForm, tenantId: string | undefined): string;
}

export interface AlertFacts {
  readonly rule?: string;
  readonly severity?: string;
}

/** How bodies are shown. `json`: as JSON, or as text if they are not JSON; `base64`: byte for byte. */
export type BodyForm = "none" | "json" | "base64";

export interface EntryOptions {
  ids: FrameIds;
  presentDelivery: (delivery: StoredDelivery) => object;
  findSubscriptionName: (seq: number) => string | undefined;
}

/** Larger bodies are left out; clients can read them by the event's id. */
export const MAX_FRAME_BODY_BYTES = 262_144;

/** The gateway's own events that have their own frame types; their frames always include the payload. */
const OWN_FRAMES: ReadonlyMap<string, FrameType> = new Map([
  ["gateway.mode_changed", "mode"],
  ["alert.fired", "alert"],
  ["alert.cleared", "alert"],
]);
export const OWN_FRAME_EVENTS = [...OWN_FRAMES.keys()];

/** Events come first, so that an attempt follows its event. `after` is the position where the page begins. */
export function toEntries(page: LogPage, after: LogPosition, options: EntryOptions): Entry[] {
  const { eventSeq } = page.position;
  return [
    ...page.events.map((event) => fromEvent(event, { eventSeq: event.seq, attemptSeq: after.attemptSeq }, options)),
    ...page.attempts.map((attempt) => fromAttempt(attempt, { eventSeq, attemptSeq: attempt.seq }, options)),
  ];
}

function fromEvent(event: LoggedEvent, position: LogPosition, { ids }: EntryOptions): Entry {
  const type = OWN_FRAMES.get(event.type) ?? "event";
  const frames = new Map<string, string>();
  let facts: AlertFacts | undefined;
  return {
    type,
    tenantId: event.tenantId,
    eventType: event.type,
    source: event.source,
    subscriptionSeqs: event.subscriptionSeqs,
    at: event.receivedAt,
    eventId: event.id,
    orderingKey: event.orderingKey,
    status: undefined,
    deadReason: undefined,
    event,
    alert: () => (type === "alert" ? (facts ??= readAlert(event)) : undefined),
    frame(asked, tenantId) {
      const form = asked === "none" && type !== "event" ? "json" : asked;
      const key = `${form} ${tenantId === undefined ? "all" : "tenant"}`;
      let frame = frames.get(key);
      if (frame === undefined) {
        frames.set(key, (frame = writeFrame(type, writeEvent(event, form, tenantId), ids.write(position))));
      }
      return frame;
    },
  };
}

/** Nothing when its body was erased. */
function readAlert({ body }: LoggedEvent): AlertFacts {
  return body === undefined || body.length === 0 ? {} : (JSON.parse(Buffer.from(body).toString()) as AlertFacts);
}

function writeEvent(event: LoggedEvent, form: BodyForm, tenantId: string | undefined): string {
  const shown = presentEvent(event, tenantId);
  if (form === "none") return JSON.stringify(shown);
  const json = JSON.stringify({ ...shown, request: presentEventRequest(event) });
  return `${json.slice(0, -1)},${writeBody(event, form)}}`;
}

function writeBody(event: LoggedEvent, form: BodyForm): string {
  const { body, size } = event;
  // The size of an erased body is 0.
  if (body === undefined && size > 0) return `"payload_omitted":true`;
  if (body !== undefined && form === "base64") return presentBytes(body);
  return oneLine(presentBody(event, body));
}

function fromAttempt(
  { source, orderingKey, delivery, attempt }: LoggedAttempt,
  position: LogPosition,
  options: EntryOptions,
): Entry {
  let frame: string | undefined;
  return {
    type: "attempt",
    tenantId: delivery.tenantId,
    eventType: delivery.eventType,
    source,
    subscriptionSeqs: [delivery.subscriptionSeq],
    at: attempt.startedAt,
    eventId: delivery.eventId,
    orderingKey,
    status: delivery.state,
    deadReason: delivery.deadReason,
    event: undefined,
    alert: () => undefined,
    frame() {
      if (frame !== undefined) return frame;
      const shown = {
        ...options.presentDelivery(delivery),
        source,
        subscription_name: options.findSubscriptionName(delivery.subscriptionSeq) ?? null,
        attempt: {
          number: attempt.number,
          started_at: isoTime(attempt.startedAt),
          duration_ms: attempt.durationMs,
          result: attempt.result,
          response_code: attempt.code ?? null,
          error: attempt.error ?? null,
          trigger: attempt.trigger,
        },
      };
      frame = writeFrame("attempt", JSON.stringify(shown), options.ids.write(position));
      return frame;
    },
  };
}

/** The frames that a client may ask for. */
export const FRAME_TYPES = ["event", "attempt", "mode", "alert"] as const;
export type FrameType = (typeof FRAME_TYPES)[number];

/** Frames about the stream itself. */
export type ControlFrame = "ready" | "gap" | "dropped" | "end";

/**
 * One frame of server-sent events (WHATWG HTML §9.2). Only CR and LF end a line there, and JSON without line ends
 * between its members has none: content from senders cannot end a frame or begin another.
 */
export function writeFrame(name: FrameType | ControlFrame, json: string, id?: string): string {
  const position = id === undefined ? "" : `id: ${id}\n`;
  return `${position}event: ${name}\ndata: ${json}\n\n`;
}

/** A comment that keeps silent connections open. Its id moves the client past frames it did not ask for. */
export function writeHeartbeat(id: string): string {
  return `: heartbeat\nid: ${id}\n\n`;
}

/** How long a client waits before it reconnects. */
export function writeRetry(ms: number): string {
  return `retry: ${ms}\n`;
}

const FRAME_ID = /^([0-9a-f]{8})\.(\d{1,15})\.(\d{1,15})$/;

export type FrameIds = ReturnType<typeof createFrameIds>;

/** The ids of frames: positions in the logs of one store. */
export function createFrameIds(storeId: string) {
  const store = storeId.replace(/^[a-z]+_/, "").slice(0, 8);
  return {
    write: ({ eventSeq, attemptSeq }: LogPosition) => `${store}.${eventSeq}.${attemptSeq}`,
    /** Undefined when it is not the id of a frame. */
    parse(id: string): { position: LogPosition } | { isForeign: true } | undefined {
      const [, of, eventSeq, attemptSeq] = FRAME_ID.exec(id) ?? [];
      if (of === undefined) return undefined;
      return of === store
        ? { position: { eventSeq: Number(eventSeq), attemptSeq: Number(attemptSeq) } }
        : { isForeign: true };
    },
  };
}
