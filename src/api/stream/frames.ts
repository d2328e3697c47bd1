import type { LogPosition } from "../../store/port/log-reads.ts";

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

/** The ids of frames: positions in the logs of one store. */
export interface FrameIds {
  write(position: LogPosition): string;
  /** Undefined when it is not the id of a frame. */
  parse(id: string): { position: LogPosition } | { isForeign: true } | undefined;
}

const FRAME_ID = /^([0-9a-f]{8})\.(\d{1,15})\.(\d{1,15})$/;

export function createFrameIds(storeId: string): FrameIds {
  const store = storeId.replace(/^[a-z]+_/, "").slice(0, 8);
  return {
    write: ({ eventSeq, attemptSeq }) => `${store}.${eventSeq}.${attemptSeq}`,
    parse(id) {
      const [, of, eventSeq, attemptSeq] = FRAME_ID.exec(id) ?? [];
      if (of === undefined) return undefined;
      return of === store
        ? { position: { eventSeq: Number(eventSeq), attemptSeq: Number(attemptSeq) } }
        : { isForeign: true };
    },
  };
}
