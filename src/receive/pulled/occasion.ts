import { setMaxListeners } from "node:events";

/** Something that comes once. Each message waits for two of them: with signals of the platform that took a third of its time. */
export interface Occasion {
  readonly hasCome: boolean;
  come(): void;
  /** Calls back once when it comes, at once when it has come. Returns what ends that. */
  listen(notice: () => void): () => void;
  /** The same, for whoever needs a signal. */
  readonly signal: AbortSignal;
}

export function createOccasion(): Occasion {
  const notices = new Set<() => void>();
  let controller: AbortController | undefined;
  let hasCome = false;
  return {
    get hasCome() {
      return hasCome;
    },
    come() {
      if (hasCome) return;
      hasCome = true;
      for (const notice of notices) notice();
      notices.clear();
      controller?.abort();
    },
    listen(notice) {
      if (hasCome) notice();
      else notices.add(notice);
      return () => void notices.delete(notice);
    },
    get signal() {
      if (controller === undefined) {
        controller = new AbortController();
        // Each event of a message listens to it.
        setMaxListeners(0, controller.signal);
        if (hasCome) controller.abort();
      }
      return controller.signal;
    },
  };
}
