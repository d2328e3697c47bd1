import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { PosthornApiError } from "../../../sdk/src/client/api-error.ts";
import { followFrames } from "../../../sdk/src/client/stream.ts";
import { ApiError, explain, transport } from "./client.ts";
import { recordReachable } from "./reachability.ts";
import { sessionQuery } from "./queries.ts";

export interface LiveStream {
  state: StreamState | "paused";
  isPaused: boolean;
  setPaused: (isPaused: boolean) => void;
}

/** Follows the gateway while the page is shown. What came during a pause comes when it ends. */
export function useStream(
  query: Readonly<Record<string, string | undefined>>,
  onFrame: (frame: StreamFrame) => void,
): LiveStream {
  const client = useQueryClient();
  const [isPaused, setPaused] = useState(false);
  const [state, setState] = useState<StreamState>("connecting");
  const notify = useEffectEvent(onFrame);
  const place = useRef<{ key: string; lastId: string | undefined }>({ key: "", lastId: undefined });
  const key = JSON.stringify(query);

  useEffect(() => {
    if (isPaused) return undefined;
    const lastId = place.current.key === key ? place.current.lastId : undefined;
    const stream = openStream({
      query: JSON.parse(key) as typeof query,
      onFrame: (frame) => notify(frame),
      onState: setState,
      onSignedOut: () => void client.resetQueries({ queryKey: sessionQuery.queryKey }),
      lastId,
    });
    return () => {
      place.current = { key, lastId: stream.lastId };
      stream.close();
    };
  }, [key, isPaused, client]);

  return { state: isPaused ? "paused" : state, isPaused, setPaused };
}

type StreamState = "connecting" | "live" | "reconnecting" | "ended";

export interface StreamFrame {
  name: string;
  data: unknown;
}

interface StreamOptions {
  query: Readonly<Record<string, string | undefined>>;
  onFrame: (frame: StreamFrame) => void;
  onState: (state: StreamState) => void;
  /** Nobody is signed in any more. */
  onSignedOut: () => void;
  /** The id of the last frame, by which a later stream goes on where this one was. */
  lastId?: string | undefined;
}

/**
 * Server-sent events by the SDK's client: unlike `EventSource` it can send a partner's token and go on after a pause.
 * Comes back by itself, with everything that it missed. Ends when nobody is signed in any more.
 */
function openStream({ query, onFrame, onState, onSignedOut, lastId: given }: StreamOptions) {
  const abort = new AbortController();
  let lastId = given;
  let isLive = false;

  const frames = followFrames(transport, query, {
    signal: abort.signal,
    lastEventId: given,
    onConnected: () => recordReachable(true),
    // Before the first id it is not known where to go on after a pause.
    onPosition(id) {
      lastId = id;
      if (!isLive) onState("live");
      isLive = true;
    },
    onLost() {
      isLive = false;
      onState("reconnecting");
    },
    isTransient(error) {
      const explained = explain(error);
      return !(explained instanceof ApiError && [401, 403].includes(explained.status));
    },
  });

  async function run(): Promise<void> {
    onState("connecting");
    try {
      for await (const { event, data } of frames) onFrame({ name: event, data: JSON.parse(data) as unknown });
    } catch (error) {
      if (abort.signal.aborted) return;
      if (error instanceof PosthornApiError && error.status === 401) onSignedOut();
      onState("ended");
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
