import { settledBy } from "./broker-fault.ts";
import type { ReceivedMessage, Settled } from "./broker.ts";

/** The parked messages of one queue: in a poison queue, a dead-letter queue or a queue behind a DLX. */
export interface ParkedQueue {
  readonly limits: ParkedLimits;
  /** The broker's current count. */
  count(): Promise<number>;
  /** Up to `max` messages, from the oldest or from the one after `place`; all stay in the queue. */
  peek(max: number, place?: string): Promise<ParkedMessage[]>;
  openWalk(): ParkedWalk;
}

export interface ParkedPlace {
  /** The queue that messages were parked from. */
  queue: string;
  /** The queue that contains the parked messages; Service Bus knows its own. */
  parkedIn: string;
}

/** Differences between brokers, as data. */
export interface ParkedLimits {
  /** How many messages can be looked at, counted from the oldest. */
  looksAt: number;
  /** A list can continue where the last one ended. */
  canPage: boolean;
  /** The broker has no peek: looking at a message takes and returns it, which counts as a delivery. */
  countsLooks: boolean;
  /** A requeued message keeps its id. */
  keepsId: boolean;
}

export interface ParkedMessage extends ReceivedMessage {
  /** Identifies the message. */
  readonly key: string;
  /** Where a list continues after this message; undefined when it cannot. */
  readonly place: string | undefined;
  readonly reason: string | undefined;
  readonly description: string | undefined;
  /** The queue that the message goes back to; undefined when it is not known. */
  readonly cameFrom: string | undefined;
  /** Unix ms. */
  readonly parkedAt: number | undefined;
}

/** Holds messages until it is closed: nobody else gets them meanwhile, and none is seen twice. */
export interface ParkedWalk {
  /** Up to `max` more messages; empty at the end. */
  next(max: number): Promise<HeldParked[]>;
  /** Returns the messages that were not removed. */
  close(): Promise<void>;
}

export interface HeldParked extends ParkedMessage {
  /** Resolves when the broker has a copy, without the reason, in the queue that the message came from. */
  copyBack(): Promise<void>;
  remove(): Promise<Settled>;
}

/** The same for every broker: what is taken is held until it is removed, or returned at the end. */
export function createParkedWalk<Raw>(broker: {
  /** Calls `hold` with each message at once: what is taken when nobody waits any more must be returned, too. */
  take(max: number, hold: (raw: Raw) => void): Promise<readonly Raw[]>;
  show(raw: Raw): ParkedMessage;
  copyBack(raw: Raw): Promise<unknown>;
  /** Rejects with the fault `lost` when another receiver may have it. */
  remove(raw: Raw): Promise<unknown>;
  /** Gets the messages that were not removed. */
  close(left: Iterable<Raw>): Promise<void>;
}): ParkedWalk {
  const held = new Set<Raw>();
  const toHeld = (raw: Raw): HeldParked => ({
    ...broker.show(raw),
    copyBack: async () => void (await broker.copyBack(raw)),
    remove() {
      held.delete(raw);
      return settledBy(() => broker.remove(raw));
    },
  });
  return {
    next: async (max) => (await broker.take(max, (raw) => held.add(raw))).map(toHeld),
    close: () => broker.close(held),
  };
}

/** The bodies of one look are all in memory at once. */
export const MAX_LOOK_BYTES = 32 * 1024 * 1024;
