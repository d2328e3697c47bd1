import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { sessionQuery } from "./queries.ts";
import { openStream, type StreamFrame, type StreamState } from "./stream.ts";

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
  const tell = useEffectEvent(onFrame);
  const place = useRef<{ key: string; lastId: string | undefined }>({ key: "", lastId: undefined });
  const key = JSON.stringify(query);

  useEffect(() => {
    if (isPaused) return undefined;
    const lastId = place.current.key === key ? place.current.lastId : undefined;
    const stream = openStream({
      query: JSON.parse(key) as typeof query,
      onFrame: (frame) => tell(frame),
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
