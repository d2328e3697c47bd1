import type { StreamFrames, StreamQuery } from "../generated/shapes.ts";
import { PosthornApiError } from "./api-error.ts";
import { parseJson } from "./json.ts";
import { readText } from "./lines.ts";
import type { RequestOptions } from "./options.ts";
import { withQuery } from "./path.ts";
import { delayBefore, isWorthRetrying } from "./retry.ts";
import { createServerSentEvents } from "./server-sent-events.ts";
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
  const { signal, headers, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = options;
  let { lastEventId } = options;
  let failures = 0;
  let error: unknown;

  for (;;) {
    const events = createServerSentEvents(lastEventId);
    error = undefined;
    try {
      const request = {
        method: "GET",
        path: withQuery(PATH, query),
        headers: { accept: "text/event-stream", ...(lastEventId !== undefined && { "last-event-id": lastEventId }) },
        isRepeatable: true,
      };
      const opened = await transport.open(request, { signal, headers, timeoutMs: idleTimeoutMs, retries: 0 });
      for await (const text of readText(opened)) {
        for (const { event, data, id = "" } of events.take(text)) {
          failures = 0;
          if (event === "end" && (parseJson(data) as StreamFrames["end"]).reason === "caught_up") return;
          if (event === "end" || event === "dropped") continue;
          yield { event, id, data: parseJson(data) } as StreamFrame;
        }
        lastEventId = events.lastEventId;
      }
    } catch (thrown) {
      signal?.throwIfAborted();
      if (!isLostConnection(thrown) && !isWorthRetrying(thrown, true)) throw thrown;
      error = thrown;
    } finally {
      lastEventId = events.lastEventId;
    }
    await wait(delayOf(failures++, error, events.retryMs), signal);
  }

  function delayOf(failure: number, cause: unknown, retryMs: number | undefined): number {
    const { backoff } = transport;
    const asked = failure === 0 && cause === undefined ? retryMs : undefined;
    return Math.min(asked ?? delayBefore(failure, cause, backoff) ?? backoff.maxDelayMs, backoff.maxDelayMs);
  }
}

/** Whatever a runtime throws while the body is read: it differs from one to the other. */
function isLostConnection(error: unknown): boolean {
  return !(error instanceof PosthornApiError || error instanceof SyntaxError);
}
