import type { StreamFrames, StreamQuery } from "../generated/shapes.ts";
import { PosthornApiError } from "./api-error.ts";
import { parseJson } from "./json.ts";
import { readText } from "./lines.ts";
import type { RequestOptions } from "./options.ts";
import { withQuery } from "./path.ts";
import { delayBefore, isWorthRetrying } from "./retry.ts";
import { createServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";
import type { Transport } from "./transport.ts";
import { wait } from "./wait.ts";

/** Those that end a connection are not shown: the client comes back by itself. */
type ShownFrame = Exclude<keyof StreamFrames, "dropped" | "end">;

/** What happened, by its `event`. */
export type StreamFrame = {
  [Name in ShownFrame]: {
    event: Name;
    /** A place in the gateway's log, for `lastEventId`. */
    id: string;
    data: StreamFrames[Name];
  };
}[ShownFrame];

export interface StreamOptions extends Pick<RequestOptions, "signal" | "headers"> {
  /** The `id` of the last frame that was handled: what came since then is shown first. */
  lastEventId?: string | undefined;
  /** A connection is given up when nothing came for so long; the gateway sends something every 15 s: 45,000. */
  idleTimeoutMs?: number | undefined;
}

const PATH = "/api/v1/stream";
const DEFAULT_IDLE_TIMEOUT_MS = 45_000;

/** Goes on after lost connections and restarts of the gateway, without a gap and for as long as it is read. */
export async function* openStream(
  transport: Transport,
  query: Omit<StreamQuery, "last_event_id">,
  options: StreamOptions = {},
): AsyncGenerator<StreamFrame, void> {
  for await (const { event, id = "", data } of followFrames(transport, query, { isTransient, ...options })) {
    if (event !== "end" && event !== "dropped") yield { event, id, data: parseJson(data) } as StreamFrame;
  }
}

export interface FollowOptions extends StreamOptions {
  /** Called when an answer begins. */
  onConnected?: (() => void) | undefined;
  /** Called after each frame, and after each heartbeat: all up to this position was handed out or filtered out. */
  onPosition?: ((id: string) => void) | undefined;
  /** Called when a connection is lost, not after each try to get another. Undefined: the gateway has ended it. */
  onLost?: ((error: unknown) => void | Promise<void>) | undefined;
  /** Whether to try again after this. */
  isTransient: (error: unknown) => boolean;
}

/** All frames as they came: parsing may change numbers. */
export async function* followFrames(
  transport: Transport,
  query: object,
  options: FollowOptions,
): AsyncGenerator<ServerSentEvent, void> {
  const { signal, headers, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS, onPosition } = options;
  const { backoff } = transport;
  let { lastEventId } = options;
  let failures = 0;

  function recordPosition(id: string | undefined): void {
    if (id === undefined) return;
    lastEventId = id;
    onPosition?.(id);
  }

  for (;;) {
    const events = createServerSentEvents(lastEventId);
    let error: unknown;
    try {
      const request = {
        method: "GET",
        path: withQuery(PATH, query),
        headers: { accept: "text/event-stream", ...(lastEventId !== undefined && { "last-event-id": lastEventId }) },
        isRepeatable: true,
      };
      const opened = await transport.open(request, { signal, headers, timeoutMs: idleTimeoutMs, retries: 0 });
      options.onConnected?.();
      for await (const text of readText(opened)) {
        for (const frame of events.take(text)) {
          failures = 0;
          if (frame.event === "end" && (JSON.parse(frame.data) as StreamFrames["end"]).reason === "caught_up") return;
          yield frame;
          recordPosition(frame.id);
        }
        recordPosition(events.lastEventId);
      }
    } catch (thrown) {
      signal?.throwIfAborted();
      if (!options.isTransient(thrown)) throw thrown;
      error = thrown;
    }
    if (failures === 0) await options.onLost?.(error);
    const asked = failures === 0 && error === undefined ? events.retryMs : undefined;
    const delayMs = asked ?? delayBefore(failures, error, backoff) ?? backoff.maxDelayMs;
    failures++;
    await wait(Math.min(delayMs, backoff.maxDelayMs), signal);
  }
}

/** Whatever a runtime throws while the body is read differs from one to the other; it is a lost connection. */
function isTransient(error: unknown): boolean {
  return !(error instanceof PosthornApiError || error instanceof SyntaxError) || isWorthRetrying(error, true);
}
