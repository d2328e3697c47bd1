import { PosthornError } from "../../model/errors.ts";
import { findLoop } from "../../model/hops.ts";
import type { ParkReason, PulledMessage } from "../../sources/source-kind.ts";
import { giveBackAfterError } from "./give-back.ts";
import type { HandlingOptions } from "./handle-message.ts";
import type { Hold } from "./hold.ts";
import { readSentBy } from "./message-properties.ts";
import { toRequest } from "./message-request.ts";
import { nameEvent } from "./name-event.ts";
import { maxMessageBytes, openMessage } from "./open-message.ts";
import type { OpenedMessage } from "../../sources/opened-message.ts";
import { toParkReason, type Settlement } from "./settlement.ts";

/** Opens a message and names its event, or says how it is settled without being accepted. */
export async function admitMessage(
  message: PulledMessage,
  hold: Hold,
  options: HandlingOptions,
): Promise<OpenedMessage | Settlement> {
  return findAtOnce(message, options) ?? openAndName(message, hold, options);
}

/** Messages that are not even opened. */
function findAtOnce(message: PulledMessage, options: HandlingOptions): Settlement | undefined {
  const { source, settings, clock, log } = options;
  const { length } = message.body;
  const limit = maxMessageBytes(source, settings);
  if (length <= limit) return undefined;
  log.rejected(toRequest(source, message, clock.wall()), "too_large", undefined, length);
  return park(new PosthornError("too_large", `The message has ${length} bytes; the source accepts ${limit}.`));
}

async function openAndName(
  message: PulledMessage,
  hold: Hold,
  options: HandlingOptions,
): Promise<OpenedMessage | Settlement> {
  const { source, settings, clock, log, store, maxDepth } = options;
  const { body } = message;
  const receivedAt = clock.wall();
  const reject = (code: string, reason: ParkReason, afterMs = 0): Settlement => {
    log.rejected(toRequest(source, message, receivedAt), code, body, body.length);
    return { kind: "park", reason, afterMs };
  };
  // A loop on a bus is detected by the message's properties, even if the source cannot read the message.
  if (readSentBy(message).origin === store.info.id && !settings.takesOwn) return { kind: "acknowledge" };
  const opened = openMessage(message, { source, settings, maxDepth, receivedAt, storeId: store.info.id });
  if ("park" in opened) return reject(opened.park.code, opened.park, opened.afterMs);
  const { length } = opened.body;
  if (length > source.maxBytes) {
    const description = `The body has ${length} bytes; the source accepts ${source.maxBytes}.`;
    return reject("too_large", { code: "too_large", description });
  }
  const loop = findLoop(opened.hops);
  if (loop !== undefined) return reject(loop.code, toParkReason(loop));
  // In queues whose messages have no properties, the hops are in the message itself.
  if (opened.origin === store.info.id && !settings.takesOwn) return { kind: "acknowledge" };
  if (opened.hasSealed) options.warnOnce("credentials in messages are ignored because the source has no message_key");
  const named = await nameEvent(opened, options).catch((error: unknown) =>
    giveBackAfterError(error, message, hold, options),
  );
  if (settings.isUntilDelivered && "facts" in named && !named.facts.isHeld) {
    options.warnOnce("messages without an id are acknowledged when stored and may come twice; set message_id");
  }
  return named;
}

function park(error: PosthornError): Settlement {
  return { kind: "park", reason: toParkReason(error) };
}
