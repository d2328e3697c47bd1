import { ApiError, request } from "./client.ts";
import { createFrameParser, type StreamFrame } from "./frames.ts";

export type StreamState = "connecting" | "live" | "reconnecting" | "ended";

export interface StreamOptions {
  query: Readonly<Record<string, string | undefined>>;
  onFrame: (frame: StreamFrame) => void;
  onState: (state: StreamState) => void;
  /** Nobody is signed in any more. */
  onSignedOut: () => void;
  /** The id of the last frame, by which a later stream goes on where this one was. */
  lastId?: string | undefined;
}

export interface OpenStream {
  readonly lastId: string | undefined;
  close(): void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * Server-sent events, read with `fetch`: unlike `EventSource` it can send a partner's token and go on after a pause.
 * Comes back by itself, with everything that it missed. Ends when nobody is
 * signed in any more.
 */
export function openStream(options: StreamOptions): OpenStream {
  const { query, onFrame, onState, onSignedOut, lastId: given } = options;
  const abort = new AbortController();
  let lastId = given;
  let waitMs = FIRST_WAIT_MS;

  async function read(): Promise<void> {
    const headers = lastId === undefined ? undefined : { "last-event-id": lastId };
    const response = await request("GET", "/api/v1/stream", { query, headers, signal: abort.signal });
    if (response.body === null) return;
    let isLive = false;
    const parse = createFrameParser((id, frame) => {
      lastId = id ?? lastId;
      // Before the first id it is not known where to go on after a pause.
      if (!isLive && id !== undefined) {
        isLive = true;
        waitMs = FIRST_WAIT_MS;
        onState("live");
      }
      if (frame !== undefined) onFrame(frame);
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) parse(part.value);
  }

  async function run(): Promise<void> {
    onState("connecting");
    while (!abort.signal.aborted) {
      try {
        await read();
      } catch (error) {
        if (abort.signal.aborted) return;
        if (error instanceof ApiError && error.isSignedOut) onSignedOut();
        if (error instanceof ApiError && [401, 403].includes(error.status)) return onState("ended");
      }
      if (abort.signal.aborted) return;
      onState("reconnecting");
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
    }
  }

  void run();
  return {
    get lastId() {
      return lastId;
    },
    close: () => abort.abort(),
  };
}
