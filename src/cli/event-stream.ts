import { PosthornApiError, PosthornConnectionError } from "../../sdk/src/client/api-error.ts";
import type { ServerSentEvent } from "../../sdk/src/client/server-sent-events.ts";
import { type FollowOptions, followFrames } from "../../sdk/src/client/stream.ts";
import type { ApiClient, Query } from "./api-client.ts";
import { note } from "./output.ts";

interface Followed extends Pick<FollowOptions, "onPosition"> {
  query: Query;
  after?: string | undefined;
  signal: AbortSignal;
  opening: string;
}

/**
 * Follows the live stream of a gateway: `event`, `attempt`, `mode`, `alert` and `gap`. After a lost connection it
 * continues where it was. Ends when the gateway has sent everything (`follow=false`) or the signal aborts. The first
 * try must succeed.
 */
export async function* followStream(client: ApiClient, followed: Followed): AsyncGenerator<ServerSentEvent, void> {
  const { query, after, signal, opening, onPosition } = followed;
  let isFirst = true;
  let ending: string | undefined;
  const frames = followFrames(client.transport, query, {
    signal,
    lastEventId: after,
    onPosition,
    onConnected() {
      note(isFirst ? opening : "connected again");
      isFirst = false;
    },
    async onLost(error) {
      note(
        `${error === undefined ? (ending ?? "The connection ended.") : await describeLoss(client, error)} Trying again …`,
      );
      ending = undefined;
    },
    isTransient: (error) => !isFirst && isTransient(error),
  });
  try {
    for await (const frame of frames) {
      if (frame.event === "dropped" || frame.event === "end") ending = describeEnd(frame.data);
      else if (frame.event !== "ready") yield frame;
    }
  } catch (error) {
    if (!signal.aborted) throw await client.explain(error);
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof PosthornApiError) return error.status === 429 || error.status >= 500;
  return !(error instanceof SyntaxError);
}

async function describeLoss(client: ApiClient, error: unknown): Promise<string> {
  const isOfRequest = error instanceof PosthornApiError || error instanceof PosthornConnectionError;
  const { name, message } = (isOfRequest ? await client.explain(error) : error) as Error;
  return isOfRequest ? message : `The connection was lost (${name === "AbortError" ? "no heartbeat" : message}).`;
}

function describeEnd(data: string): string {
  const { detail, reason } = JSON.parse(data) as { detail?: unknown; reason?: unknown };
  return typeof detail === "string" ? detail : `The gateway ended the stream (${String(reason)}).`;
}
