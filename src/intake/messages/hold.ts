import { setMaxListeners } from "node:events";
import type { Clock, Timer } from "../../model/clock.ts";
import type { TakenMessage } from "../../queues/broker.ts";

export type Signal = ReturnType<typeof createSignal>;

/** Something that happens once. Each message waits for two; AbortSignals took a third of the time per message. */
export function createSignal() {
  const notices = new Set<() => void>();
  let controller: AbortController | undefined;
  let isSet = false;
  return {
    get isSet(): boolean {
      return isSet;
    },
    set(): void {
      if (isSet) return;
      isSet = true;
      for (const notice of notices) notice();
      notices.clear();
      controller?.abort();
    },
    /** Calls back once when it is set, at once if it already is. Returns a function that ends this. */
    listen(notice: () => void): () => void {
      if (isSet) notice();
      else notices.add(notice);
      return () => void notices.delete(notice);
    },
    /** The same as an AbortSignal. */
    get abortSignal(): AbortSignal {
      if (controller === undefined) {
        controller = new AbortController();
        // Each event of a message adds a listener.
        setMaxListeners(0, controller.signal);
        if (isSet) controller.abort();
      }
      return controller.signal;
    },
  };
}

/** A message between being received and being settled. Its lock is renewed as long as the broker allows it. */
export interface Hold {
  /** Set when the message cannot be held any longer; another consumer may already have it. */
  readonly over: Signal;
  end(): void;
}

/** The share of the broker's lock time that is used; the rest is a margin for the network. */
const RENEW_AFTER = 0.5;
const GIVE_BACK_AFTER = 0.9;

/** `holdMs`: the broker's lock time; `maxMs`: for brokers that cannot renew a lock. */
export function holdMessage({ renew }: TakenMessage, holdMs: number, maxMs: number, clock: Clock): Hold {
  const over = createSignal();
  let timer: Timer | undefined;
  let isEnded = false;

  function renewLater(renewLock: NonNullable<TakenMessage["renew"]>): void {
    if (isEnded) return;
    timer = clock.setTimer(clock.now() + holdMs * RENEW_AFTER, () => {
      renewLock().then(
        (renewed) => (renewed === "lost" ? over.set() : renewLater(renewLock)),
        () => over.set(),
      );
    });
  }

  if (renew === undefined) {
    timer = clock.setTimer(clock.now() + Math.min(maxMs, holdMs * GIVE_BACK_AFTER), () => over.set());
  } else if (Number.isFinite(holdMs)) {
    renewLater(renew);
  }
  return {
    over,
    end() {
      isEnded = true;
      timer?.cancel();
    },
  };
}

/** Waits until the time has passed or a signal ends it. */
export function pause(clock: Clock, ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      for (const signal of signals) signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.setTimer(clock.now() + ms, end);
    for (const signal of signals) signal.addEventListener("abort", end);
    if (signals.some(({ aborted }) => aborted)) end();
  });
}

const FIRST_MS = 1000;
const MAX_MS = 60_000;

/** How long to wait after so many failures in a row. */
export function backOffMs(failures: number): number {
  return Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1));
}
