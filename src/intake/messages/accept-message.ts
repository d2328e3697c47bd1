import { type AcceptedRequest, Barrier } from "../../model/accepted.ts";
import { isSendersFault, PosthornError } from "../../model/errors.ts";
import { findLoop } from "../../model/event.ts";
import type { Source } from "../../model/source.ts";
import type { TakenMessage } from "../../queues/broker.ts";
import { createClaimedBody, type ClaimedBody } from "../../queues/claim-check.ts";
import type { WebhookRequest } from "../request.ts";
import { readPlace, toMessageEventId } from "../to-events.ts";
import { GIVE_BACK, settleKnownMessage } from "./ended-events.ts";
import type { Handling, Settlement, Turn } from "./handle-message.ts";
import { backOffMs, pause, type Hold } from "./hold.ts";
import {
  maxMessageBytes,
  openMessage,
  readSentBy,
  toHeaders,
  toParkReason,
  type OpenedMessage,
  type ParkReason,
} from "./open-message.ts";

/** Opens a message and names its event, or says how it is settled without being accepted. */
export async function admitMessage(
  message: TakenMessage,
  hold: Hold,
  handling: Handling,
): Promise<OpenedMessage | Settlement> {
  const { source, kind, settings, clock, log, store, maxDepth } = handling;
  const { body } = message;
  const headers = toHeaders(message);
  const receivedAt = clock.wall();
  const reject = (reason: ParkReason, kept: Buffer | undefined, afterMs = 0): Settlement => {
    log.rejected(toRequest(source, receivedAt, { body, headers }), reason.code, kept, body.length);
    return { kind: "park", reason, afterMs };
  };
  const limit = maxMessageBytes(source, settings);
  if (body.length > limit) {
    const description = `The message has ${body.length} bytes; the source accepts ${limit}.`;
    return reject({ code: "too_large", description }, undefined);
  }
  // A loop on a bus is detected by the message's properties, even if the source cannot read the message.
  if (readSentBy(headers).origin === store.info.id && !settings.takesOwn) return { kind: "acknowledge" };
  const opened = openMessage(message, {
    source,
    settings,
    queuePlace: kind.describePlace?.(source.settings.options),
    headers,
    maxDepth,
    receivedAt,
    storeId: store.info.id,
  });
  if ("park" in opened) return reject(opened.park, body, opened.afterMs);
  const { length } = opened.body;
  if (length > source.maxBytes) {
    const description = `The body has ${length} bytes; the source accepts ${source.maxBytes}.`;
    return reject({ code: "too_large", description }, body);
  }
  const loop = findLoop(opened.hops);
  if (loop !== undefined) return reject(toParkReason(loop), body);
  // In queues whose messages have no properties, the hops are in the message itself.
  if (opened.origin === store.info.id && !settings.takesOwn) return { kind: "acknowledge" };
  if (opened.hasSealed) handling.warnOnce("credentials in messages are ignored because the source has no message_key");
  const named = await nameEvent(opened, handling).catch((error: unknown) =>
    giveBackAfterError(error, message, hold, handling),
  );
  if (settings.isUntilDelivered && "facts" in named && !named.facts.isHeld) {
    handling.warnOnce("messages without an id are acknowledged when stored and may come twice; set message_id");
  }
  return named;
}

/**
 * Names the event of a raw message by what `id_from` finds in it, in place of the message's own id. It is named before
 * anything is asked about it, so that a message that comes again finds its event. Rejects when that is our own problem.
 */
async function nameEvent(opened: OpenedMessage, { source, settings, bodies }: Handling): Promise<OpenedMessage> {
  const { facts, headers, body, remoteAddress } = opened;
  const { idFrom: place } = source;
  // A whole event brings its name along.
  if (place === undefined || facts.adopted !== undefined) return opened;
  let id: string | undefined;
  try {
    const from = { source, remoteAddress };
    const readTexts = async () => (await bodies.check(body, headers["content-type"], source.pointers, from)).texts;
    id = readPlace(place, "id", { source, headers }, { texts: place.in === "header" ? [] : await readTexts() });
  } catch (error) {
    // Processing the request finds the same, and the message is parked with the reason.
    if (!(error instanceof PosthornError && isSendersFault(error))) throw error;
  }
  if (id === undefined) return opened;
  const eventId = toMessageEventId(source.name, `id_from\0${id}`);
  return { ...opened, facts: { ...facts, eventId, isHeld: settings.isUntilDelivered } };
}

/** Turns a message into the HTTP request that it would have been. */
function toRequest(
  source: Source,
  receivedAt: number,
  { body, headers, ...opened }: Pick<OpenedMessage, "body" | "headers"> & Partial<OpenedMessage>,
): WebhookRequest {
  return {
    source,
    method: opened.method ?? "POST",
    path: opened.path ?? `/webhook/${source.name}`,
    query: opened.query ?? "",
    remoteAddress: opened.remoteAddress ?? "",
    headers,
    receivedAt,
    occurredAt: receivedAt,
    url: "",
    keptAs: undefined,
    pulled: opened.facts,
    body,
  };
}

/** Undefined when the body is in the message, or when the source has no claim check. */
export function findClaimed({ claim }: OpenedMessage, { source, kind }: Handling): ClaimedBody | undefined {
  const claims = claim && kind.findClaims?.(source.settings);
  return claim && claims && createClaimedBody(claim, claims);
}

/** A message whose event may be accepted. */
interface Admitted {
  message: TakenMessage;
  opened: OpenedMessage;
  claimed: ClaimedBody | undefined;
  turn: Turn;
  hold: Hold;
}

/** Processes a message like a request, and says how it is settled. */
export async function acceptMessage(admitted: Admitted, handling: Handling): Promise<Settlement> {
  const { message, opened, hold } = admitted;
  const isSuspect = message.deliveryCount > handling.settings.maxDeliveries;
  if (isSuspect && !(await isStored(opened, handling))) {
    return park(
      "max_deliveries",
      `The message was received ${message.deliveryCount} times but never reached the disk.`,
    );
  }
  const result = await processUntilWritten(admitted, handling);
  if (result === undefined) return GIVE_BACK;
  switch (result.kind) {
    case "stored": {
      const { eventId, deliveries } = result;
      return settleKnownMessage({ eventIds: [eventId], deliveries, isKnown: false }, opened, hold, handling);
    }
    case "several":
      return settleKnownMessage({ eventIds: result.eventIds, deliveries: 0, isKnown: false }, opened, hold, handling);
    case "duplicate":
      return settleKnownMessage({ eventIds: [result.eventId], deliveries: 0, isKnown: true }, opened, hold, handling);
    case "ignored":
      if (result.cause !== "invalid") return { kind: "acknowledge" };
      return park("invalid", "The message contains no event that can be accepted.");
    case "rejected":
      if (isSendersFault(result.error)) return { kind: "park", reason: toParkReason(result.error) };
      // Perhaps caused by this message: it is returned, so that the queue counts its deliveries.
      return giveBackAfterError(result.error, message, hold, handling);
    default:
      return result;
  }
}

function park(code: string, description: string): Settlement {
  return { kind: "park", reason: { code, description } };
}

/** For an internal error, perhaps caused by this message: the queue counts how often it comes. */
async function giveBackAfterError(
  error: unknown,
  { deliveryCount }: TakenMessage,
  hold: Hold,
  { source, clock, stopping, onTrouble }: Handling,
): Promise<Settlement> {
  onTrouble(source, error, "a message could not be read because of an internal error and is returned to its queue");
  await pause(clock, backOffMs(deliveryCount), hold.over.abortSignal, stopping);
  return GIVE_BACK;
}

/** Only a message that never reached the disk is suspect; one that did may come any number of times. */
async function isStored({ facts }: OpenedMessage, { source, store }: Handling): Promise<boolean> {
  const { eventId, adopted } = facts;
  if (eventId === undefined) return false;
  // An unreadable store is not the message's fault.
  return store.reads.findEvent(eventId, adopted?.tenantId ?? source.tenantId).then(
    (event) => event !== undefined,
    () => true,
  );
}

/** Retries while we cannot write, for as long as the message can be held; undefined after that. */
async function processUntilWritten(
  admitted: Admitted,
  handling: Handling,
): Promise<AcceptedRequest | Settlement | undefined> {
  const { over } = admitted.hold;
  const { clock, onDelay, stopping } = handling;
  let endDelay: (() => void) | undefined;
  try {
    for (let failures = 1; ; failures++) {
      const result = await processMessage(admitted, handling);
      if (result?.kind !== "rejected" || !isTemporary(result.error)) return result;
      endDelay ??= onDelay(result.error);
      await pause(clock, backOffMs(failures), over.abortSignal, stopping);
      if (over.isSet || stopping.aborted) return undefined;
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

/** Undefined when the message could not be held until the result was known. */
async function processMessage(
  { opened, claimed, turn, hold }: Admitted,
  handling: Handling,
): Promise<AcceptedRequest | Settlement | undefined> {
  const { source, kind, processRequest, log, clock, cut } = handling;
  const receivedAt = clock.wall();
  source.lastRequestAt = receivedAt;
  const whole = opened.claim === undefined ? opened : await fetchBody(opened, claimed, handling);
  if (!("facts" in whole)) {
    turn.pass();
    return whole;
  }
  await turn.before;
  const request = toRequest(source, receivedAt, whole);
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
  opened: OpenedMessage,
  claimed: ClaimedBody | undefined,
  { source, store }: Handling,
): Promise<OpenedMessage | AcceptedRequest | Settlement> {
  const { facts } = opened;
  try {
    const known = facts.eventId === undefined ? undefined : await store.reads.findEvent(facts.eventId, source.tenantId);
    if (known !== undefined) return { kind: "duplicate", eventId: known.id };
    if (claimed === undefined) {
      return park("unclaimed", "The body is in Blob storage, but the source has no claim_check that says where.");
    }
    const found = await claimed.read();
    if ("problem" in found) return park("unclaimed", found.problem);
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
