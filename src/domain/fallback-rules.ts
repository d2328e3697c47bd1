import type { FieldProblem } from "./subscription-rules.ts";

/** What is asked of a subscription that is a fallback or has one, whether it is stored or wished for. */
export interface FallbackFacts {
  readonly name: string;
  readonly kind: string;
  readonly events: readonly string[];
  readonly mode?: "queue" | "forward" | undefined;
  readonly ordered?: boolean | undefined;
  readonly fallback?: string | null | undefined;
}

export interface OwnFacts extends FallbackFacts {
  /** Something is asked how its target is. */
  readonly isChecked: boolean;
}

/** What is wrong with the fallback that a subscription names, among the others of its tenant. */
export function checkFallback(
  one: OwnFacts,
  others: readonly FallbackFacts[],
  isQueue: (kind: string) => boolean,
): FieldProblem[] {
  const problem = findProblem(one, others, isQueue);
  return problem === undefined ? [] : [{ field: "fallback", message: problem }];
}

function findProblem(one: OwnFacts, others: readonly FallbackFacts[], isQueue: (kind: string) => boolean) {
  const { fallback: name } = one;
  if (name === undefined || name === null) return undefined;
  const shown = JSON.stringify(name);
  if (one.mode !== "forward") return "is for mode: forward, where somebody waits for the answer of the target";
  if (!one.isChecked) return "needs a health check that says when to go back; set health_url, here or at its target";
  const fallback = others.find((other) => other.name === name);
  if (fallback === undefined) return `there is no subscription ${shown} of the same tenant; make it first`;
  if (!isQueue(fallback.kind)) return `${shown} is of the kind ${fallback.kind}; only a queue can be a fallback`;
  if (fallback.events.length > 0) return `${shown} takes events of its own; a fallback has \`events: []\``;
  const rival = others.find((other) => other.fallback === name);
  if (rival !== undefined) return `${shown} is the fallback of ${JSON.stringify(rival.name)}; each needs its own`;
  if (one.ordered === true && fallback.ordered !== true) {
    return `this one is ordered and ${shown} is not; order would be lost there. Set ordered for both`;
  }
  return undefined;
}

/** What is wrong with one that asks for no events: nobody but a fallback gets any. */
export function checkNoEvents(
  one: FallbackFacts & { readonly sources?: readonly string[] | null | undefined; readonly event_filter?: unknown },
  isQueue: (kind: string) => boolean,
): FieldProblem[] {
  if (one.events.length > 0) return [];
  if (!isQueue(one.kind) || one.mode === "forward") {
    const message = "must name at least one pattern; only a queue that is the fallback of another has none";
    return [{ field: "events", message }];
  }
  const field = (["sources", "event_filter"] as const).find((name) => (one[name] ?? undefined) !== undefined);
  return field === undefined ? [] : [{ field, message: "chooses among events, and a fallback takes all it is given" }];
}

/** What would be wrong for the one that has this as its fallback. */
export function checkUsedFallback(one: FallbackFacts, user: FallbackFacts): FieldProblem[] {
  const shown = JSON.stringify(user.name);
  if (one.events.length > 0) return [{ field: "events", message: `must stay empty: it is the fallback of ${shown}` }];
  if (user.ordered === true && one.ordered !== true) {
    return [{ field: "ordered", message: `must stay: it is the fallback of ${shown}, which is ordered` }];
  }
  return [];
}
