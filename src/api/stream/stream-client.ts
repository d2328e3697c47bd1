import type { LogPosition } from "../../store/port/log-reads.ts";
import type { BodyForm, Entry } from "./entries.ts";
import { writeFrame, writeHeartbeat, writeRetry, type FrameIds } from "./frames.ts";
import { createFits, type Fits, type StreamFilter } from "./stream-filter.ts";
import type { StreamOutput } from "./stream-output.ts";

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

export interface StreamClient {
  readonly request: StreamRequest;
  readonly fits: Fits;
  /** Equal for all clients that get the same frames. */
  readonly group: string;
  readonly output: StreamOutput;
  /** Everything up to here was sent, or does not match the client's filter. */
  position: LogPosition;
  /** False when the client is gone. */
  isOpen: boolean;
  begin(position: LogPosition): void;
  tellGap(reason: GapReason, completeSince: number | undefined): void;
  beat(): void;
  /** Whether the client has read none of the waiting output since the last call. */
  isStalled(): boolean;
  drop(reason: DropReason): void;
  end(reason: EndReason): void;
}

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

export function createStreamClient(request: StreamRequest, output: StreamOutput, ids: FrameIds): StreamClient {
  const { filter, body } = request;
  let takenAtLastBeat = -1;

  const client: StreamClient = {
    request,
    fits: createFits(filter),
    group: JSON.stringify([filter, body]),
    output,
    position: { eventSeq: 0, attemptSeq: 0 },
    isOpen: true,
    begin(position) {
      client.position = position;
      const id = ids.write(position);
      output.write(writeRetry(RETRY_MS) + writeFrame("ready", JSON.stringify({ position: id }), id));
    },
    tellGap(reason, completeSince) {
      const since = completeSince === undefined ? null : new Date(completeSince).toISOString();
      output.write(writeFrame("gap", JSON.stringify({ reason, complete_since: since })));
    },
    beat: () => output.write(writeHeartbeat(ids.write(client.position))),
    isStalled() {
      const isStill = output.waitingBytes > 0 && output.takenBytes <= takenAtLastBeat;
      takenAtLastBeat = output.takenBytes;
      return isStill;
    },
    drop(reason) {
      if (!client.isOpen) return;
      client.isOpen = false;
      output.end(writeFrame("dropped", JSON.stringify({ reason, detail: DROPPED_BECAUSE[reason] })), DROPPED_GRACE_MS);
    },
    end(reason) {
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
