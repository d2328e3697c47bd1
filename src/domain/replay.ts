import type { DeadReason } from "./delivery.ts";

/** Work on many deliveries at once: what it is about, and how far it is. */

export const REPLAY_KINDS = ["dead_letters", "events", "recover", "cancel", "purge"] as const;
export type ReplayKind = (typeof REPLAY_KINDS)[number];

export const REPLAY_STATUSES = ["running", "paused", "completed", "cancelled", "failed"] as const;
export type ReplayStatus = (typeof REPLAY_STATUSES)[number];

/** `failed`: its dead letters. `missing`: events that it would get today but never had. */
export const RECOVER_INCLUDES = ["failed", "missing", "all"] as const;
export type RecoverInclude = (typeof RECOVER_INCLUDES)[number];

/** As it was asked for, by the names on the wire. */
export interface ReplayFilter {
  subscription_id?: string;
  tenant_id?: string;
  event_type?: string;
  source?: string;
  reason?: DeadReason;
  status?: "pending";
  /** Of the completion for dead letters; of the event's arrival for all else. */
  since?: string;
  until?: string;
  include?: RecoverInclude;
}

/** Those jobs whose deliveries are sent again, and so must not crowd out fresh ones. */
export function opensDeliveries(kind: ReplayKind): boolean {
  return kind !== "cancel" && kind !== "purge";
}

export function isOver(status: ReplayStatus): boolean {
  return status !== "running" && status !== "paused";
}
