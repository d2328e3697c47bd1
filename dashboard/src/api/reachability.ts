import { useSyncExternalStore } from "react";

/** How often a gateway that is away is asked for. */
export const TRY_AGAIN_MS = 1_000;

/** Whether the last request reached the gateway. */
let isReachable = true;
const watchers = new Set<() => void>();

export function recordReachable(now: boolean): void {
  if (now === isReachable) return;
  isReachable = now;
  for (const notify of watchers) notify();
}

export function useReachable(): boolean {
  return useSyncExternalStore(watch, () => isReachable);
}

function watch(notify: () => void): () => void {
  watchers.add(notify);
  return () => watchers.delete(notify);
}
