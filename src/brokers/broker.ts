import type { BrokerFault } from "./broker-fault.ts";
import type { ParkedPlace, ParkedQueue } from "./parked/parked.ts";

/** What a source takes messages from and a sender publishes to, whichever kind of broker it is. */

/** One per name and process. It is opened when it is first used, and opens itself again whenever it is lost. */
export interface BrokerConnection {
  readonly limits: BrokerLimits;
  state(): ConnectionState;
  /** Holds at most `maxUnacknowledged` messages at a time that nobody has settled. */
  openTaker(options: TakerOptions): QueueTaker;
  /** To a queue, or on RabbitMQ to an exchange; the message's subject is the routing key there. */
  openPublisher(destination: string): Publisher;
  depth(queue: string): Promise<QueueDepth>;
  openParked(place: ParkedPlace): ParkedQueue;
  /**
   * The bodies of all messages in a queue, or parked from it, those that somebody holds too. Undefined where it cannot be
   * said that these are all.
   */
  seeAll(queue: string, where: "waiting" | "parked"): Promise<readonly Buffer[] | undefined>;
  /** Takers and publishers end first. What is held and not settled comes again, to whoever takes next. */
  close(): Promise<void>;
}

/** Differences between brokers, as data. */
export interface BrokerLimits {
  /** Of a whole message as the broker counts it. */
  maxMessageBytes: number;
  canRenew: boolean;
  /** A message that is held for longer, without being renewed, is handed out again. */
  longestHoldMs: number;
  canDelayRetry: boolean;
}

export type ConnectionState =
  /** Nobody has used it yet. */
  | { state: "unused" }
  | { state: "connecting" }
  | { state: "connected" }
  /** It is tried again by itself, `retryAt` at the earliest. */
  | { state: "failed"; fault: BrokerFault; retryAt: number };

export interface TakerOptions {
  queue: string;
  maxUnacknowledged: number;
  /** How long a message stays hidden from others unless it is renewed; RabbitMQ has its own idea of it. */
  holdMs: number;
  /** Where parked messages go, where the broker has no dead letters of its own. */
  parkTo: { destination: string; subject: string };
  /** Messages of one session are taken in their order, by one taker at a time. */
  sessions: boolean;
}

export interface QueueTaker {
  /**
   * Up to `max` messages as soon as there is one, and none when `waitMs` have passed or the connection was lost.
   * Waits while the connection is away, whose state tells why. Rejects with a BrokerFault for what is wrong with the
   * queue itself; the next call tries again.
   */
  take(max: number, waitMs: number): Promise<TakenMessage[]>;
  /**
   * Gives back what was not handed out yet, and brings nothing until the next `take`, of which a broker that pushes
   * brings no more than that asks for at first. What was handed out can still be settled.
   */
  rest(): Promise<void>;
  /** Gives back what was not handed out yet. */
  close(): Promise<void>;
}

/** Properties of a parked message that say why. */
export const PARK_REASON = "x-posthorn-reason";
export const PARK_DESCRIPTION = "x-posthorn-description";
/** And from which queue, where messages of several are parked in one. */
export const PARK_QUEUE = "x-posthorn-queue";

/** What a message was called before it was parked and requeued: a broker may insist on another name for the copy. */
export const FIRST_ID = "x-posthorn-id";
export const FIRST_SUBJECT = "x-posthorn-subject";
export const FIRST_EXCHANGE = "x-posthorn-exchange";

/** `lost`: somebody else may have it by now, because it was held for too long or the connection was lost. */
export type Settled = "settled" | "lost";

export type MessageProperty = string | number | boolean;

export interface TakenMessage {
  readonly id: string | undefined;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  /** Routing key or subject. */
  readonly subject: string | undefined;
  /** Where it was published to, where that is not the queue. */
  readonly exchange?: string | undefined;
  readonly sessionId: string | undefined;
  readonly properties: Readonly<Record<string, MessageProperty>>;
  /** How often it was handed out, this time included, as far as the broker counts that. */
  readonly deliveryCount: number;
  acknowledge(): Promise<Settled>;
  /** Back into the queue; later, where the broker can wait. */
  retry(delayMs?: number): Promise<Settled>;
  /** Hidden for another `holdMs` from now. Undefined where the broker cannot. */
  readonly renew: (() => Promise<Settled>) | undefined;
  /** Away from the queue, with the reason; acknowledged only when that is confirmed. */
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
  properties: Readonly<Record<string, MessageProperty>>;
}

export type Published =
  /** The broker has it as durably as it can. */
  | { outcome: "confirmed" }
  /** Taken by an exchange to which no queue is bound for it. */
  | { outcome: "unroutable" }
  | { outcome: "failed"; fault: BrokerFault; mayHaveArrived: boolean };

export interface Publisher {
  /** Never rejects. Fails at once while the connection is away: whoever publishes knows when to try again. */
  publish(message: OutgoingMessage): Promise<Published>;
  close(): Promise<void>;
}

export interface QueueDepth {
  ready: number;
  /** Taken by somebody and not settled; undefined where the broker does not say. */
  held: number | undefined;
}
