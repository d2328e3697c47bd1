import type { ApiClient, Query } from "./api-client.ts";
import { TransientFailure } from "./failure.ts";

/** Follows the live stream of a gateway. After a lost connection it reconnects and continues where it was. */

export interface StreamFrame {
  /** `event`, `attempt`, `mode`, `alert` or `gap`. */
  name: string;
  /** The position to continue from after this frame. */
  id: string | undefined;
  /** The unparsed JSON. */
  data: string;
}

export interface FollowOptions {
  query: Query;
  /** The id of the frame to continue after. */
  after: string | undefined;
  signal: AbortSignal;
  /** Everything up to this position was handed out or filtered out. Called in addition to the ids of frames. */
  onPosition?: (id: string) => void;
  /** Called when connected; `isFirst` is false after a reconnection. */
  onConnected?: (isFirst: boolean) => void;
  /** Called once when the connection is lost; the retries that follow are not reported. */
  onLost?: (reason: string) => void;
}

/** Heartbeats come every 15 s: after this silence the connection counts as dead. */
const SILENCE_MS = 60_000;
const FIRST_RETRY_MS = 2000;
const MAX_RETRY_MS = 30_000;

/** Ends when the gateway has sent everything (`follow=false`) or the signal aborts. The first try must succeed. */
export async function* followStream(client: ApiClient, options: FollowOptions): AsyncGenerator<StreamFrame, void> {
  const { query, signal } = options;
  const state = { id: options.after, retryMs: FIRST_RETRY_MS };
  let failures = 0;
  for (let isFirst = true; !signal.aborted;) {
    let reason = "The connection ended.";
    const silence = createSilence(signal);
    try {
      const headers = { accept: "text/event-stream", ...(state.id !== undefined && { "last-event-id": state.id }) };
      const body = await client.openStream("/api/v1/stream", { query, headers, signal: silence.signal });
      options.onConnected?.(isFirst);
      isFirst = false;
      failures = 0;
      for await (const frame of readFrames(body, state, silence.noteSound, options.onPosition)) {
        if (frame.name === "end" && reasonOf(frame) === "caught_up") return;
        if (frame.name === "dropped" || frame.name === "end") reason = describeEnd(frame);
        else if (frame.name !== "ready") yield frame;
        if (frame.id !== undefined) options.onPosition?.(frame.id);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst || !(error instanceof TransientFailure)) throw error;
      reason = error.message;
    } finally {
      silence.end();
    }
    if (signal.aborted) return;
    if (failures === 0) options.onLost?.(reason);
    await pause(Math.min(MAX_RETRY_MS, state.retryMs * 2 ** failures++), signal);
  }
}

/** Yields frame after frame until the connection ends. `state` survives a reconnection. */
async function* readFrames(
  body: AsyncIterable<Uint8Array>,
  state: { id: string | undefined; retryMs: number },
  onSound: () => void,
  onPosition: FollowOptions["onPosition"],
): AsyncGenerator<StreamFrame, void> {
  const decoder = new TextDecoder();
  let rest = "";
  let name = "";
  let data: string[] = [];
  try {
    for await (const chunk of body) {
      onSound();
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*?))?\r?$/.exec(line) ?? [];
        if (field === "id") state.id = value;
        else if (field === "event") name = value;
        else if (field === "data") data.push(value);
        else if (field === "retry" && /^\d{1,6}$/.test(value)) state.retryMs = Number(value);
        if (field !== "" || line.startsWith(":")) continue;
        if (data.length > 0) yield { name, id: state.id, data: data.join("\n") };
        // A heartbeat: the frames before this position were filtered out.
        else if (state.id !== undefined) onPosition?.(state.id);
        [name, data] = ["", []];
      }
    }
  } catch (error) {
    throw new TransientFailure(`The connection was lost (${(error as Error).message}).`);
  }
}

function reasonOf({ data }: StreamFrame): string {
  return String((JSON.parse(data) as { reason?: unknown }).reason);
}

function describeEnd(frame: StreamFrame): string {
  const { detail } = JSON.parse(frame.data) as { detail?: unknown };
  return typeof detail === "string" ? detail : `The gateway ended the stream (${reasonOf(frame)}).`;
}

function createSilence(outer: AbortSignal) {
  const ended = new AbortController();
  const cut = () => ended.abort(new Error("no heartbeat"));
  let timer = setTimeout(cut, SILENCE_MS);
  return {
    signal: AbortSignal.any([outer, ended.signal]),
    noteSound() {
      clearTimeout(timer);
      timer = setTimeout(cut, SILENCE_MS);
    },
    end: () => clearTimeout(timer),
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
