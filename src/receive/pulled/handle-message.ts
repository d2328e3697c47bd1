import type { Clock } from "../../domain/clock.ts";
import { PosthornError } from "../../domain/errors.ts";
import { findLoop, readHops } from "../../domain/hops.ts";
import type { Source } from "../../domain/source.ts";
import type { Store } from "../../store/store.ts";
import type { KindResult } from "../kind-answer.ts";
import type { ParkReason, PulledMessage, PulledSourceKind, PullLimits, Taker } from "../sources/source-kind.ts";
import type { TakeIn } from "../take-in.ts";
import { toMessageEventId } from "../webhook-event.ts";
import type { WebhookLog } from "../webhook-log.ts";
import type { EndedEvents } from "./ended-events.ts";
import { holdMessage, type Hold } from "./hold.ts";
import { judgeResult, toParkReason, type Judgement } from "./judge-result.ts";
import { toRequest } from "./message-request.ts";
import { backOffMs, pause } from "./pause.ts";
import type { PullSettings } from "./pull-options.ts";

export interface HandlingOptions {
  source: Source;
  kind: PulledSourceKind;
  settings: PullSettings;
  taker: Taker;
  limits: PullLimits;
  takeIn: TakeIn;
  log: Pick<WebhookLog, "rejected">;
  endedEvents: EndedEvents;
  store: Pick<Store, "reads">;
  clock: Clock;
  /** Nothing more is waited for. */
  stopping: AbortSignal;
  /** Not even what is on its way to the disk. */
  cut: AbortSignal;
  /** It waits because of our own trouble; what is returned is called when it does no longer. */
  onDelay: (error: unknown) => () => void;
  onTrouble: (source: Source, error: unknown, what: string) => void;
}

type Settlement = { kind: "acknowledge" | "retry" | "leave" } | { kind: "park"; reason: ParkReason };

/** From a message to its settlement, once and whatever happens: what is not settled comes again. */
export async function handleMessage(message: PulledMessage, options: HandlingOptions): Promise<void> {
  const { taker, limits, clock, settings } = options;
  const hold = holdMessage(message, { taker, limits, clock, maxMs: settings.holdMaxMs });
  try {
    await settle(message, taker, await decide(message, hold, options));
  } finally {
    hold.end();
  }
}

function settle(message: PulledMessage, taker: Taker, settlement: Settlement): Promise<void> {
  switch (settlement.kind) {
    case "acknowledge":
      return taker.acknowledge(message);
    case "park":
      return taker.park(message, settlement.reason);
    case "retry":
      return taker.retry(message);
    case "leave":
      return Promise.resolve();
  }
}

async function decide(message: PulledMessage, hold: Hold, options: HandlingOptions): Promise<Settlement> {
  const { source, clock, settings, stopping, onTrouble } = options;
  const reason = await findParkReason(message, options);
  if (reason !== undefined) return { kind: "park", reason };
  const judged = await takeUntilWritten(message, hold, options);
  switch (judged?.kind) {
    case "stored":
      // Who has no id cannot be met again: nothing would tell that it was stored already.
      if (!settings.isUntilDelivered || message.id === undefined) return { kind: "acknowledge" };
      return waitForEnd(judged, hold, options);
    case "unwanted":
      return { kind: "acknowledge" };
    case "park":
      return judged;
    case "give-back":
      onTrouble(source, judged.error, "a message could not be read by a mistake of ours, and is given back");
      await pause(clock, backOffMs(message.deliveryCount), hold.signal, stopping);
      return giveBack(hold);
    case undefined:
      return giveBack(hold);
  }
}

/** Again and again while we cannot write, as long as it may be held; undefined when that is over. */
async function takeUntilWritten(
  message: PulledMessage,
  hold: Hold,
  options: HandlingOptions,
): Promise<Exclude<Judgement, { kind: "wait" }> | undefined> {
  const { clock, onDelay, stopping } = options;
  let endDelay: (() => void) | undefined;
  try {
    for (let failures = 1; ; failures++) {
      const judged = await takeMessage(message, hold, options);
      if (judged?.kind !== "wait") return judged;
      endDelay ??= onDelay(judged.error);
      await pause(clock, backOffMs(failures), hold.signal, stopping);
      if (hold.signal.aborted || stopping.aborted) return undefined;
    }
  } finally {
    endDelay?.();
  }
}

/** Why it is not even tried. */
async function findParkReason(message: PulledMessage, options: HandlingOptions): Promise<ParkReason | undefined> {
  const { source, settings, clock, log } = options;
  const { body, headers, deliveryCount } = message;
  const request = () => toRequest(source, message, clock.wall());
  if (body.length > source.maxBytes) {
    log.rejected(request(), "too_large", undefined, body.length);
    const description = `It has ${body.length} bytes, and the source takes ${source.maxBytes}.`;
    return toParkReason(new PosthornError("too_large", description));
  }
  const loop = findLoop(readHops(headers));
  if (loop !== undefined) {
    log.rejected(request(), loop.code, body, body.length);
    return toParkReason(loop);
  }
  if (deliveryCount <= settings.maxDeliveries || (await isStored(message, options))) return undefined;
  return { code: "max_deliveries", description: `It was taken ${deliveryCount} times and never reached the disk.` };
}

/** A message that is on disk may come as often as it likes: only what never got there is suspected. */
async function isStored({ id }: PulledMessage, { source, store }: HandlingOptions): Promise<boolean> {
  if (id === undefined) return false;
  const eventId = toMessageEventId(source.name, id);
  // A store that cannot be read says nothing against a message.
  return store.reads.findEvent(eventId, source.tenantId).then(
    (event) => event !== undefined,
    () => true,
  );
}

/** Undefined when it could not be held until that was known. */
async function takeMessage(
  message: PulledMessage,
  hold: Hold,
  { source, kind, takeIn, clock, cut }: HandlingOptions,
): Promise<Judgement | undefined> {
  const receivedAt = clock.wall();
  source.lastRequestAt = receivedAt;
  const left = new AbortController();
  const taken = new Promise<KindResult>((resolve) => takeIn(toRequest(source, message, receivedAt), kind, resolve));
  const result = await Promise.race([taken, whenAborted([hold.signal, cut], left.signal)]);
  left.abort();
  return result === undefined ? undefined : judgeResult(result);
}

function whenAborted(signals: readonly AbortSignal[], unneeded: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const end = () => resolve(undefined);
    for (const signal of signals) {
      signal.addEventListener("abort", end, { once: true, signal: unneeded });
      if (signal.aborted) end();
    }
  });
}

/** Until all deliveries of its events have ended; what died is for people to look at. */
async function waitForEnd(
  { eventIds, deliveries }: Extract<Judgement, { kind: "stored" }>,
  hold: Hold,
  { source, endedEvents, stopping }: HandlingOptions,
): Promise<Settlement> {
  const { tenantId } = source;
  const endings = await Promise.all(
    eventIds.map((id) => endedEvents.whenEnded({ id, tenantId, deliveries }, [hold.signal, stopping])),
  );
  if (endings.includes(undefined)) return giveBack(hold);
  const dead = eventIds.filter((_, index) => endings[index] === "dead");
  if (dead.length === 0) return { kind: "acknowledge" };
  return { kind: "park", reason: { code: "dead", description: `Deliveries of ${dead.join(", ")} are dead.` } };
}

function giveBack({ isLost }: Hold): Settlement {
  return { kind: isLost ? "leave" : "retry" };
}
