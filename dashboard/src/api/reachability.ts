import { useSyncExternalStore } from "react";

/** How often a gateway that is away is asked for. */
export const TRY_AGAIN_MS = 1_000;

/** Whether the last request reached the gateway. */
let isReachable = true;
const watchers = new Set<() => void>();

export function noteReachable(now: boolean): void {
  if (now === isReachable) return;
  isReachable = now;
  for (const tell of watchers) tell();
}

export function useReachable(): boolean {
  return useSyncExternalStore(watch, () => isReachable);
}

function watch(tell: () => void): () => void {
  watchers.add(tell);
  return () => watchers.delete(tell);
}
