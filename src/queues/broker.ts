import type { BrokerFault } from "./broker-fault.ts";
import type { ParkedPlace, ParkedQueue } from "./parked.ts";

/** The port for all kinds of brokers: sources take messages from it, and senders publish to it. */

/**
 * One per name and process. It is opened at first use, and opened again whenever it is lost. `Needed`: what `declare`
 * creates and `check` compares.
 */
export interface BrokerConnection<Needed = never> {
  readonly limits: BrokerLimits;
  state(): ConnectionState;
  /** Holds at most `maxUnacknowledged` unsettled messages at a time. */
  openTaker(options: TakerOptions): Taker;
  /** For a queue, or an exchange on RabbitMQ, where the message's subject is the routing key. */
  openPublisher(destination: string): Publisher;
  depth(queue: string): Promise<QueueDepth>;
  openParked(place: ParkedPlace): ParkedQueue;
  /** All bodies in a queue or parked from it, held ones included. Undefined unless these are surely all. */
  seeAll(queue: string, where: "waiting" | "parked"): Promise<readonly Buffer[] | undefined>;
  /** Creates missing parts. Rejects with a BrokerFault when one exists with other settings. */
  declare(needed: Needed): Promise<void>;
  /** Compares without changing anything. */
  check(needed: Needed): Promise<Findings>;
  /** Takers and publishers must be closed first. Unsettled messages are delivered again, to the next taker. */
  close(): Promise<void>;
}

/** One sentence for each finding. */
export interface Findings {
  /** What is missing or different. */
  differences: string[];
  /** What could not be checked, and why. */
  unchecked: string[];
}

/** How a broker lets its messages be held, as data. */
export interface HoldLimits {
  /** A message that is held longer without being renewed is delivered again. */
  holdMs: number;
  canRenew: boolean;
  /** Whether a returned message can be made to come again only later. */
  canDelayRetry: boolean;
}

/** Differences between brokers, as data. */
export interface BrokerLimits extends HoldLimits {
  /** Size of a whole message, as the broker counts it. */
  maxMessageBytes: number;
  /** The depth of a queue includes messages that somebody holds. */
  countsHeld: boolean;
}

export type ConnectionState =
  /** Not used yet. */
  | { state: "unused" }
  | { state: "connecting" }
  | { state: "connected" }
  /** It is opened again automatically, at `retryAt` at the earliest. */
  | { state: "failed"; fault: BrokerFault; retryAt: number };

export interface TakerOptions {
  queue: string;
  maxUnacknowledged: number;
  /** Another time than the broker's usual one, where it can be chosen. */
  holdMs?: number | undefined;
  /** Where parked messages go when the broker has no dead letters of its own. */
  parkTo: { destination: string; subject: string };
  /** Messages of one session are taken in order, by one taker at a time. */
  sessions: boolean;
}

/** A consumer of one queue. It reconnects by itself. Messages of a lost connection are delivered again. */
export interface Taker {
  readonly limits: HoldLimits;
  /**
   * Resolves with up to `max` messages as soon as there is one, and with none after `waitMs` or when the connection was
   * lost. Waits while there is no connection; the connection's state says why. Rejects with a BrokerFault for problems
   * of the queue itself; the next call tries again.
   */
  take(max: number, waitMs: number): Promise<TakenMessage[]>;
  /**
   * Returns messages that were not handed out yet, and brings no more until the next `take`. A broker that pushes then
   * brings at first only as many as that call asks for. Messages that were handed out can still be settled.
   */
  rest(): Promise<void>;
  /** Returns messages that were not handed out yet. */
  close(): Promise<void>;
}

/** The properties of a parked message that contain the reason. */
export const PARK_REASON = "x-posthorn-reason";
export const PARK_DESCRIPTION = "x-posthorn-description";
/** The queue that the message came from, for brokers that park messages of several queues in one. */
export const PARK_QUEUE = "x-posthorn-queue";
/** When the message was parked, in Unix ms, where the broker does not say it and the message has a time of its own. */
export const PARK_TIME = "x-posthorn-parked-at";

/** The id of a message before it was parked and requeued: a broker may require another id for the copy. */
export const FIRST_ID = "x-posthorn-id";
export const FIRST_SUBJECT = "x-posthorn-subject";
export const FIRST_EXCHANGE = "x-posthorn-exchange";

/** `lost`: another receiver may have the message, because it was held for too long or the connection was lost. */
export type Settled = "settled" | "lost";

export type MessageProperty = string | number | boolean;

export interface ReceivedMessage {
  readonly id: string | undefined;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  /** The routing key or subject. */
  readonly subject: string | undefined;
  readonly properties: Readonly<Record<string, MessageProperty>>;
}

export interface TakenMessage extends ReceivedMessage {
  /** The exchange that the message was published to, if there is one. */
  readonly exchange?: string | undefined;
  readonly sessionId: string | undefined;
  /** How often the message was delivered, this time included, as far as the broker counts it. */
  readonly deliveryCount: number;
  acknowledge(): Promise<Settled>;
  /** Returns the message to the queue; after the delay, if the broker supports that. */
  retry(delayMs?: number): Promise<Settled>;
  /** Hides the message for another `holdMs` from now. Undefined when the broker does not support this. */
  readonly renew: (() => Promise<Settled>) | undefined;
  /**
   * Moves the message away from the queue, with the reason; it is acknowledged only after that is confirmed. When this
   * rejects, the message is still held: `retry` returns it.
   */
  park(reason: string, description: string): Promise<Settled>;
}

export interface OutgoingMessage {
  id: string;
  body: Uint8Array;
  contentType: string | undefined;
  subject: string | undefined;
  sessionId: string | undefined;
  correlationId: string | undefined;
  /** Unix ms. */
  timestamp: number;
  /** From when on nobody wants it any more; for brokers that hand expired messages on, in ms from now. */
  expiresInMs?: number | undefined;
  properties: Readonly<Record<string, MessageProperty>>;
}

export type Published =
  /** The broker has stored the message as durably as it can. */
  | { outcome: "confirmed" }
  /** An exchange accepted the message, but no queue is bound for it. */
  | { outcome: "unroutable" }
  | { outcome: "failed"; fault: BrokerFault };

export interface Publisher {
  /** Never rejects. Fails at once while there is no connection: the caller decides when to retry. */
  publish(message: OutgoingMessage): Promise<Published>;
  close(): Promise<void>;
}

export interface QueueDepth {
  ready: number;
  /** Messages that are taken and not settled; undefined when the broker does not say. */
  held: number | undefined;
}
