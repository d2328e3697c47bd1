import type { AcceptedRequest } from "../../model/accepted.ts";
import type { Clock } from "../../model/clock.ts";
import { isSendersFault, PosthornError } from "../../model/errors.ts";
import type { Source } from "../../model/source.ts";
import type { ReopeningMessage } from "../../store/port/event-log.ts";
import type { StoredEvent } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import type { ProcessRequest } from "../accept-events.ts";
import { Barrier } from "../../model/barrier.ts";
import type { PulledMessage, PulledSourceKind, PullLimits, Taker } from "../../sources/source-kind.ts";
import type { WebhookLog } from "../webhook-log.ts";
import { admitMessage } from "./admit-message.ts";
import { createClaimedBody, type ClaimedBody } from "../../sources/claimed-body.ts";
import type { EndedEvents } from "./ended-events.ts";
import { giveBackAfterError } from "./give-back.ts";
import { holdMessage, type Hold } from "./hold.ts";
import { toRequest } from "./message-request.ts";
import type { NamingOptions } from "./name-event.ts";
import type { Occasion } from "./occasion.ts";
import type { OpenedMessage } from "../../sources/opened-message.ts";
import { parkMessage } from "./park-message.ts";
import { backOffMs, pause } from "./pause.ts";
import type { PullSettings } from "../../sources/pull-options.ts";
import { settleKnownMessage, type KnownEvents } from "./settle-known-message.ts";
import { GIVE_BACK, toParkReason, type Settlement } from "./settlement.ts";

export interface HandlingOptions {
  source: Source;
  kind: PulledSourceKind;
  settings: PullSettings;
  taker: Taker;
  limits: PullLimits;
  processRequest: ProcessRequest;
  log: Pick<WebhookLog, "rejected" | "reject">;
  endedEvents: EndedEvents;
  store: Pick<Store, "reads" | "events" | "info">;
  /** Opens the deliveries of an event again; false when its message does not ask for it. */
  reopen: (event: StoredEvent, message: ReopeningMessage) => Promise<boolean>;
  bodies: NamingOptions["bodies"];
  /** Of JSON. */
  maxDepth: number;
  clock: Clock;
  turn: Turn;
  /** Messages that are parked later: they may take half of the source's places, and keep no other message waiting. */
  parkedLater: Set<PulledMessage>;
  /** Ends all waiting. */
  stopping: AbortSignal;
  /** Ends even waiting for data that is being written to disk. */
  cut: Occasion;
  /** Called when a message waits because of our own problem. The returned function is called when that ends. */
  onDelay: (error: unknown) => () => void;
  /** Called with the error when a message could not be parked, and with undefined when one was. */
  onParked: (error: unknown) => void;
  onTrouble: (source: Source, error: unknown, what: string) => void;
  /** For the access log; undefined when nobody watches. */
  onSettled?: ((message: SettledMessage) => void) | undefined;
  /** Called once for a setup that may not work as its owner expects. */
  warnOnce: (what: string) => void;
}

/** `outcome`: `accepted`, `duplicate`, `ignored`, `returned` to its queue, or the reason for which it is parked. */
export interface SettledMessage {
  source: string;
  outcome: string;
  eventId: string | undefined;
  durationMs: number;
}

interface AdmittedMessage extends OpenedMessage {
  /** Undefined when the body is in the message, or when the source has no claim check. */
  claimed: ClaimedBody | undefined;
}

/** The share of the time for which a message can be held; the rest is a margin for parking it. */
const PARK_WITHIN = 0.9;

/** Messages are accepted in the order in which they were received, however long it takes to read their bodies. */
export interface Turn {
  /** Resolves when all messages before this one were accepted, or have to wait. */
  readonly before: Promise<void>;
  /** The next message may be accepted. */
  pass(): void;
}

/** Handles a message until it is settled, exactly once and whatever happens: an unsettled message comes again. */
export async function handleMessage(message: PulledMessage, options: HandlingOptions): Promise<void> {
  const { taker, limits, clock, settings } = options;
  const hold = holdMessage(message, { taker, limits, clock, maxMs: settings.holdMaxMs });
  try {
    await settle(message, hold, options);
  } finally {
    hold.end();
  }
}

async function settle(message: PulledMessage, hold: Hold, options: HandlingOptions): Promise<void> {
  const { source, kind, settings, taker, store, clock, turn, parkedLater, stopping, onTrouble, onSettled } = options;
  const startedAt = clock.now();
  const opened = await admitMessage(message, hold, options);
  const claimed = "kind" in opened ? undefined : findClaimed(opened);
  const settlement = "kind" in opened ? opened : await decide(message, { ...opened, claimed }, hold, options);
  let outcome = "returned";
  switch (settlement.kind) {
    case "acknowledge":
      // Noted before the message is removed: if that is too early, the event may only be deleted a little sooner.
      if (!(await note(settlement.seqs, "acknowledged"))) {
        await taker.retry(message);
        break;
      }
      await taker.acknowledge(message);
      await removeClaimed();
      outcome = describeAcknowledged(settlement);
      break;
    case "park":
      if (!(await waitToPark(settlement.afterMs))) {
        await taker.retry(message);
        break;
      }
      if (!(await parkMessage(message, settlement.reason, hold, options))) break;
      // Noted after the message is parked: noted earlier, it would look like a message that was requeued.
      await note(settlement.seqs, "parked");
      outcome = settlement.reason.code;
      break;
    case "retry":
      await taker.retry(message);
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
    await pause(clock, Math.min(afterMs, settings.holdMaxMs * PARK_WITHIN), hold.over.signal, stopping);
    parkedLater.delete(message);
    return !hold.over.hasCome && !stopping.aborted;
  }

  async function note(seqs: readonly number[] = [], how: "acknowledged" | "parked"): Promise<boolean> {
    try {
      for (const seq of seqs) await store.events.settleMessage(seq, how);
      return true;
    } catch (error) {
      onTrouble(source, error, "the result of a message could not be stored");
      return false;
    }
  }

  function findClaimed({ claim }: OpenedMessage): ClaimedBody | undefined {
    const claims = claim && kind.pull.findClaims?.(source.settings);
    return claim && claims && createClaimedBody(claim, claims);
  }

  /** Deletes the body, which nobody needs any more. */
  async function removeClaimed(): Promise<void> {
    try {
      await claimed?.remove();
    } catch (error) {
      onTrouble(source, error, "the body of a message was not deleted");
    }
  }
}

function describeAcknowledged({ eventId, isKnown }: Extract<Settlement, { kind: "acknowledge" }>): string {
  if (eventId === undefined) return "ignored";
  return isKnown === true ? "duplicate" : "accepted";
}

async function decide(
  message: PulledMessage,
  opened: AdmittedMessage,
  hold: Hold,
  options: HandlingOptions,
): Promise<Settlement> {
  const { settings } = options;
  const isSuspect = message.deliveryCount > settings.maxDeliveries;
  if (isSuspect && !(await isStored(opened, options))) {
    const description = `The message was received ${message.deliveryCount} times but never reached the disk.`;
    return { kind: "park", reason: { code: "max_deliveries", description } };
  }
  const result = await acceptUntilWritten(message, opened, hold, options);
  if (result === undefined) return GIVE_BACK;
  switch (result.kind) {
    case "stored":
    case "several":
    case "duplicate":
      return settleKnownMessage(toKnownEvents(result), opened, hold, options);
    case "ignored":
      if (result.cause !== "invalid") return { kind: "acknowledge" };
      return {
        kind: "park",
        reason: { code: "invalid", description: "The message contains no event that can be accepted." },
      };
    case "rejected":
      if (isSendersFault(result.error)) return { kind: "park", reason: toParkReason(result.error) };
      // Perhaps caused by this message: it is returned, so that the queue counts its deliveries.
      return giveBackAfterError(result.error, message, hold, options);
    default:
      return result;
  }
}

function toKnownEvents(result: Extract<AcceptedRequest, { kind: "stored" | "several" | "duplicate" }>): KnownEvents {
  switch (result.kind) {
    case "stored":
      return { eventIds: [result.eventId], deliveries: result.deliveries, isKnown: false };
    case "several":
      return { eventIds: result.eventIds, deliveries: 0, isKnown: false };
    case "duplicate":
      return { eventIds: [result.eventId], deliveries: 0, isKnown: true };
  }
}

/** Retries while we cannot write, for as long as the message can be held; undefined after that. */
async function acceptUntilWritten(
  message: PulledMessage,
  opened: AdmittedMessage,
  hold: Hold,
  options: HandlingOptions,
): Promise<AcceptedRequest | Settlement | undefined> {
  const { clock, onDelay, stopping } = options;
  let endDelay: (() => void) | undefined;
  try {
    for (let failures = 1; ; failures++) {
      const result = await acceptMessage(message, opened, hold, options);
      if (result?.kind !== "rejected" || !isTemporary(result.error)) return result;
      endDelay ??= onDelay(result.error);
      await pause(clock, backOffMs(failures), hold.over.signal, stopping);
      if (hold.over.hasCome || stopping.aborted) return undefined;
    }
  } finally {
    endDelay?.();
  }
}

/** A problem of ours that passes: the message waits for that. */
function isTemporary(error: PosthornError): boolean {
  const isTheirs: boolean = isSendersFault(error);
  return !isTheirs && error.code !== "internal_error";
}

/** Only a message that never reached the disk is suspect; one that did may come any number of times. */
async function isStored({ facts }: OpenedMessage, { source, store }: HandlingOptions): Promise<boolean> {
  const { eventId, adopted } = facts;
  if (eventId === undefined) return false;
  // An unreadable store is not the message's fault.
  return store.reads.findEvent(eventId, adopted?.tenantId ?? source.tenantId).then(
    (event) => event !== undefined,
    () => true,
  );
}

/** Undefined when the message could not be held until the result was known. */
async function acceptMessage(
  message: PulledMessage,
  opened: AdmittedMessage,
  hold: Hold,
  options: HandlingOptions,
): Promise<AcceptedRequest | Settlement | undefined> {
  const { source, kind, processRequest, log, clock, cut, turn } = options;
  const receivedAt = clock.wall();
  source.lastRequestAt = receivedAt;
  const whole = opened.claim === undefined ? opened : await fetchBody(opened, options);
  if (!("facts" in whole)) {
    turn.pass();
    return whole;
  }
  await turn.before;
  const request = toRequest(source, message, receivedAt, whole);
  return new Promise((resolve) => {
    const giveUp = () => resolve(undefined);
    const unlisten = [hold.over.listen(giveUp), cut.listen(giveUp)];
    const end = (result: AcceptedRequest) => {
      for (const stop of unlisten) stop();
      resolve(result);
    };
    const { body } = request;
    const barrier = new Barrier(end, (error) => end(log.reject(request, error, body, body.length)));
    processRequest(request, kind, barrier, (result) => barrier.end(result));
    turn.pass();
  });
}

/** Loads the body that a message refers to. A message that is already on disk needs none. */
async function fetchBody(
  opened: AdmittedMessage,
  options: HandlingOptions,
): Promise<OpenedMessage | AcceptedRequest | Settlement> {
  const { source, store } = options;
  const { claimed, facts } = opened;
  try {
    const known = facts.eventId === undefined ? undefined : await store.reads.findEvent(facts.eventId, source.tenantId);
    if (known !== undefined) return { kind: "duplicate", eventId: known.id };
    if (claimed === undefined) {
      const description = "The body is in Blob storage, but the source has no claim_check that says where.";
      return { kind: "park", reason: { code: "unclaimed", description } };
    }
    const found = await claimed.read();
    if ("problem" in found) return { kind: "park", reason: { code: "unclaimed", description: found.problem } };
    return { ...opened, body: found.body };
  } catch (error) {
    // Whatever it is, the message waits: it is not the message's fault.
    const known = error instanceof PosthornError && isTemporary(error) ? error : undefined;
    return {
      kind: "rejected",
      stage: "accept",
      error: known ?? new PosthornError("unavailable", "A body could not be read.", { cause: error }),
    };
  }
}
