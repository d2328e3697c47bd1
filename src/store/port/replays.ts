import type { DeadReason } from "../../domain/delivery.ts";
import type { Refused } from "../../domain/refusal.ts";
import type { RecoverInclude, ReplayFilter, ReplayKind, ReplayStatus } from "../../domain/replay.ts";
import type { DeliveryKey, Page, PageOf, UnfinishedFanOut } from "../store.ts";

/**
 * Jobs over many deliveries. A job walks over events and subscriptions in the order of their numbers; how far it is
 * moves in the transaction that changes what it has reached, so that nothing is done twice or left out.
 */
export interface ReplayBook {
  /** One that has this id already is left as it is, and returned. */
  insertReplay(replay: NewReplay): Promise<ReplayRow>;
  findReplay(id: string): Promise<ReplayRow | undefined>;
  /** The latest first. */
  listReplays(
    filter: { tenantId?: string | undefined; status?: ReplayStatus | undefined },
    page: Page,
  ): Promise<PageOf<ReplayRow>>;
  loadRunningReplays(): Promise<readonly ReplayRow[]>;
  /** Refused when it is over, or when there is none. What it already is changes nothing. */
  setReplayStatus(
    id: string,
    status: ReplayStatus,
    change: { at: number; error?: string | undefined },
  ): Promise<ReplayRow | Refused>;
  /**
   * Does what the job is for to each of these, as far as their state still allows it, and moves its cursor. Nothing is
   * done when it is not running, or its cursor is not where the caller thinks. Refused when there is no such job.
   */
  stepReplay(step: ReplayStep, items: readonly ReplayItem[]): Promise<ReplayStepResult | Refused>;
  /** The next ones after `after`, as they are now; looks at no more than `maxScanned`. */
  walkReplay(walk: ReplayWalk, after: DeliveryKey, page: { limit: number; maxScanned: number }): Promise<ReplayPage>;
  /** Of each subscription, how many were opened again and not tried since; counts no further than `limit`. */
  countOpenReplays(subscriptionSeqs: readonly number[], limit: number): Promise<readonly number[]>;
  /**
   * The events that were received in that time lie between these, unless the clock was ever set back by more than a
   * day; others may lie there too.
   */
  findEventRange(since: number | undefined, until: number | undefined): Promise<{ afterSeq: number; upToSeq: number }>;
  /** What filters may ask for, the body apart. */
  loadEventFacts(eventSeq: number): Promise<Omit<UnfinishedFanOut, "cursor"> | undefined>;
}

export interface NewReplay {
  id: string;
  tenantId: string | undefined;
  kind: ReplayKind;
  filter: ReplayFilter;
  subscriptionSeq: number | undefined;
  /** The lane of a deleted subscription: `cancelLane` moves the counts of its job. */
  laneSeq: number | undefined;
  afterSeq: number;
  upToSeq: number;
  cursor: string;
  total: number;
  totalIsExact: boolean;
  /** In wall time, as all times of a job. */
  createdAt: number;
}

export interface ReplayRow extends NewReplay {
  status: ReplayStatus;
  /** Deliveries that were changed; that had changed by themselves; that could not be. */
  done: number;
  skipped: number;
  failed: number;
  error: string | undefined;
  startedAt: number;
  completedAt: number | undefined;
}

export interface ReplayStep {
  id: string;
  cursorFrom: string;
  cursorTo: string;
  isEnd: boolean;
  /** Those that the caller found to be impossible. */
  failed: number;
  now: number;
  wall: number;
}

export interface ReplayItem extends DeliveryKey {
  /** There is no delivery yet. */
  isMissing: boolean;
  ordered: boolean;
  expiresAt: number | undefined;
}

export interface ReplayStepResult {
  /** Undefined when the job is not running, or its cursor is elsewhere. */
  changed: readonly boolean[] | undefined;
  replay: ReplayRow;
}

/** Which deliveries a job is about. */
export interface ReplayWalk {
  /** Dead letters; deliveries that have ended; those that have not; or events as one subscription has them. */
  over: "dead" | "ended" | "open" | "events";
  upToSeq: number;
  tenantId?: string | undefined;
  subscriptionSeq?: number | undefined;
  type?: string | undefined;
  source?: string | undefined;
  reason?: DeadReason | undefined;
  isPending?: boolean | undefined;
  /** Of the completion with `dead`, of the event's arrival else. */
  since?: number | undefined;
  until?: number | undefined;
  /** With `events`. `had`: what has ended; `any`: that, and what is missing. */
  include?: RecoverInclude | "had" | "any" | undefined;
  /** What has expired by then is not missing. */
  now: number;
}

export interface ReplayPage {
  found: readonly FoundDelivery[];
  /** The last that was looked at. */
  after: DeliveryKey;
  isEnd: boolean;
}

export interface FoundDelivery extends DeliveryKey {
  isMissing: boolean;
  type: string;
}
