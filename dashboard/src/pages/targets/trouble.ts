import type { Target } from "../../api/types.ts";

/** Why it is in a mode that is worth a word; in NORMAL it would be how an earlier trouble ended. */
export function reasonOf({ mode, forced, reason }: Target): string | null {
  return mode === "NORMAL" && forced === null ? null : reason;
}

/** What went wrong last, while it matters. */
export function errorOf({ mode, health, failures, last_error: error }: Target): string | null {
  return mode === "NORMAL" && health === "ok" && failures === 0 ? null : error;
}
