import type { MessageProperty, Settled } from "../broker.ts";

/** What lies in the poison queue, dead-letter queue or queue behind a DLX of one queue, whichever kind of broker it is. */
export interface ParkedQueue {
  readonly limits: ParkedLimits;
  /** As far as the broker counts at this moment. */
  count(): Promise<number>;
  /** Up to `max` from the oldest on, or from the one after `place`; all stay where they are. */
  peek(max: number, place?: string): Promise<ParkedMessage[]>;
  openWalk(): ParkedWalk;
}

export interface ParkedPlace {
  /** The queue that messages were parked from. */
  queue: string;
  /** The queue that they lie in; Service Bus knows its own. */
  parkedIn: string;
}

/** What brokers cannot do alike, as data. */
export interface ParkedLimits {
  /** How many can be looked at, counted from the oldest. */
  looksAt: number;
  /** A list can go on where the last one ended. */
  canPage: boolean;
  /** The broker has no peek: what is looked at is taken and given back, and counts as delivered once more. */
  countsLooks: boolean;
  /** A message that is requeued has the id that it had before. */
  keepsId: boolean;
}

export interface ParkedMessage {
  /** By which it is found again. */
  readonly key: string;
  /** Where a list goes on after it; undefined where it cannot. */
  readonly place: string | undefined;
  readonly id: string | undefined;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly subject: string | undefined;
  readonly properties: Readonly<Record<string, MessageProperty>>;
  readonly reason: string | undefined;
  readonly description: string | undefined;
  /** The queue that it goes back to; undefined when nothing tells. */
  readonly cameFrom: string | undefined;
  /** Unix ms. */
  readonly parkedAt: number | undefined;
}

/** Holds what it hands out until it is closed: nobody else gets it meanwhile, and none is seen twice. */
export interface ParkedWalk {
  /** Up to `max` more; none when there are no more. */
  next(max: number): Promise<HeldParked[]>;
  /** Gives back what was not removed. */
  close(): Promise<void>;
}

export interface HeldParked extends ParkedMessage {
  /** Resolves when the broker has a copy, without the reason, in the queue that it came from. */
  copyBack(): Promise<void>;
  remove(): Promise<Settled>;
}

/** Bodies of one look are held in memory, all at once. */
export const MAX_LOOK_BYTES = 32 * 1024 * 1024;
