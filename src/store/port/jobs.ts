import type { Ages } from "../../model/retention.ts";
import type { Refused } from "../../model/errors.ts";
import type { DeadReason, DeliveryCounts } from "../../model/delivery.ts";
import type { RecoverInclude, ReplayFilter, ReplayKind, ReplayStatus } from "../../model/replay.ts";
import type { AuditNote } from "./audit.ts";
import type { NewDelivery } from "./event-log.ts";
import type { DeliveryKey } from "./lanes.ts";
import type { Page, PageOf } from "./reads.ts";

/**
 * Work that takes longer than one call: when it is due, which gateway runs it, and its progress. Leases use the store's
 * own clock, so that two processes never both believe they own a job.
 */
export interface Jobs extends Erasures {
  /** Periodic jobs by name, each with its runs, the latest first. */
  load(): Promise<readonly JobRow[]>;
  /** Ensures that the job runs at this time or earlier; creates the job if it is unknown. */
  schedule(name: string, at: number): Promise<void>;
  /** Gives the job to the runner until the lease ends. Only one runner has it at a time. */
  start(start: JobRunStart): Promise<StartedJobRun | Refused>;
  /** False when another runner has taken over the lease. */
  renew(name: string, runner: string, leaseMs: number): Promise<boolean>;
  /** Schedules the next run for `nextRunAt`, or earlier if requested meanwhile, and resolves to its time. */
  end(end: JobRunEnd): Promise<number>;

  findReplay(id: string): Promise<ReplayRow | undefined>;
  /** What became of the deliveries that a job has opened, or of the first thousands of them. */
  loadReplayResults(id: string): Promise<ReplayResults>;
  /** The latest first. */
  listReplays(filter: ReplayRowFilter, page: Page): Promise<PageOf<ReplayRow>>;
  /** Rejected when the job has ended or does not exist. Setting the current status again writes nothing. */
  setReplayStatus(id: string, status: ReplayStatus, error?: string, audit?: AuditNote): Promise<ReplayRow | Refused>;
  /**
   * Applies the job to each item whose state still allows it, and moves the cursor in the same transaction. Does nothing
   * when the job is not running or its cursor is not `cursorFrom`. Rejected when the job does not exist.
   */
  stepReplay(step: ReplayStep, items: readonly ReplayItem[]): Promise<ReplayStepResult | Refused>;

  /** Adds each delta to its minute and its hour. Written late and in few rows, so a crash may lose the latest ones. */
  addAttemptStats(deltas: readonly AttemptStats[]): Promise<void>;
  /** Deletes old rows, a small part per transaction. A walk starts at 0 and continues from `afterSeq`. */
  prune(step: PruneStep): Promise<Pruned>;
}

export interface JobRow {
  name: string;
  /** Undefined while the job runs, unless another run was requested. */
  nextRunAt: number | undefined;
  /** Set while the job runs. After a crash the job is due again at this time. */
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
  /** JSON that summarises the run. */
  summary: string | undefined;
  error: string | undefined;
}

export interface JobRunStart extends Pick<JobRun, "trigger"> {
  name: string;
  /** The id of the gateway. */
  runner: string;
  leaseMs: number;
}

export type StartedJobRun =
  | { kind: "started"; number: number }
  /** Another runner has it. */
  | { kind: "busy"; until: number }
  /** Only for scheduled runs: another runner has run it meanwhile. */
  | { kind: "early"; nextRunAt: number };

export interface JobRunEnd extends Pick<JobRun, "number" | "summary" | "error"> {
  name: string;
  runner: string;
  result: Exclude<JobRun["result"], "running">;
  nextRunAt: number;
  /** Only so many of the last runs are kept. */
  keep: number;
}

/** A job on many deliveries, in the order of events and subscriptions, created by `Records.write`. */
export interface NewReplay {
  /** If a job with this id exists, it is left unchanged. */
  id: string;
  tenantId: string | undefined;
  kind: ReplayKind;
  filter: ReplayFilter;
  subscriptionSeq: number | undefined;
  /** The lane of a deleted subscription: cancelling its deliveries updates the counts of the job. */
  laneSeq: number | undefined;
  afterSeq: number;
  upToSeq: number;
  cursor: string;
  total: number;
  totalIsExact: boolean;
  /** In wall time, like all times of a job. */
  createdAt: number;
  /** Written when the job is created. */
  audit?: AuditNote | undefined;
}

export interface ReplayRow extends Omit<NewReplay, "audit"> {
  status: ReplayStatus;
  /** `done`: changed deliveries. `skipped`: their state had changed meanwhile. `failed`: could not be changed. */
  done: number;
  skipped: number;
  failed: number;
  error: string | undefined;
  startedAt: number;
  completedAt: number | undefined;
}

/** How many of the deliveries that a job opened are in each state now; those that were deleted since are left out. */
export type ReplayResults = Omit<DeliveryCounts, "deliveryCount">;

export interface ReplayRowFilter {
  tenantId?: string | undefined;
  status?: ReplayStatus | undefined;
}

export interface ReplayStep {
  id: string;
  cursorFrom: string;
  cursorTo: string;
  isEnd: boolean;
  /** How many deliveries the caller found to be impossible. */
  failed: number;
}

export interface ReplayItem extends DeliveryKey, Omit<NewDelivery, "claim"> {
  /** The delivery does not exist yet. */
  isMissing: boolean;
}

export interface ReplayStepResult {
  /** Undefined when the job is not running, or its cursor is elsewhere. */
  changed: readonly boolean[] | undefined;
  replay: ReplayRow;
}

/** Selects the deliveries of a job. */
export interface ReplayWalk {
  /** Dead letters; ended deliveries; open deliveries; or events from the view of one subscription. */
  over: "dead" | "ended" | "open" | "events";
  upToSeq: number;
  /** The owner of the subscriptions; not with `events`. */
  tenantId?: string | undefined;
  /** With `events`: only events of these tenants. */
  tenants?: readonly string[] | undefined;
  subscriptionSeq?: number | undefined;
  type?: string | undefined;
  source?: string | undefined;
  reason?: DeadReason | undefined;
  isPending?: boolean | undefined;
  /** With `dead` the time of completion, otherwise the time of the event's arrival. */
  since?: number | undefined;
  until?: number | undefined;
  /** With `events`. `had`: ended deliveries; `any`: these and missing ones. */
  include?: RecoverInclude | "had" | "any" | undefined;
  /** Deliveries that have expired by then do not count as missing. */
  now: number;
}

export interface ReplayPage {
  found: readonly FoundDelivery[];
  /** The last delivery that was examined. */
  after: DeliveryKey;
  isEnd: boolean;
}

export interface FoundDelivery extends DeliveryKey {
  isMissing: boolean;
  /** The subscription that the delivery was moved to, if that ended it. */
  movedTo: number | undefined;
  type: string;
}

export interface AttemptStats {
  /** The start of the span, in unix minutes. */
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
   * Deletes events above their maximum age, with all that belongs to them, and erases answers above theirs. Never
   * touches events with open deliveries, events that block an ordering key, or events that ended less than an hour ago.
   * The ids of deleted events stay known for the usual time. Changes at most `maxRows` rows and 4 MB, or one event.
   * `requests`: the same for logged requests.
   */
  | { of: "events" | "requests"; afterSeq: number; maxRows: number; rules: RetentionRules; wall: number }
  /** Deletes rows created before this time. In the audit log the last entry stays, and the checkpoint is signed. */
  | { of: "idempotency_keys" | "audit"; before: number }
  /** Deletes spans that begin before these times, in unix minutes. */
  | { of: "attempt_stats"; minute: number; hour: number };

export interface RetentionRules {
  gateway: Ages;
  /** Tenants with a retention of their own. */
  tenants: readonly (readonly [tenantId: string, ages: Ages])[];
}

export interface Pruned {
  removed: number;
  afterSeq: number;
  isEnd: boolean;
  /** How long the step kept the writer busy. */
  tookMs: number;
  /** Deliveries deleted with their events, attempts whose answers were erased, and bytes of deleted bodies. */
  deliveries: number;
  answers: number;
  bytes: number;
}

/** Erases all data of a tenant in small steps; the effect of each step is on disk when it resolves. */
export interface Erasures {
  findErasure(tenantId: string): Promise<ErasureRow | undefined>;
  /** The tenants whose erasure is not complete. */
  listErasing(): Promise<readonly string[]>;
  /**
   * Starts an erasure, or returns the one that is running. Until it is complete, the tenant is inactive, without name,
   * contacts, quotas and retention, and no record of it can be written.
   */
  beginErasure(tenantId: string, note: AuditNote): Promise<ErasureRow>;
  /** Changes at most `maxRows` rows and 1 MB, or one event. Does nothing when the erasure is complete. */
  stepErasure(tenantId: string, maxRows: number): Promise<ErasureStep>;
}

export const ERASURE_STAGES = [
  "records",
  "events",
  "requests",
  "ids",
  "forms",
  "versions",
  "names",
  "rest",
  "audit",
  "done",
] as const;
export type ErasureStage = (typeof ERASURE_STAGES)[number];

export interface ErasureRow {
  tenantId: string;
  stage: ErasureStage;
  /** How many events there were when the erasure began. */
  total: number;
  events: number;
  deliveries: number;
  /** Bytes of bodies. */
  bytes: number;
  requests: number;
  /** Subscriptions, keys, sources and all other records of the tenant. */
  records: number;
  /** Entries of the audit log that were reduced to the bare fact. */
  auditEntries: number;
  /** In wall time. */
  startedAt: number;
  completedAt: number | undefined;
}

export interface ErasureStep {
  row: ErasureRow;
  /** Open deliveries that the erasure ended. */
  ended: readonly DeliveryKey[];
  /** How long the step kept the writer busy. */
  tookMs: number;
}
