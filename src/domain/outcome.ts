/** What one attempt came to. A failed delivery is a value, never an exception. */
export type Outcome =
  | { kind: "delivered"; response: Response }
  /** The destination answered, but not with success; also a redirect that may not be followed. */
  | { kind: "refused"; response: Response; error: string; retryAfterMs?: number | undefined }
  /** 410: the destination says that it is gone for good. */
  | { kind: "gone"; response: Response; error: string }
  | { kind: "timed_out"; error: string; response?: Response | undefined }
  | { kind: "unreachable"; error: string }
  /** Our own guard forbade the address or the scheme; nothing was sent. */
  | { kind: "blocked"; error: string }
  /** The target would fail at it however often it came; nothing was sent. */
  | { kind: "too_large"; error: string }
  /** A fault of ours: nothing can be said about the destination. */
  | { kind: "error"; error: string };

export interface Response {
  status: number;
  /** As JSON text of an object, secrets masked. */
  headers: string;
  /** At most 8 KB of it. */
  body: Uint8Array;
}

/** How an attempt is told to users (`attempts[].result`). */
export const ATTEMPT_RESULTS = ["success", "failed", "timeout", "connection_error", "blocked", "error"] as const;
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

export function attemptResult(outcome: Outcome): AttemptResult {
  switch (outcome.kind) {
    case "delivered":
      return "success";
    case "refused":
    case "gone":
      return "failed";
    case "timed_out":
      return "timeout";
    case "unreachable":
      return "connection_error";
    case "blocked":
    case "too_large":
      return "blocked";
    case "error":
      return "error";
  }
}
