import type { SubscriptionInput } from "./subscription.ts";
import type { TargetInput } from "./target.ts";

type Named = Pick<SubscriptionInput, "name" | "target">;

/** The shared target of a subscription; without one it has its own target, with the subscription's name. */
export function findSharedTarget<Target extends Pick<TargetInput, "name">>(
  { target }: Named,
  shared: readonly Target[],
): Target | undefined {
  return shared.find(({ name }) => name === target);
}

/** All target names of one tenant: the shared targets, and the subscriptions' own. */
export function toTargetNames(shared: readonly Pick<TargetInput, "name">[], subscriptions: readonly Named[]): string[] {
  const own = subscriptions.filter((one) => findSharedTarget(one, shared) === undefined);
  return [...new Set([...shared, ...own].map(({ name }) => name))];
}
