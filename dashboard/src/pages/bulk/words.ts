import type { Replay } from "../../api/types.ts";

export const KINDS: Readonly<Record<Replay["kind"], string>> = {
  dead_letters: "Replay of dead letters",
  events: "Replay of events",
  recover: "Recovery of a subscription",
  cancel: "Cancellation of open deliveries",
  purge: "Purge of dead letters",
};

export const STATUSES: Readonly<Record<Replay["status"], string>> = {
  running: "running",
  paused: "paused",
  completed: "completed",
  cancelled: "cancelled",
  failed: "failed",
};
