import type { Subscription } from "../../api/types.ts";
import { asPattern } from "../subscriptions/patterns.ts";

/** The subscriptions that name this source; those that take from all sources do not. */
export function findUsers(source: string, subscriptions: readonly Subscription[]): readonly Subscription[] {
  return subscriptions.filter(({ sources }) => sources?.some((text) => asPattern(text).matches(source)) === true);
}
