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
  /** That it is taken from; of a kind that is no broker's, none is known. */
  connection: { kind: string; name: string };
  depth: number | undefined;
  trouble: string | undefined;
}

/** Sources whose queue cannot be taken from, for a reason of their own or because their connection is away. */
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
