import type { DeadReason } from "../api/types.ts";

/** Why a delivery is not tried again, and what to do about it. */
export const DEAD_CAUSES: Readonly<Record<DeadReason, { label: string; advice: string }>> = {
  refused: {
    label: "refused",
    advice: "The target answered that it will never accept this. Fix the target or the subscription, then replay.",
  },
  retries_exhausted: {
    label: "retries exhausted",
    advice: "Every retry failed. Replay when the target works again.",
  },
  gone: { label: "gone", advice: "The target answered 410. Correct its URL, then replay." },
  expired: { label: "expired", advice: "Its time to live was over before it could be delivered." },
  held_too_long: {
    label: "held too long",
    advice: "The subscription was paused or suspended for too long. Resume it, then replay.",
  },
  poison: {
    label: "stopped the gateway",
    advice: "The gateway stopped several times during this delivery. Report it before you replay.",
  },
  blocked: {
    label: "address blocked",
    advice: "The gateway may not connect to this address. Change the URL or the list of allowed addresses.",
  },
  too_large: { label: "too large", advice: "The target cannot hold a message of this size." },
  erased: { label: "body erased", advice: "The body was erased, so it cannot be delivered again. Purge it." },
  damaged: {
    label: "damaged on disk",
    advice: "What is stored is not what came in, so it is not sent. Check the disk; a backup may have the event.",
  },
};

export const DEAD_CAUSE_LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(DEAD_CAUSES).map(([reason, { label }]) => [reason, label]),
);

export function labelOf(reason: DeadReason | null): string {
  return reason === null ? "unknown cause" : DEAD_CAUSES[reason].label;
}
