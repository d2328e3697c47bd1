import type { AuditNote } from "./audit.ts";
import type { DeliveryKey } from "./lanes.ts";

/** Erases all data of a tenant in small steps; the effect of each step is on disk when it resolves. */
export interface Erasures {
  findErasure(tenantId: string): Promise<ErasureRow | undefined>;
  /** The tenants whose erasure is not complete. */
  listErasing(): Promise<readonly string[]>;
  /**
   * Starts an erasure. From then on the tenant is inactive, without name, contacts, quotas and retention, and no record
   * of it can be written until the erasure is complete. If one is already running, it is returned and no entry is
   * written.
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
