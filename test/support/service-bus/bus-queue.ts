// One queue of the Service Bus test server: what the service keeps of its messages, apart from how it speaks.
import { randomBytes } from "node:crypto";
import type { Message } from "rhea";

export interface QueueSettings {
  lockMs: number;
  maxDeliveryCount: number;
  requiresSession: boolean;
  /** 0 detects none. */
  duplicateDetectionMs: number;
}

export interface StoredMessage {
  sequence: number;
  message: Message;
  enqueuedAt: number;
  /** Scheduled messages are not there before. */
  visibleAt: number;
  deliveryCount: number;
  lock: { token: string; until: number } | undefined;
}

export type Settlement =
  | { act: "complete" }
  | { act: "abandon"; changes: Record<string, unknown> }
  | { act: "dead-letter"; reason: string | undefined; description: string | undefined };

export interface SessionLock {
  id: string;
  until: number;
}

export interface BusQueue {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly deadLetters: BusQueue | undefined;
  /** A switch for tests: whoever wants to dead-letter a message is refused, and the message stays locked. */
  refusesDeadLetters: boolean;
  /** The number it got; undefined when it is a duplicate, which its sender is not told. */
  send(message: Message): number | undefined;
  cancel(sequences: readonly number[]): void;
  /** Locks the first message that may be delivered now, of that session where there are sessions. */
  take(sessionId: string | undefined): StoredMessage | undefined;
  /** Removes the first message that may be delivered now. */
  takeForGood(sessionId: string | undefined): StoredMessage | undefined;
  settle(token: string, settlement: Settlement): "settled" | "lost" | "refused";
  renew(token: string): number | undefined;
  peek(from: number, count: number, sessionId: string | undefined): StoredMessage[];
  /** `owner` is the name of the link that asks; undefined as `id` asks for any session. */
  acceptSession(id: string | undefined, owner: string): SessionLock | "none" | "busy";
  renewSession(id: string, owner: string): number | undefined;
  releaseSession(id: string, owner: string): void;
  ownsSession(id: string, owner: string): boolean;
  /** Locks whose time is over are lost, and that counts as a delivery. */
  expireLocks(): void;
  counts(): { active: number; scheduled: number };
  clear(): void;
}

export function createBusQueue(
  name: string,
  settings: QueueSettings,
  now: () => number,
  deadLetters?: BusQueue,
): BusQueue {
  let stored: StoredMessage[] = [];
  let sequence = 0;
  const seenIds = new Map<unknown, number>();
  const sessions = new Map<string, { until: number; owner: string }>();

  function isDuplicate(id: unknown): boolean {
    if (settings.duplicateDetectionMs === 0 || id === undefined) return false;
    const seenAt = seenIds.get(id);
    if (seenAt !== undefined && now() - seenAt < settings.duplicateDetectionMs) return true;
    seenIds.set(id, now());
    return false;
  }

  function remove(one: StoredMessage): void {
    stored = stored.filter((other) => other !== one);
  }

  function find(sessionId: string | undefined): StoredMessage | undefined {
    return stored.find(
      ({ lock, visibleAt, message }) =>
        lock === undefined && visibleAt <= now() && (!settings.requiresSession || message.group_id === sessionId),
    );
  }

  function isFree(sessionId: string): boolean {
    return (sessions.get(sessionId)?.until ?? 0) <= now();
  }

  function countDelivery(one: StoredMessage): void {
    one.deliveryCount++;
    if (deadLetters === undefined || one.deliveryCount < settings.maxDeliveryCount) return;
    bury(
      one,
      "MaxDeliveryCountExceeded",
      `Message could not be consumed after ${one.deliveryCount} delivery attempts.`,
    );
  }

  function bury(one: StoredMessage, reason: string | undefined, description: string | undefined): void {
    remove(one);
    const properties = { ...one.message.application_properties };
    if (reason !== undefined) properties["DeadLetterReason"] = reason;
    if (description !== undefined) properties["DeadLetterErrorDescription"] = description;
    deadLetters?.send({ ...one.message, application_properties: properties });
  }

  function unlockSession(id: string, isExpired: boolean): void {
    sessions.delete(id);
    for (const one of stored.filter(({ lock, message }) => lock !== undefined && message.group_id === id)) {
      one.lock = undefined;
      if (isExpired) countDelivery(one);
    }
  }

  const queue: BusQueue = {
    name,
    settings,
    deadLetters,
    refusesDeadLetters: false,
    send(message) {
      if (isDuplicate(message.message_id)) return undefined;
      const scheduledFor: unknown = message.message_annotations?.["x-opt-scheduled-enqueue-time"];
      stored.push({
        sequence: ++sequence,
        message,
        enqueuedAt: now(),
        visibleAt: scheduledFor === undefined ? 0 : Number(scheduledFor),
        deliveryCount: 0,
        lock: undefined,
      });
      return sequence;
    },
    cancel(sequences) {
      stored = stored.filter((one) => !sequences.includes(one.sequence));
    },
    take(sessionId) {
      const one = find(sessionId);
      if (one !== undefined) one.lock = { token: randomBytes(16).toString("hex"), until: now() + settings.lockMs };
      return one;
    },
    takeForGood(sessionId) {
      const one = find(sessionId);
      if (one !== undefined) remove(one);
      return one;
    },
    settle(token, settlement) {
      queue.expireLocks();
      const one = stored.find(({ lock }) => lock?.token === token);
      if (one === undefined) return "lost";
      if (settlement.act === "dead-letter" && queue.refusesDeadLetters) return "refused";
      one.lock = undefined;
      if (settlement.act === "complete") {
        remove(one);
      } else if (settlement.act === "dead-letter") {
        bury(one, settlement.reason, settlement.description);
      } else {
        Object.assign((one.message.application_properties ??= {}), settlement.changes);
        countDelivery(one);
      }
      return "settled";
    },
    renew(token) {
      queue.expireLocks();
      const lock = stored.find((one) => one.lock?.token === token)?.lock;
      if (lock === undefined) return undefined;
      lock.until = now() + settings.lockMs;
      return lock.until;
    },
    peek(from, count, sessionId) {
      const wanted = stored.filter(
        (one) => one.sequence >= from && (sessionId === undefined || one.message.group_id === sessionId),
      );
      return wanted.slice(0, count);
    },
    acceptSession(wanted, owner) {
      queue.expireLocks();
      const free = stored.find(({ message, visibleAt }) => visibleAt <= now() && isFree(String(message.group_id)));
      const id = wanted ?? free?.message.group_id;
      if (id === undefined) return "none";
      if (!isFree(id)) return "busy";
      const until = now() + settings.lockMs;
      sessions.set(id, { until, owner });
      return { id, until };
    },
    renewSession(id, owner) {
      queue.expireLocks();
      const lock = sessions.get(id);
      if (lock?.owner !== owner) return undefined;
      lock.until = now() + settings.lockMs;
      return lock.until;
    },
    releaseSession(id, owner) {
      if (queue.ownsSession(id, owner)) unlockSession(id, false);
    },
    ownsSession: (id, owner) => sessions.get(id)?.owner === owner,
    expireLocks() {
      for (const [id, { until }] of sessions) if (until <= now()) unlockSession(id, true);
      if (settings.requiresSession) return;
      for (const one of stored.filter(({ lock }) => lock !== undefined && lock.until <= now())) {
        one.lock = undefined;
        countDelivery(one);
      }
    },
    counts() {
      const scheduled = stored.filter(({ visibleAt }) => visibleAt > now()).length;
      return { active: stored.length - scheduled, scheduled };
    },
    clear() {
      stored = [];
    },
  };
  return queue;
}
