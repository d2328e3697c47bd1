import type { DequeuedMessageItem, PeekedMessageItem } from "@azure/storage-queue";
import { PARK_DESCRIPTION, PARK_REASON } from "../broker.ts";
import { BrokerFault } from "../broker-fault.ts";
import {
  createParkedWalk,
  type ParkedLimits,
  type ParkedMessage,
  type ParkedPlace,
  type ParkedQueue,
  type ParkedWalk,
} from "../parked.ts";
import type { StorageCall } from "./storage-connection.ts";
import { decodeText, NEVER_EXPIRES, readParked } from "./storage-text.ts";

/** The service returns 32 messages at a time, and a peek always begins at the oldest. */
const MAX_BATCH = 32;
const LIMITS: ParkedLimits = { looksAt: MAX_BATCH, canPage: false, countsLooks: false, keepsId: false };

/** Longer than a walk may take; after a crash, the messages are visible again after this time. */
const HIDDEN_S = 300;

export function openStorageParked(place: ParkedPlace, call: StorageCall): ParkedQueue {
  return {
    limits: LIMITS,
    async count() {
      const { approximateMessagesCount = 0 } = await call(place.parkedIn, (client) => client.getProperties());
      return approximateMessagesCount;
    },
    async peek(max) {
      const { peekedMessageItems } = await call(place.parkedIn, (client) =>
        client.peekMessages({ numberOfMessages: Math.min(max, MAX_BATCH) }),
      );
      return peekedMessageItems.map((item) => toParked(item, place));
    },
    openWalk: () => openWalk(place, call),
  };
}

/**
 * The bodies of all messages in the queue. Held messages cannot be peeked at, but they are counted. Messages that are
 * seen both before and after the count were there when it was made; if their number equals the count, there were no
 * others.
 */
export async function seeAllOf({ peek, count, limits }: ParkedQueue): Promise<readonly Buffer[] | undefined> {
  try {
    const before = await peek(limits.looksAt);
    const counted = await count();
    const keys = new Set((await peek(limits.looksAt)).map(({ key }) => key));
    const isSame = keys.size === before.length && before.every(({ key }) => keys.has(key));
    return isSame && counted <= before.length ? before.map(({ body }) => body) : undefined;
  } catch (error) {
    if (error instanceof BrokerFault && error.kind === "not_found") return [];
    throw error;
  }
}

function openWalk(place: ParkedPlace, call: StorageCall): ParkedWalk {
  const { queue, parkedIn } = place;
  return createParkedWalk<DequeuedMessageItem>({
    async take(max, hold) {
      const { receivedMessageItems } = await call(parkedIn, (client) =>
        client.receiveMessages({ numberOfMessages: Math.min(max, MAX_BATCH), visibilityTimeout: HIDDEN_S }),
      );
      receivedMessageItems.forEach(hold);
      return receivedMessageItems;
    },
    show: (item) => toParked(item, place),
    copyBack: ({ messageText }) =>
      call(queue, (client) => client.sendMessage(readParked(messageText).text, NEVER_EXPIRES)),
    remove: ({ messageId, popReceipt }) => call(parkedIn, (client) => client.deleteMessage(messageId, popReceipt)),
    async close(left) {
      for (const { messageId, popReceipt } of left) {
        // A message that cannot be made visible now becomes visible when its time is over.
        const shown = call(parkedIn, (client) => client.updateMessage(messageId, popReceipt, undefined, 0));
        await shown.catch(() => undefined);
      }
    },
  });
}

function toParked({ messageId, messageText, insertedOn }: PeekedMessageItem, { queue }: ParkedPlace): ParkedMessage {
  const { text, properties } = readParked(messageText);
  return {
    key: messageId,
    place: undefined,
    id: messageId,
    body: decodeText(text),
    contentType: undefined,
    subject: undefined,
    properties,
    reason: properties[PARK_REASON],
    description: properties[PARK_DESCRIPTION],
    cameFrom: queue,
    parkedAt: insertedOn.getTime(),
  };
}
