import type { Ages } from "../../domain/retention.ts";
import type { Refused } from "../../domain/refusal.ts";
import type { DeadReason } from "../../domain/delivery.ts";
import type { RecoverInclude, ReplayFilter, ReplayKind, ReplayStatus } from "../../domain/replay.ts";
import type { AuditNote } from "./audit.ts";
import type { Erasures } from "./erasures.ts";
import type { DeliveryKey } from "./lanes.ts";
import type { Page, PageOf } from "./reads.ts";

/**
 * Work that takes longer than a call: when it is due, whose it is, how far it has come. Leases run by the store's own
 * clock, so that two processes never think that one job is theirs.
 */
export interface Jobs extends Erasures {
  /** Periodic jobs by name, each with its runs, the latest first. */
  load(): Promise<readonly JobRow[]>;
  /** Makes sure that the job runs no later than then; makes it known when it is not. */
  schedule(name: string, at: number): Promise<void>;
  /** One at a time, whoever asks: the job belongs to the runner until the lease ends. */
  start(start: JobRunStart): Promise<StartedJobRun | Refused>;
  /** False when the lease was lost to another. */
  renew(name: string, runner: string, leaseMs: number): Promise<boolean>;
  /**
   * The next run is at `nextRunAt`, or earlier when that was asked for meanwhile; resolves to when. Of all runs the
   * last `keep` are kept.
   */
  end(end: JobRunEnd): Promise<number>;

  findReplay(id: string): Promise<ReplayRow | undefined>;
  /** The latest first. */
  listReplays(filter: ReplayRowFilter, page: Page): Promise<PageOf<ReplayRow>>;
  /** Refused when it is over, or when there is none. What it already is changes nothing, and has no entry. */
  setReplayStatus(id: string, status: ReplayStatus, error?: string, audit?: AuditNote): Promise<ReplayRow | Refused>;
  /**
   * Does what the job is for to each of these, as far as their state still allows it, and moves its cursor in the same
   * transaction, so that nothing is done twice or left out. Nothing is done when it is not running, or its cursor is not
   * where the caller thinks. Refused when there is no such job.
   */
  stepReplay(step: ReplayStep, items: readonly ReplayItem[]): Promise<ReplayStepResult | Refused>;

  /** Adds each to its minute and to its hour. Written late and in few rows, so it may lack what a crash cut off. */
  addAttemptStats(deltas: readonly AttemptStats[]): Promise<void>;
  /** Deletes what is old, a small part of a transaction at a time. A walk begins at 0 and goes on from `afterSeq`. */
  prune(step: PruneStep): Promise<Pruned>;
}

export interface JobRow {
  name: string;
  /** Undefined while it runs, unless another run was asked for. */
  nextRunAt: number | undefined;
  /** While it runs. After a crash it is due when this has passed. */
  leaseUntil: number | undefined;
  runs: readonly JobRun[];
}

export interface JobRun {
  number: number;
  trigger: "schedule" | "manual";
  /** In wall time. */
  startedAt: number;
  endedAt: number | undefined;
  result: "running" | "success" | "failed" | "interrupted";
  /** JSON of what was done. */
  summary: string | undefined;
  error: string | undefined;
}

export interface JobRunStart {
  name: string;
  trigger: JobRun["trigger"];
  /** The gateway. */
  runner: string;
  leaseMs: number;
}

export type StartedJobRun =
  | { kind: "started"; number: number }
  /** Another has it. */
  | { kind: "busy"; until: number }
  /** By schedule only: another has run it meanwhile. */
  | { kind: "early"; nextRunAt: number };

export interface JobRunEnd {
  name: string;
  runner: string;
  number: number;
  result: "success" | "failed" | "interrupted";
  summary: string | undefined;
  error: string | undefined;
  nextRunAt: number;
  keep: number;
}

/**
 * A job over many deliveries, begun by `Records.write`. It walks over events and subscriptions in the order of their
 * numbers.
 */
export interface NewReplay {
  /** One that has this id already is left as it is. */
  id: string;
  tenantId: string | undefined;
  kind: ReplayKind;
  filter: ReplayFilter;
  subscriptionSeq: number | undefined;
  /** The lane of a deleted subscription: cancelling it moves the counts of its job. */
  laneSeq: number | undefined;
  afterSeq: number;
  upToSeq: number;
  cursor: string;
  total: number;
  totalIsExact: boolean;
  /** In wall time, as all times of a job. */
  createdAt: number;
  /** Written when it is begun. */
  audit?: AuditNote | undefined;
}

export interface ReplayRow extends Omit<NewReplay, "audit"> {
  status: ReplayStatus;
  /** Deliveries that were changed; that had changed by themselves; that could not be. */
  done: number;
  skipped: number;
  failed: number;
  error: string | undefined;
  startedAt: number;
  completedAt: number | undefined;
}

export interface ReplayRowFilter {
  tenantId?: string | undefined;
  status?: ReplayStatus | undefined;
}

export interface ReplayStep {
  id: string;
  cursorFrom: string;
  cursorTo: string;
  isEnd: boolean;
  /** Those that the caller found to be impossible. */
  failed: number;
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
  /** The subscription that it went to, where it ended so. */
  movedTo: number | undefined;
  type: string;
}

export interface AttemptStats {
  /** Unix minutes: when the span begins. */
  minute: number;
  /** 0 for the whole gateway. */
  subscriptionSeq: number;
  attempts: number;
  failures: number;
  /** A packed histogram. */
  latencies: Uint8Array;
}

export type PruneStep =
  /**
   * Events that are older than they may become, with all that belongs to them, and the answers of attempts that are;
   * never what is open, blocks an ordering key or ended less than an hour ago. The ids of what is deleted stay known for
   * as long as ids are. Changes at most `maxRows` rows and 4 MB, or one event. `requests`: the same for logged requests.
   */
  | { of: "events" | "requests"; afterSeq: number; maxRows: number; rules: RetentionRules; wall: number }
  /** Those that were made before then; of entries of the audit log all but the last, with a signed checkpoint. */
  | { of: "idempotency_keys" | "audit"; before: number }
  /** Spans that begin before then, in unix minutes. */
  | { of: "attempt_stats"; minute: number; hour: number };

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
  /** With events; of the bodies, and attempts whose answers were erased. */
  deliveries: number;
  answers: number;
  bytes: number;
}
