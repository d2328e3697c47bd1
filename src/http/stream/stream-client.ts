import type { LogPosition } from "../../store/port/log-reads.ts";
import type { BodyForm, Entry } from "./entries.ts";
import { writeFrame, writeHeartbeat, writeRetry, type FrameIds } from "./frames.ts";
import { createFits, type Fits, type StreamFilter } from "./stream-filter.ts";
import type { StreamOutput } from "./stream-output.ts";

/** Why a client is sent away before it left by itself. */
export type DropReason = "too_slow" | "stalled" | "key_revoked" | "store_fault";
export type EndReason = "shutting_down" | "caught_up";
export type GapReason = "deleted" | "unknown_position";

export interface StreamRequest {
  filter: StreamFilter;
  body: BodyForm;
  /** False: it ends where the logs end when it begins. */
  isFollowing: boolean;
  /** What it had last; undefined: it begins with what comes next. */
  after: { position: LogPosition } | { isForeign: true } | undefined;
  /** Whether its key may still read. */
  isAllowed: () => boolean;
}

export interface StreamClient {
  readonly request: StreamRequest;
  readonly fits: Fits;
  /** The same for all who get the same frames. */
  readonly group: string;
  readonly output: StreamOutput;
  /** Everything up to here was sent, or was not meant for it. */
  position: LogPosition;
  /** False when it is gone. */
  isOpen: boolean;
  begin(position: LogPosition): void;
  tellGap(reason: GapReason, completeSince: number | undefined): void;
  beat(): void;
  /** Whether it took nothing of what waits since it was asked the last time. */
  isStalled(): boolean;
  drop(reason: DropReason): void;
  end(reason: EndReason): void;
}

const RETRY_MS = 2000;
/** Long enough for a client that reads to see why it ends; it costs nobody anything but its own buffer. */
const DROPPED_GRACE_MS = 15_000;
const END_GRACE_MS = 250;

const DROPPED_BECAUSE: Readonly<Record<DropReason, string>> = {
  too_slow: "It did not read as fast as frames came. Come again with the last id: nothing is lost.",
  stalled: "It took nothing of what was sent for a while. Come again with the last id: nothing is lost.",
  key_revoked: "Its key was revoked, has expired or may not read any more.",
  store_fault: "The gateway could not read its store. Come again with the last id: nothing is lost.",
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

/** The frames of a page that are meant for a client, one behind the other. */
export function joinFrames(entries: readonly Entry[], { fits, request }: StreamClient): Buffer {
  let frames = "";
  for (const entry of entries) if (fits(entry)) frames += entry.frame(request.body);
  return Buffer.from(frames);
}
