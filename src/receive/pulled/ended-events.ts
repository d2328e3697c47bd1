import type { Clock } from "../../domain/clock.ts";
import type { Lanes } from "../../store/port/lanes.ts";
import type { StoredEvent } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import { pause } from "./pause.ts";

/** When all deliveries of an event have ended: for what is kept elsewhere until then. */
export interface EndedEvents {
  /** The same lanes, with what is settled there told to those who wait. */
  watch(lanes: Lanes): Lanes;
  /** Undefined when a signal came first. What was deleted after its time had ended before. */
  whenEnded(event: AwaitedEvent, signals: readonly AbortSignal[]): Promise<Ending | undefined>;
}

/** `seq` of the event, unless it is gone. */
export interface Ending {
  how: "delivered" | "dead";
  seq: number | undefined;
}

export interface AwaitedEvent {
  id: string;
  tenantId: string;
  /** As many as it is to have, where that is known: a large fan-out makes them one transaction after the other. */
  deliveries: number;
}

export interface EndedEventsOptions {
  store: Pick<Store, "reads">;
  clock: Clock;
}

/** Deliveries also end by time or by hand, which nobody tells; and a store that cannot be read is asked again. */
const LOOK_EVERY_MS = 5000;

export function createEndedEvents({ store, clock }: EndedEventsOptions): EndedEvents {
  /** By the number of the event. */
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
    watch: (watched) => ({
      ...watched,
      settle(settlement, done) {
        watched.settle(settlement, (result) => {
          done(result);
          if (waiting.size > 0 && !("failed" in result) && settlement.verdict !== "retry") {
            noteEnded(settlement.eventSeq);
          }
        });
      },
    }),
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
            // Once more: what ended just before was told to nobody.
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

function isEnded({ open, deliveryCount }: StoredEvent, expected: number): boolean {
  return open === 0 && deliveryCount >= expected;
}
