import type { DeadReason } from "./delivery.ts";

/** A job on many deliveries: what it selects, and how far it is. */

export const REPLAY_KINDS = ["dead_letters", "events", "recover", "cancel", "purge"] as const;
export type ReplayKind = (typeof REPLAY_KINDS)[number];

export const REPLAY_STATUSES = ["running", "paused", "completed", "cancelled", "failed"] as const;
export type ReplayStatus = (typeof REPLAY_STATUSES)[number];

/** `failed`: the subscription's dead letters. `missing`: events that it would get today but never got. */
export const RECOVER_INCLUDES = ["failed", "missing", "all"] as const;
export type RecoverInclude = (typeof RECOVER_INCLUDES)[number];

/** The filter as requested, with the names on the wire. */
export interface ReplayFilter {
  subscription_id?: string;
  tenant_id?: string;
  event_type?: string;
  source?: string;
  reason?: DeadReason;
  status?: "pending";
  /** For dead letters the time of death; otherwise the time of the event's arrival. */
  since?: string;
  until?: string;
  include?: RecoverInclude;
}

/** Whether the job sends deliveries again; such jobs must not crowd out new deliveries. */
export function opensDeliveries(kind: ReplayKind): boolean {
  return kind !== "cancel" && kind !== "purge";
}

export function isOver(status: ReplayStatus): boolean {
  return status !== "running" && status !== "paused";
}
