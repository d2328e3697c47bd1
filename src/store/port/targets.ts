import type { IdempotencyMark } from "./idempotency.ts";
import type { ManagedBy } from "../../domain/subscription.ts";

/** Targets that several subscriptions share; one that is a subscription's own has its mode there. */
export interface TargetRecords {
  loadTargets(): Promise<readonly TargetRow[]>;
  /** Makes it, or changes all of it; a mode that is not given stays. */
  saveTarget(row: TargetRow, mark?: IdempotencyMark): Promise<void>;
  deleteTarget(tenantId: string, name: string): Promise<void>;
}

export interface TargetRow {
  tenantId: string;
  name: string;
  /** JSON. */
  settings: string;
  managedBy: ManagedBy;
  /** JSON. */
  mode: string | undefined;
  updatedAt: number;
}
