import type { Subscription } from "../../domain/subscription.ts";
import type { HealthPlace } from "../../domain/target.ts";
import type { DestinationKinds } from "./kinds.ts";
import type { Attempt, DestinationKind, Handshake, RequestPreview, Sender } from "./sender.ts";
import type { SenderServices } from "./services.ts";

/** The senders of all kinds, open. */
export interface Senders {
  find(kind: string): Sender | undefined;
  /** Rejects for settings that may not be used from here. */
  refuse(kind: DestinationKind, settings: object): Promise<void>;
  /** Whether the configuration leaves a kind to the operator. */
  isForOperators(kind: DestinationKind): boolean;
  /** What will not be as whoever set it may think, in sentences. */
  warnOf(kind: DestinationKind, settings: object): readonly string[];
  /** Asks the destination of one that was created or changed whether it wants deliveries, where that is set. */
  beginHandshake(subscription: Subscription): void;
  /** What it has said; undefined where it is not asked. */
  handshakeOf(subscription: Subscription): Handshake | undefined;
  /** Asks whether a target is well. Calls `done` once, with what is wrong or with undefined. */
  checkHealth(place: HealthPlace, owner: string, done: (error: string | undefined) => void): void;
  /** How many of those that it took wait at a queue; undefined where nobody can say. */
  countWaiting(subscription: Subscription): Promise<number | undefined>;
  /** The request that an attempt would make; undefined where its kind makes none. */
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
    isForOperators: ({ name }) => senders.get(name)?.isForOperators === true,
    warnOf: ({ name }, settings) => senders.get(name)?.warnOf?.(settings) ?? [],
    beginHandshake: (subscription) => senders.get(subscription.kind)?.beginHandshake?.(subscription),
    handshakeOf: (subscription) => senders.get(subscription.kind)?.handshakeOf?.(subscription),
    checkHealth(place, owner, done) {
      const sender = senders.get(place.kind);
      if (sender?.checkHealth === undefined) return done(`nobody can check the health of the kind ${place.kind}`);
      sender.checkHealth(place, owner, done);
    },
    countWaiting: (subscription) =>
      senders.get(subscription.kind)?.countWaiting?.(subscription) ?? Promise.resolve(undefined),
    preview: (attempt) => senders.get(attempt.subscription.kind)?.preview?.(attempt),
    async close() {
      await Promise.all([...senders.values()].map((sender) => sender.close()));
    },
  };
}
