import type { Clock } from "../../model/clock.ts";
import type { Settlement } from "../../store/port/lanes.ts";
import type { StoredEvent } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import { pause } from "./pause.ts";

/** Waits until all deliveries of an event have ended, for messages that stay in their queue until then. */
export interface EndedEvents {
  /** The settlement of a delivery is committed. */
  noteSettled(eventSeq: number, verdict: Settlement["verdict"]): void;
  /** Undefined when a signal came first. The deliveries of an event that retention deleted have ended. */
  whenEnded(event: AwaitedEvent, signals: readonly AbortSignal[]): Promise<Ending | undefined>;
}

/** The `seq` of the event, unless it was deleted. */
export interface Ending {
  how: "delivered" | "dead";
  seq: number | undefined;
}

export interface AwaitedEvent {
  id: string;
  tenantId: string;
  /** The expected number of deliveries, if known: a large fan-out writes them in several transactions. */
  deliveries: number;
}

export interface EndedEventsOptions {
  store: Pick<Store, "reads">;
  clock: Clock;
}

/** Polls as well, because deliveries that expire or are cancelled are not reported, and to retry failed reads. */
const LOOK_EVERY_MS = 5000;

export function createEndedEvents({ store, clock }: EndedEventsOptions): EndedEvents {
  /** By the `seq` of the event. */
  const waiting = new Map<number, Set<() => void>>();

  function noteEnded(eventSeq: number): void {
    for (const notice of waiting.get(eventSeq) ?? []) notice();
  }

  function listen(eventSeq: number, notice: () => void): () => void {
    const others = waiting.get(eventSeq) ?? new Set();
    waiting.set(eventSeq, others.add(notice));
    return () => {
      others.delete(notice);
      if (others.size === 0) waiting.delete(eventSeq);
    };
  }

  function find(id: string, tenantId: string): Promise<StoredEvent | undefined | "unreadable"> {
    return store.reads.findEvent(id, tenantId).catch(() => "unreadable" as const);
  }

  return {
    noteSettled(eventSeq, verdict) {
      if (waiting.size > 0 && verdict !== "retry") noteEnded(eventSeq);
    },
    async whenEnded({ id, tenantId, deliveries }, signals) {
      let notice = new AbortController();
      let unlisten: (() => void) | undefined;
      try {
        for (let isLast = false; ; isLast = signals.some(({ aborted }) => aborted)) {
          notice = new AbortController();
          const event = await find(id, tenantId);
          if (event === undefined) return { how: "delivered", seq: undefined };
          if (event !== "unreadable" && isEnded(event, deliveries)) {
            return { how: event.dead > 0 ? "dead" : "delivered", seq: event.seq };
          }
          if (isLast) return undefined;
          if (event !== "unreadable" && unlisten === undefined) {
            unlisten = listen(event.seq, () => notice.abort());
            // Checked once more: deliveries that ended just before were not reported.
            continue;
          }
          await pause(clock, LOOK_EVERY_MS, notice.signal, ...signals);
        }
      } finally {
        unlisten?.();
      }
    },
  };
}

function isEnded({ open, operators, deliveryCount }: StoredEvent, expected: number): boolean {
  return open === 0 && operators.open === 0 && deliveryCount >= expected;
}
