import type { AuditNote } from "./audit.ts";
import type { DeliveryKey } from "./lanes.ts";

/** Takes all of a tenant out of the store, in small steps; what the steps have done is on disk with them. */
export interface Erasures {
  findErasure(tenantId: string): Promise<ErasureRow | undefined>;
  /** The tenants whose erasure is not over. */
  listErasing(): Promise<readonly string[]>;
  /**
   * Begins one: the tenant is inactive from then on, without its name, contacts, quotas and times, and until it is over
   * no record of it can be written. One that runs is answered as it is, and nothing is noted.
   */
  beginErasure(tenantId: string, note: AuditNote): Promise<ErasureRow>;
  /** Changes at most `maxRows` rows and 1 MB, or one event. Nothing happens when it is over. */
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
  /** Events that there were when it began. */
  total: number;
  events: number;
  deliveries: number;
  /** Of bodies. */
  bytes: number;
  requests: number;
  /** Subscriptions, keys, sources and whatever else was configured for it. */
  records: number;
  /** Entries of the audit log of which only the fact is left. */
  auditEntries: number;
  /** In wall time. */
  startedAt: number;
  completedAt: number | undefined;
}

export interface ErasureStep {
  row: ErasureRow;
  /** Open deliveries that were ended. */
  ended: readonly DeliveryKey[];
  /** How long the step held the writer up. */
  tookMs: number;
}
