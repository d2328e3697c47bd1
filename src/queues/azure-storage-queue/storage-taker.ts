import type { DequeuedMessageItem, QueueClient } from "@azure/storage-queue";
import { type Clock, createTurns } from "../../model/clock.ts";
import { createWaiters } from "../waiters.ts";
import type { HoldLimits, Settled, TakenMessage, Taker, TakerOptions } from "../broker.ts";
import { BrokerFault, closedFault, settledBy } from "../broker-fault.ts";
import type { StorageCall } from "./storage-connection.ts";
import { decodeText, NEVER_EXPIRES, readParked, writeParked } from "./storage-text.ts";

interface StorageTakerOptions extends TakerOptions {
  clock: Clock;
  call: StorageCall;
  callWhenOpen: StorageCall;
}

export const STORAGE_HOLD_LIMITS: HoldLimits = { holdMs: 30_000, canRenew: true, canDelayRetry: true };

/** The service's own limit for one request. */
const MAX_BATCH = 32;
const SHORTEST_POLL_MS = 100;

/** Polls: at once while there are messages, and less and less often while there are none. */
export function openStorageTaker(options: StorageTakerOptions): Taker {
  const { clock, queue, call, callWhenOpen, parkTo } = options;
  const waiters = createWaiters(clock);
  const { holdMs = STORAGE_HOLD_LIMITS.holdMs } = options;
  const limits: HoldLimits = { ...STORAGE_HOLD_LIMITS, holdMs };
  const holdS = Math.ceil(holdMs / 1000);
  let held = 0;
  let pollMs = SHORTEST_POLL_MS;
  let rests = 0;
  let isClosed = false;
  /** The request that was sent last, until what it brought is handed out or given back. */
  let underWay: Promise<void> = Promise.resolve();

  async function receive(max: number): Promise<TakenMessage[]> {
    const wanted = Math.min(max, MAX_BATCH, options.maxUnacknowledged - held);
    if (wanted < 1) return [];
    let end = () => {};
    try {
      const { receivedMessageItems } = await callWhenOpen(queue, (client) => {
        underWay = new Promise((resolve) => (end = resolve));
        return client.receiveMessages({ numberOfMessages: wanted, visibilityTimeout: holdS });
      });
      held += receivedMessageItems.length;
      const taken = receivedMessageItems.map(toTaken);
      if (!isClosed) return taken;
      await Promise.all(taken.map((message) => message.retry().catch(() => undefined)));
      throw closedFault();
    } finally {
      end();
    }
  }

  function toTaken(item: DequeuedMessageItem): TakenMessage {
    const { text, properties } = readParked(item.messageText);
    // Every answer brings a new receipt, and only the newest is valid: so each call waits for the one before.
    let receipt = item.popReceipt;
    const inTurn = createTurns();
    let isHeld = true;
    let isGivenBack = false;

    function release(): void {
      if (isHeld) held--;
      isHeld = false;
      waiters.wake();
    }

    const settle = (act: (client: QueueClient) => Promise<unknown>): Promise<Settled> =>
      inTurn(() => settledBy(() => call(queue, act)));
    const hide = (forS: number) =>
      settle(async (client) => {
        const { popReceipt = receipt } = await client.updateMessage(item.messageId, receipt, undefined, forS);
        receipt = popReceipt;
      });
    const acknowledge = () => settle((client) => client.deleteMessage(item.messageId, receipt)).finally(release);

    return {
      id: item.messageId,
      body: decodeText(text),
      contentType: undefined,
      subject: undefined,
      sessionId: undefined,
      properties,
      deliveryCount: item.dequeueCount,
      acknowledge,
      // After it is given back, that would hide it from the others again.
      renew: () => (isGivenBack ? Promise.resolve("lost") : hide(holdS)),
      retry(delayMs = 0) {
        isGivenBack = true;
        return hide(Math.ceil(delayMs / 1000)).finally(release);
      },
      async park(reason, description) {
        await call(parkTo.destination, (client) =>
          client.sendMessage(writeParked(text, reason, description), NEVER_EXPIRES),
        );
        return acknowledge();
      },
    };
  }

  return {
    limits,
    async take(max, waitMs) {
      const until = clock.now() + waitMs;
      const restsBefore = rests;
      for (;;) {
        if (isClosed) throw closedFault();
        const taken = await receive(max).catch(ignoreLostConnection);
        if (taken.length > 0) {
          pollMs = SHORTEST_POLL_MS;
          return taken;
        }
        const leftMs = until - clock.now();
        if (leftMs <= 0 || rests > restsBefore) return [];
        await waiters.wait(Math.min(pollMs, leftMs));
        // Asking once more would take what others give back now.
        if (rests > restsBefore) return [];
        pollMs = Math.min(pollMs * 2, Math.max(waitMs, SHORTEST_POLL_MS));
      }
    },
    async rest() {
      rests++;
      waiters.wake();
    },
    async close() {
      isClosed = true;
      waiters.wake();
      await underWay;
    },
  };
}

/** The next call waits until the connection is back. */
function ignoreLostConnection(error: unknown): [] {
  if (error instanceof BrokerFault && error.isOfConnection) return [];
  throw error;
}
