import type { ServerResponse } from "node:http";
import type { AlertRuleName, AlertSeverity } from "../../model/alert-rules.ts";
import { countsSeenBy, type DeadReason, type DeliveryState } from "../../model/delivery.ts";
import { hasLabels } from "../../model/event-search.ts";
import { matchesPattern, parsePattern } from "../../model/pattern.ts";
import type { LogPosition } from "../../store/port/log-reads.ts";
import type { EventFilter } from "../../store/port/reads.ts";
import {
  writeFrame,
  writeHeartbeat,
  writeRetry,
  type BodyForm,
  type Entry,
  type FrameIds,
  type FrameType,
} from "./entries.ts";

/** Why the gateway disconnects a client. */
export type DropReason = "too_slow" | "stalled" | "key_revoked" | "store_fault";
export type EndReason = "shutting_down" | "caught_up";
export type GapReason = "deleted" | "unknown_position";

export interface StreamRequest {
  filter: StreamFilter;
  body: BodyForm;
  /** False: the stream ends at the position where the logs ended at its start. */
  isFollowing: boolean;
  /** The last position that the client got; undefined: it begins with new entries. */
  after: { position: LogPosition } | { isForeign: true } | undefined;
  /** Whether the client's key may still read. */
  isAllowed: () => boolean;
  /** Whether its request would still be let in; asked now and then, because it may have to look into the store. */
  isKnown: () => Promise<boolean>;
}

export type StreamClient = ReturnType<typeof createStreamClient>;

const RETRY_MS = 2000;
/** Long enough for a client that still reads to see the reason; it costs only the client's own buffer. */
const DROPPED_GRACE_MS = 15_000;
const END_GRACE_MS = 250;

const DROPPED_BECAUSE: Readonly<Record<DropReason, string>> = {
  too_slow: "The client did not read as fast as frames came. Reconnect with the last id; nothing is lost.",
  stalled: "The client read nothing for a while. Reconnect with the last id; nothing is lost.",
  key_revoked: "The key was revoked, has expired or may no longer read.",
  store_fault: "The gateway could not read its store. Reconnect with the last id; nothing is lost.",
};

export function createStreamClient(request: StreamRequest, output: StreamOutput, ids: FrameIds) {
  const { filter, body } = request;
  let takenAtLastBeat = -1;

  const client = {
    request,
    fits: createFits(filter),
    /** Equal for all clients that get the same frames. */
    group: JSON.stringify([filter, body]),
    output,
    /** Everything up to here was sent, or does not match the client's filter. */
    position: { eventSeq: 0, attemptSeq: 0 },
    /** False when the client is gone. */
    isOpen: true,
    begin(position: LogPosition): void {
      client.position = position;
      const id = ids.write(position);
      output.write(writeRetry(RETRY_MS) + writeFrame("ready", JSON.stringify({ position: id }), id));
    },
    sendGap(reason: GapReason, completeSince: number | undefined): void {
      const since = completeSince === undefined ? null : new Date(completeSince).toISOString();
      output.write(writeFrame("gap", JSON.stringify({ reason, complete_since: since })));
    },
    beat: () => output.write(writeHeartbeat(ids.write(client.position))),
    /** Whether the client has read none of the waiting output since the last call. */
    isStalled(): boolean {
      const isStill = output.waitingBytes > 0 && output.takenBytes <= takenAtLastBeat;
      takenAtLastBeat = output.takenBytes;
      return isStill;
    },
    drop(reason: DropReason): void {
      if (!client.isOpen) return;
      client.isOpen = false;
      output.end(writeFrame("dropped", JSON.stringify({ reason, detail: DROPPED_BECAUSE[reason] })), DROPPED_GRACE_MS);
    },
    end(reason: EndReason): void {
      if (!client.isOpen) return;
      client.isOpen = false;
      output.end(writeFrame("end", JSON.stringify({ reason }), ids.write(client.position)), END_GRACE_MS);
    },
  };
  return client;
}

/** Joins the frames of a page that match a client's filter. */
export function joinFrames(entries: readonly Entry[], { fits, request }: StreamClient): Buffer {
  let frames = "";
  for (const entry of entries) if (fits(entry)) frames += entry.frame(request.body, request.filter.tenantId);
  return Buffer.from(frames);
}

/** The filter of a client; an entry must match all conditions that are set. */
export interface StreamFilter extends Pick<EventFilter, "tenantId" | "source" | "orderingKey" | "since"> {
  types: readonly FrameType[];
  /** An event type or a pattern. */
  eventType?: string | undefined;
  subscriptionSeq?: number | undefined;
  /** An event id, or the beginning of one followed by `*`. */
  id?: string | undefined;
  /** The state of the delivery, and why it is dead; with one of them only attempts match. */
  status?: DeliveryState | undefined;
  reason?: DeadReason | undefined;
  /** Members of the metadata, and whether no subscription wanted the event; with one of them only events match. */
  labels?: EventFilter["labels"];
  unmatched?: boolean | undefined;
  /** With one of them only alerts match. */
  rule?: AlertRuleName | undefined;
  severity?: AlertSeverity | undefined;
}

export type Fits = (entry: Entry) => boolean;

function createFits(filter: StreamFilter): Fits {
  const { tenantId, source, subscriptionSeq, status, since, orderingKey, reason } = filter;
  const types = new Set(filter.types);
  const pattern = filter.eventType === undefined ? undefined : parsePattern(filter.eventType);
  const [fitsId, fitsEvent, fitsAlert] = [createIdMatch(filter.id), createEventMatch(filter), createAlertMatch(filter)];
  return (entry) =>
    types.has(entry.type) &&
    (tenantId === undefined || entry.tenantId === tenantId) &&
    (source === undefined || entry.source === source) &&
    (since === undefined || entry.at >= since) &&
    (status === undefined || entry.status === status) &&
    (reason === undefined || entry.deadReason === reason) &&
    (orderingKey === undefined || entry.orderingKey === orderingKey) &&
    (subscriptionSeq === undefined || entry.subscriptionSeqs.includes(subscriptionSeq)) &&
    (pattern === undefined || matchesPattern(pattern, entry.eventType)) &&
    fitsId(entry) &&
    fitsEvent(entry) &&
    fitsAlert(entry);
}

function createIdMatch(id: string | undefined): Fits {
  if (id === undefined) return () => true;
  if (!id.endsWith("*")) return ({ eventId }) => eventId === id;
  const beginning = id.slice(0, -1);
  return ({ eventId }) => eventId.startsWith(beginning);
}

function createEventMatch({ tenantId, labels, unmatched }: StreamFilter): Fits {
  if (labels === undefined && unmatched === undefined) return () => true;
  return ({ event }) =>
    event !== undefined &&
    (unmatched === undefined || (countsSeenBy(tenantId, event).deliveryCount === 0) === unmatched) &&
    (labels === undefined || hasLabels(event.details, labels));
}

function createAlertMatch({ rule, severity }: StreamFilter): Fits {
  if (rule === undefined && severity === undefined) return () => true;
  return (entry) => {
    const alert = entry.alert();
    if (alert === undefined) return false;
    return (rule === undefined || alert.rule === rule) && (severity === undefined || alert.severity === severity);
  };
}

/** With fewer waiting bytes than this, a client that catches up gets the next page. */
const LOW_WATER_BYTES = 65_536;

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  // Keeps proxies from caching, compressing or buffering the stream.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
  // The connection ends with the stream, so that a stop does not wait for keep-alive.
  connection: "close",
} as const;

export type StreamOutput = ReturnType<typeof openStreamOutput>;

/** The output of one client. */
export function openStreamOutput(response: ServerResponse) {
  let written = 0;
  response.writeHead(200, STREAM_HEADERS);
  response.socket?.setNoDelay(true);
  // A client that disconnects during a write is not an error.
  response.on("error", () => undefined);

  return {
    write(frames: string | Buffer): void {
      if (response.destroyed || response.writableEnded) return;
      written += Buffer.byteLength(frames);
      response.write(frames);
    },
    /** Bytes that were written but not read yet. */
    get waitingBytes() {
      return response.writableLength;
    },
    /** All bytes that were read so far. */
    get takenBytes() {
      return written - response.writableLength;
    },
    /** Resolves when few bytes wait, or when the client is gone. */
    drained: () =>
      new Promise<void>((resolve) => {
        if (response.destroyed || response.writableLength <= LOW_WATER_BYTES) return resolve();
        const go = () => {
          response.off("drain", go).off("close", go);
          resolve();
        };
        response.on("drain", go).on("close", go);
      }),
    /** Writes the remaining frames and closes the connection after `graceMs` at the latest. */
    end(last: string, graceMs: number): void {
      if (response.destroyed || response.writableEnded) return;
      response.end(last);
      const cut = setTimeout(() => response.destroy(), graceMs).unref();
      response.once("close", () => clearTimeout(cut));
    },
    onClose(run: () => void): void {
      if (response.destroyed) run();
      else response.once("close", run);
    },
  };
}
