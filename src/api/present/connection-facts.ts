/** The state of the connection to a broker. */
export interface ConnectionFacts {
  kind: string;
  name: string;
  state:
    | { state: "unused" | "connecting" | "connected" }
    | { state: "failed"; fault: { message: string }; retryAt: number };
}

/** The state of a source's queue. */
export interface PulledFacts {
  source: string;
  /** The connection that it reads from; for a kind without a broker there is no such connection. */
  connection: { kind: string; name: string };
  depth: number | undefined;
  trouble: string | undefined;
}

/** Sources whose queue cannot be read, or whose messages cannot be parked, because of their own problem or of their connection's. */
export function listCutOff(
  pulled: readonly PulledFacts[],
  connections: readonly ConnectionFacts[],
): { source: string; trouble: string }[] {
  return pulled.flatMap(({ source, trouble, connection }) => {
    const found = connections.find(({ kind, name }) => kind === connection.kind && name === connection.name);
    const reason = trouble ?? (found?.state.state === "failed" ? found.state.fault.message : undefined);
    return reason === undefined ? [] : [{ source, trouble: reason }];
  });
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
