import type { Ages } from "../../domain/retention.ts";

/** What is old goes, in steps that each are one small part of a transaction. Walks begin at 0 and go on from `afterSeq`. */
export interface RetentionBook {
  /**
   * Deletes events that are older than they may become, with all that belongs to them, and erases the answers of
   * attempts that are; never what is open, blocks an ordering key or ended less than an hour ago. The ids of what is
   * deleted stay known for as long as ids are. Changes at most `maxRows` rows and 4 MB, or one event.
   */
  pruneEvents(step: PruneStep): Promise<PrunedEvents>;
  /** The same for logged requests. */
  pruneRequests(step: PruneStep): Promise<Pruned>;
  /** The oldest event, and about how many were received in that time. */
  loadEventSpan(since: number, until: number): Promise<EventSpan>;
  /** Room that was freed inside of the store and that new events use. */
  loadReusableBytes(): Promise<number>;
}

export interface PruneStep {
  afterSeq: number;
  maxRows: number;
  rules: RetentionRules;
  /** In wall time. */
  wall: number;
}

export interface RetentionRules {
  gateway: Ages;
  /** Those with times of their own. */
  tenants: readonly (readonly [tenantId: string, ages: Ages])[];
}

export interface Pruned {
  removed: number;
  afterSeq: number;
  isEnd: boolean;
  /** How long the step held the writer up. */
  tookMs: number;
}

export interface PrunedEvents extends Pruned {
  deliveries: number;
  /** Attempts whose answers were erased. */
  answers: number;
  /** Of the bodies. */
  bytes: number;
}

export interface EventSpan {
  oldestReceivedAt: number | undefined;
  received: number;
}
