import type { Subscription } from "../model/subscription.ts";
import type { HealthPlace } from "../model/target.ts";
import type { DestinationKinds } from "./kinds.ts";
import type { Attempt, DestinationKind, Handshake, RequestPreview, Sender } from "./sender.ts";
import type { SenderServices } from "./services.ts";

/** The open senders of all kinds. */
export interface Senders {
  find(kind: string): Sender | undefined;
  /** Rejects when these settings must not be used on this gateway. */
  refuse(kind: DestinationKind, settings: object): Promise<void>;
  /** Whether a kind is reserved for the operator, always or by the configuration. */
  isForOperators(kind: DestinationKind): boolean;
  /** Warnings about settings whose effect their owner may not expect, as sentences. */
  warnOf(kind: DestinationKind, settings: object): readonly string[];
  /** Asks the destination of a new or changed subscription whether it wants deliveries, if this is configured. */
  beginHandshake(subscription: Subscription): void;
  /** The destination's answer; undefined when it is not asked. */
  handshakeOf(subscription: Subscription): Handshake | undefined;
  /** Asks whether a target is healthy. Calls `done` once, with the problem or with undefined. */
  checkHealth(place: HealthPlace, owner: string, done: (error: string | undefined) => void): void;
  /** How many delivered messages still wait in the queue; undefined when this cannot be known. */
  countWaiting(subscription: Subscription): Promise<number | undefined>;
  /** Whether somebody may hold messages that this number does not include. */
  mayHoldMore(subscription: Subscription): boolean;
  /** The request that an attempt would send; undefined for kinds that send no requests. */
  preview(attempt: Attempt): Promise<RequestPreview | { problem: string }> | undefined;
  close(): Promise<void>;
}

export function openSenders(kinds: DestinationKinds, services: SenderServices): Senders {
  const senders = new Map(kinds.list().map((kind) => [kind.name, kind.open(services)]));
  return {
    find: (kind) => senders.get(kind),
    async refuse({ name }, settings) {
      await senders.get(name)?.refuse?.(settings);
    },
    isForOperators: ({ name, isForOperators }) => isForOperators === true || senders.get(name)?.isForOperators === true,
    warnOf: ({ name }, settings) => senders.get(name)?.warnOf?.(settings) ?? [],
    beginHandshake: (subscription) => senders.get(subscription.kind)?.beginHandshake?.(subscription),
    handshakeOf: (subscription) => senders.get(subscription.kind)?.handshakeOf?.(subscription),
    checkHealth(place, owner, done) {
      const sender = senders.get(place.kind);
      if (sender?.checkHealth === undefined) return done(`there is no health check for the kind ${place.kind}`);
      sender.checkHealth(place, owner, done);
    },
    countWaiting: (subscription) =>
      senders.get(subscription.kind)?.countWaiting?.(subscription) ?? Promise.resolve(undefined),
    mayHoldMore: (subscription) => senders.get(subscription.kind)?.mayHoldMore?.(subscription) === true,
    preview: (attempt) => senders.get(attempt.subscription.kind)?.preview?.(attempt),
    async close() {
      await Promise.all([...senders.values()].map((sender) => sender.close()));
    },
  };
}
