/** What the gateway does, as it does it, for whoever watches: a request that was answered, an attempt that ended. */
export interface Activity {
  request(request: AnsweredRequest): void;
  attempt(attempt: EndedAttempt): void;
}

export interface AnsweredRequest {
  method: string;
  /** Without its query, and of a webhook only up to the name of its source: what follows may be secret. */
  path: string;
  status: number;
  durationMs: number;
}

export interface EndedAttempt {
  eventType: string;
  subscription: string;
  number: number;
  verdict: "delivered" | "retry" | "dead";
  responseCode: number | undefined;
  error: string | undefined;
  durationMs: number;
  /** With `retry`. */
  retryInMs: number | undefined;
}
