/** How the connection to a broker is. */
export interface ConnectionFacts {
  kind: string;
  name: string;
  state:
    | { state: "unused" | "connecting" | "connected" }
    | { state: "failed"; fault: { message: string }; retryAt: number };
}

/** How the queue of a source is. */
export interface PulledFacts {
  source: string;
  depth: number | undefined;
  trouble: string | undefined;
}

export function isFailed({ state }: ConnectionFacts): boolean {
  return state.state === "failed";
}

export function describeConnection({ kind, name, state }: ConnectionFacts) {
  const isAway = state.state === "failed";
  return {
    kind,
    name,
    state: state.state,
    reason: isAway ? state.fault.message : null,
    next_try_at: isAway ? new Date(state.retryAt).toISOString() : null,
  };
}
