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
  /** Not from the request: the caller was bound to a tenant. The job leaves out what such a caller may not do. */
  is_bound?: true;
}

/** The filter as it is shown. */
export function requestedFilter(filter: ReplayFilter): ReplayFilter {
  const { is_bound: _, ...requested } = filter;
  return requested;
}

/**
 * What a caller must be allowed to do with each subscription of the job. A job for one subscription may make deliveries
 * that the subscription never had: then the caller chooses what is sent there.
 */
export function actOf(kind: ReplayKind, { subscription_id: id, include }: ReplayFilter): "change" | "use" {
  const makesNew = kind === "recover" ? (include ?? "failed") !== "failed" : kind === "events" && id !== undefined;
  return makesNew ? "use" : "change";
}

/** Whether the job sends deliveries again; such jobs must not crowd out new deliveries. */
export function opensDeliveries(kind: ReplayKind): boolean {
  return kind !== "cancel" && kind !== "purge";
}

export function isOver(status: ReplayStatus): boolean {
  return status !== "running" && status !== "paused";
}
