import type { ReactNode } from "react";

export type Tone = "good" | "bad" | "waiting" | "neutral";

const TONES: Readonly<Record<string, Tone>> = {
  COMPLETED: "good",
  delivered: "good",
  success: "good",
  active: "good",
  ok: "good",
  healthy: "good",
  failing: "waiting",
  down: "bad",
  NORMAL: "good",
  accepted: "good",
  FAILED: "bad",
  dead: "bad",
  failed: "bad",
  timeout: "bad",
  connection_error: "bad",
  blocked: "bad",
  error: "bad",
  critical: "bad",
  suspended: "bad",
  rejected: "bad",
  completed: "good",
  connected: "good",
  running: "waiting",
  paused: "waiting",
  closed: "bad",
  PENDING: "waiting",
  pending: "waiting",
  sending: "waiting",
  QUEUE: "waiting",
  warning: "waiting",
};

/** A state in its colour, and in words: nobody has to tell colours apart. */
export function Badge({ state, children, tone }: { state: string; children?: ReactNode; tone?: Tone }) {
  return <span className={`badge badge-${tone ?? TONES[state] ?? "neutral"}`}>{children ?? state.toLowerCase()}</span>;
}
