/** The gateway's activity, live, for somebody who watches: answered requests, settled messages and ended attempts. */
export interface Activity {
  request(request: AnsweredRequest): void;
  message(message: SettledMessage): void;
  attempt(attempt: EndedAttempt): void;
}

export interface AnsweredRequest {
  method: string;
  /** Without its query, and for a webhook only up to the name of its source: the rest may be secret. */
  path: string;
  status: number;
  durationMs: number;
  /** Of a webhook or of published events: what became of it, as the metrics name it. */
  outcome?: string | undefined;
  /** Its event; the first of several. */
  eventId?: string | undefined;
}

/** A webhook or an event that came by a queue. */
export interface SettledMessage {
  source: string;
  /** What became of it: `accepted`, `duplicate`, `ignored`, `returned` to its queue, or why it is parked. */
  outcome: string;
  /** Its event; the first of several. */
  eventId: string | undefined;
  durationMs: number;
}

export interface EndedAttempt {
  eventId: string;
  deliveryId: string;
  eventType: string;
  subscription: string;
  number: number;
  verdict: "delivered" | "retry" | "dead";
  responseCode: number | undefined;
  error: string | undefined;
  durationMs: number;
  /** Set when the result is `retry`. */
  retryInMs: number | undefined;
}
