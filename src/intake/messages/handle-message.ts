import { BrokerFault } from "../../queues/broker-fault.ts";
import type { Settled, Taker, TakenMessage } from "../../queues/broker.ts";
import type { ClaimedBody } from "../../queues/claim-check.ts";
import type { Clock } from "../../model/clock.ts";
import type { Source } from "../../model/source.ts";
import type { PullSettings } from "../../sources/pull-options.ts";
import type { PulledSourceKind } from "../../sources/source-kind.ts";
import type { ReopeningMessage } from "../../store/port/event-log.ts";
import type { StoredEvent } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import type { BodyChecker } from "../../sandbox/text/body-check.ts";
import type { ProcessRequest } from "../accept-events.ts";
import type { WebhookLog } from "../webhook-log.ts";
import { acceptMessage, admitMessage, findClaimed } from "./accept-message.ts";
import type { EndedEvents } from "./ended-events.ts";
import { backOffMs, holdMessage, pause, type Hold, type Signal } from "./hold.ts";
import type { ParkReason } from "./open-message.ts";

/** What messages are handled with, for all sources. */
export interface HandlingOptions {
  processRequest: ProcessRequest;
  log: Pick<WebhookLog, "rejected" | "reject">;
  endedEvents: EndedEvents;
  store: Pick<Store, "reads" | "events" | "info">;
  /** Opens the deliveries of an event again; false when its message does not ask for it. */
  reopen: (event: StoredEvent, message: ReopeningMessage) => Promise<boolean>;
  bodies: Pick<BodyChecker, "check">;
  /** Of JSON. */
  maxDepth: number;
  clock: Clock;
  onTrouble: (source: Source, error: unknown, what: string) => void;
  /** For the access log; undefined when nobody watches. */
  onSettled?: ((message: SettledMessage) => void) | undefined;
}

/** The same for the messages of one source. */
export interface Handling extends HandlingOptions {
  source: Source;
  kind: PulledSourceKind;
  settings: PullSettings;
  taker: Taker;
  /** Messages that are parked later: they may take half of the source's places, and keep no other message waiting. */
  parkedLater: Set<TakenMessage>;
  /** Ends all waiting. */
  stopping: AbortSignal;
  /** Ends even waiting for data that is being written to disk. */
  cut: Signal;
  /** Called when a message waits because of our own problem. The returned function is called when that ends. */
  onDelay: (error: unknown) => () => void;
  /** Called with the error when a message could not be parked, and with undefined when one was. */
  onParked: (error: unknown) => void;
  /** Called once for a setup that may not work as its owner expects. */
  warnOnce: (what: string) => void;
}

/** `outcome`: `accepted`, `duplicate`, `ignored`, `returned` to its queue, or the reason for which it is parked. */
interface SettledMessage {
  source: string;
  outcome: string;
  eventId: string | undefined;
  durationMs: number;
}

/** Messages are accepted in the order in which they were received, however long it takes to read their bodies. */
export interface Turn {
  /** Resolves when all messages before this one were accepted, or have to wait. */
  readonly before: Promise<void>;
  /** The next message may be accepted. */
  pass(): void;
}

/**
 * How a message is settled. `seqs`: its events, if the settlement is stored. `eventId`: the first of its events, if it
 * has any; `isKnown` if they were on disk before.
 */
export type Settlement =
  | { kind: "acknowledge"; seqs?: readonly number[]; eventId?: string | undefined; isKnown?: boolean }
  | { kind: "retry" }
  | { kind: "park"; reason: ParkReason; afterMs?: number; seqs?: readonly number[]; eventId?: string | undefined };

/** The share of the time for which a message can be held; the rest is a margin for parking it. */
const PARK_WITHIN = 0.9;

/** Handles a message until it is settled, exactly once and whatever happens: an unsettled message comes again. */
export async function handleMessage(message: TakenMessage, turn: Turn, handling: Handling): Promise<void> {
  const { taker, clock, settings } = handling;
  const hold = holdMessage(message, taker.limits.holdMs, settings.holdMaxMs, clock);
  try {
    await settle(message, turn, hold, handling);
  } finally {
    hold.end();
  }
}

async function settle(message: TakenMessage, turn: Turn, hold: Hold, handling: Handling): Promise<void> {
  const { source, settings, store, clock, parkedLater, stopping, onTrouble, onSettled } = handling;
  const startedAt = clock.now();
  const admitted = await admitMessage(message, hold, handling);
  const claimed = "kind" in admitted ? undefined : findClaimed(admitted, handling);
  const settlement =
    "kind" in admitted ? admitted : await acceptMessage({ message, opened: admitted, claimed, turn, hold }, handling);
  let outcome = "returned";
  switch (settlement.kind) {
    case "acknowledge":
      // Recorded before the message is removed: if that is too early, the event may only be deleted a little sooner.
      if (!(await record(settlement.seqs, "acknowledged"))) {
        await message.retry();
        break;
      }
      orLost(await message.acknowledge());
      await removeClaimed(claimed, handling);
      outcome = describeAcknowledged(settlement);
      break;
    case "park":
      if (!(await waitToPark(settlement.afterMs))) {
        await message.retry();
        break;
      }
      if (!(await parkMessage(message, settlement.reason, hold, handling))) break;
      // Recorded after the message is parked: recorded earlier, it would look like a message that was requeued.
      await record(settlement.seqs, "parked");
      outcome = settlement.reason.code;
      break;
    case "retry":
      await message.retry();
  }
  if (onSettled === undefined) return;
  const eventId = settlement.kind === "retry" ? undefined : settlement.eventId;
  onSettled({ source: source.name, outcome, eventId, durationMs: clock.now() - startedAt });

  /** False when the message can be held no longer. */
  async function waitToPark(afterMs = 0): Promise<boolean> {
    if (afterMs <= 0 || parkedLater.size >= settings.maxUnacknowledged / 2) return true;
    parkedLater.add(message);
    turn.pass();
    // Parked before the hold is over: given back, it would come again and wait anew, for ever.
    const waitMs = Math.min(afterMs, settings.holdMaxMs * PARK_WITHIN);
    await pause(clock, waitMs, hold.over.abortSignal, stopping);
    parkedLater.delete(message);
    return !hold.over.isSet && !stopping.aborted;
  }

  async function record(seqs: readonly number[] = [], how: "acknowledged" | "parked"): Promise<boolean> {
    try {
      for (const seq of seqs) await store.events.settleMessage(seq, how);
      return true;
    } catch (error) {
      onTrouble(source, error, "the result of a message could not be stored");
      return false;
    }
  }
}

function orLost(settled: Settled): void {
  if (settled === "settled") return;
  throw new BrokerFault("lost", "The message was held for too long, or its connection was lost. It comes again.");
}

/** Deletes the body, which nobody needs any more. */
async function removeClaimed(claimed: ClaimedBody | undefined, { source, onTrouble }: Handling): Promise<void> {
  try {
    await claimed?.remove();
  } catch (error) {
    onTrouble(source, error, "the body of a message was not deleted");
  }
}

function describeAcknowledged({ eventId, isKnown }: Extract<Settlement, { kind: "acknowledge" }>): string {
  if (eventId === undefined) return "ignored";
  return isKnown === true ? "duplicate" : "accepted";
}

/** False when it could not be parked. Then it comes again: it must not fill the source's places until somebody looks. */
async function parkMessage(
  message: TakenMessage,
  { code, description }: ParkReason,
  hold: Hold,
  { taker, clock, stopping, onParked }: Handling,
): Promise<boolean> {
  try {
    orLost(await message.park(code, description));
    onParked(undefined);
    return true;
  } catch (error) {
    const isLost = error instanceof BrokerFault && error.kind === "lost";
    if (!isLost) onParked(error);
    const waitMs = backOffMs(message.deliveryCount);
    // A broker that can delay it keeps it meanwhile, and other messages have its place.
    if (!taker.limits.canDelayRetry && !isLost) await pause(clock, waitMs, hold.over.abortSignal, stopping);
    await message.retry(waitMs);
    return false;
  }
}
