import type { SubscriptionInput } from "./subscription.ts";
import type { TargetInput } from "./target.ts";

type Named = Pick<SubscriptionInput, "name" | "target">;

/** The target that a subscription shares with others; without one it has its own, which goes by its name. */
export function findSharedTarget<Target extends Pick<TargetInput, "name">>(
  { target }: Named,
  shared: readonly Target[],
): Target | undefined {
  return shared.find(({ name }) => name === target);
}

/** Of one tenant: those that are shared, and the own ones of subscriptions. */
export function toTargetNames(shared: readonly Pick<TargetInput, "name">[], subscriptions: readonly Named[]): string[] {
  const own = subscriptions.filter((one) => findSharedTarget(one, shared) === undefined);
  return [...new Set([...shared, ...own].map(({ name }) => name))];
}
