import type { EventContent } from "../../domain/event.ts";
import type { HeaderBlock } from "../../domain/header-block.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { Subscription } from "../../domain/subscription.ts";

/** One try of one delivery: all that a sender needs to know. */
export interface Attempt {
  deliveryId: string;
  /** From 1; goes on counting over replays. */
  number: number;
  event: EventContent;
  /** JSON of the request that it came with; only for a subscription that forwards, and only of a webhook. */
  request?: string | undefined;
  subscription: Subscription;
}

/** The credentials among the headers of a kept request, by name; empty when none were kept. */
export type OpenCredentials = (event: EventContent, sealed: string) => Readonly<Record<string, string>>;

/** What was done, for the attempt's record. */
export interface AttemptReport {
  outcome: Outcome;
  /** Unix ms (`Clock.wall`). */
  startedAt: number;
  durationMs: number;
  url: string;
  /** The IP address connected to, when a connection was made. */
  address: string | undefined;
  /** Secrets masked, without those of `domain/attempt-headers.ts`; empty when nothing was sent. */
  requestHeaders: HeaderBlock;
}

/**
 * Makes attempts at destinations of one kind.
 */
export interface Sender {
  readonly limits: { readonly maxBatch: number };
  /**
   * Makes one attempt at one destination for 1..`maxBatch` deliveries of one lane and reports on each, in the order
   * given. Calls `done` exactly once, within the subscription's timeout plus one second; never throws and never
   * reports a destination's fault as an exception. A callback and not a promise: this is the hottest call there is.
   */
  send(attempts: readonly Attempt[], done: (reports: readonly AttemptReport[]) => void): void;
  /** Ends at once what is still in flight (reported as `error`) and frees sockets. */
  close(): Promise<void>;
}
