import type { StoredEvent } from "../../store/port/reads.ts";
import type { HandlingOptions } from "./handle-message.ts";
import type { Hold } from "./hold.ts";
import type { OpenedMessage } from "../../sources/opened-message.ts";
import { GIVE_BACK, type Settlement } from "./settlement.ts";

/** The events of a message, which are on disk. */
export interface KnownEvents {
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
  options: HandlingOptions,
): Promise<Settlement> {
  const { source, store, endedEvents, stopping, onTrouble } = options;
  const tenantId = facts.adopted?.tenantId ?? source.tenantId;
  if (isKnown && (facts.isHeld || facts.generation > 1)) {
    try {
      for (const id of eventIds) await reopenIfAsked(await store.reads.findEvent(id, tenantId), facts, options);
    } catch (error) {
      onTrouble(source, error, "a message could not be compared with its event and is returned to its queue");
      return GIVE_BACK;
    }
  }
  // A message without an id cannot be recognized later: nothing would show that it was already stored.
  const [eventId] = eventIds;
  if (!facts.isHeld) return { kind: "acknowledge", eventId, isKnown };
  const endings = await Promise.all(
    eventIds.map((id) => endedEvents.whenEnded({ id, tenantId, deliveries }, [hold.over.signal, stopping])),
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
  { generation, isHeld }: OpenedMessage["facts"],
  { store, reopen }: HandlingOptions,
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
