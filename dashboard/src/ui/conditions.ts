import type { Subscription } from "../api/types.ts";

/** The words for how subscriptions and targets are, to choose from. */
export const CONDITIONS: Readonly<Record<Subscription["condition"], string>> = {
  healthy: "healthy",
  failing: "failing",
  down: "down",
  paused: "paused",
  suspended: "suspended",
};
