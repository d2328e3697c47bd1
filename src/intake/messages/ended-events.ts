import type { Clock } from "../../model/clock.ts";
import type { Settlement as DeliverySettlement } from "../../store/port/lanes.ts";
import type { StoredEvent } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import type { Handling, Settlement } from "./handle-message.ts";
import { pause, type Hold } from "./hold.ts";
import type { MessageFacts, OpenedMessage } from "./open-message.ts";

export type EndedEvents = ReturnType<typeof createEndedEvents>;

/** The `seq` of the event, unless it was deleted. */
interface Ending {
  how: "delivered" | "dead";
  seq: number | undefined;
}

interface AwaitedEvent {
  id: string;
  tenantId: string;
  /** The expected number of deliveries, if known: a large fan-out writes them in several transactions. */
  deliveries: number;
}

/** Polls as well, because deliveries that expire or are cancelled are not reported, and to retry failed reads. */
const LOOK_EVERY_MS = 5000;

/** Waits until all deliveries of an event have ended, for messages that stay in their queue until then. */
export function createEndedEvents({ store, clock }: { store: Pick<Store, "reads">; clock: Clock }) {
  /** By the `seq` of the event. */
  const waiting = new Map<number, Set<() => void>>();

  function listen(eventSeq: number, notice: () => void): () => void {
    const others = waiting.get(eventSeq) ?? new Set();
    waiting.set(eventSeq, others.add(notice));
    return () => {
      others.delete(notice);
      if (others.size === 0) waiting.delete(eventSeq);
    };
  }

  return {
    /** The settlement of a delivery is committed. */
    recordSettled(eventSeq: number, verdict: DeliverySettlement["verdict"]): void {
      if (waiting.size === 0 || verdict === "retry") return;
      for (const notice of waiting.get(eventSeq) ?? []) notice();
    },
    /** Undefined when a signal came first. The deliveries of an event that retention deleted have ended. */
    async whenEnded(
      { id, tenantId, deliveries }: AwaitedEvent,
      signals: readonly AbortSignal[],
    ): Promise<Ending | undefined> {
      let notice = new AbortController();
      let unlisten: (() => void) | undefined;
      try {
        for (let isLast = false; ; isLast = signals.some(({ aborted }) => aborted)) {
          notice = new AbortController();
          const event = await store.reads.findEvent(id, tenantId).catch(() => "unreadable" as const);
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

/** Also of one that could not be renewed and may be another's by now: its taker must not count it as held any more. */
export const GIVE_BACK: Settlement = { kind: "retry" };

/** The events of a message, which are on disk. */
interface KnownEvents {
  eventIds: readonly string[];
  /** The number of deliveries to wait for, as far as it is known; see `AwaitedEvent`. */
  deliveries: number;
  /** The events are on disk from an earlier delivery of the message. */
  isKnown: boolean;
}

/**
 * Settles a message whose event is on disk, from now or from an earlier delivery. A message that comes again follows
 * its event: it waits while deliveries are open, and ended deliveries are not repeated unless somebody asked for it.
 */
export async function settleKnownMessage(
  { eventIds, deliveries, isKnown }: KnownEvents,
  { facts }: OpenedMessage,
  hold: Hold,
  handling: Handling,
): Promise<Settlement> {
  const { source, store, endedEvents, stopping, onTrouble } = handling;
  const tenantId = facts.adopted?.tenantId ?? source.tenantId;
  if (isKnown && (facts.isHeld || facts.generation > 1)) {
    try {
      for (const id of eventIds) await reopenIfAsked(await store.reads.findEvent(id, tenantId), facts, handling);
    } catch (error) {
      onTrouble(source, error, "a message could not be compared with its event and is returned to its queue");
      return GIVE_BACK;
    }
  }
  // A message without an id cannot be recognized later: nothing would show that it was already stored.
  const [eventId] = eventIds;
  if (!facts.isHeld) return { kind: "acknowledge", eventId, isKnown };
  const endings = await Promise.all(
    eventIds.map((id) => endedEvents.whenEnded({ id, tenantId, deliveries }, [hold.over.abortSignal, stopping])),
  );
  if (endings.includes(undefined)) return GIVE_BACK;
  const seqs = endings.flatMap((ending) => (ending?.seq === undefined ? [] : [ending.seq]));
  const dead = eventIds.filter((_, index) => endings[index]?.how === "dead");
  if (dead.length === 0) return { kind: "acknowledge", seqs, eventId, isKnown };
  const description = `Deliveries of ${dead.join(", ")} are dead.`;
  return { kind: "park", reason: { code: "dead", description }, seqs, eventId };
}

/** A replay by its sender, or a parked message that was requeued. */
async function reopenIfAsked(
  event: StoredEvent | undefined,
  { generation, isHeld }: MessageFacts,
  { store, reopen }: Handling,
): Promise<void> {
  if (event === undefined) return;
  const knownGeneration = readGeneration(event.details);
  const isReplay = generation > knownGeneration;
  const isPutBack = isHeld && event.open === 0 && (await store.reads.findMessage(event.seq))?.state === "parked";
  if (isReplay || isPutBack) await reopen(event, { generation, knownGeneration, isHeld });
}

function readGeneration(details: string | undefined): number {
  if (details === undefined) return 1;
  const { generation } = JSON.parse(details) as { generation?: unknown };
  return typeof generation === "number" ? generation : 1;
}
