import { Value } from "typebox/value";
import { checkKindSettings } from "../deliver/senders/kind-settings.ts";
import { createDestinationKinds } from "../deliver/senders/kinds.ts";
import { SubscriptionSchema } from "../deliver/senders/subscription-schema.ts";
import { DEFAULT_TENANT } from "../domain/event.ts";
import { findForwardRival } from "../domain/forward-rules.ts";
import { checkHold } from "../domain/hold-rules.ts";
import { fixedInterval } from "../domain/retry-policy.ts";
import { SourceInput } from "../domain/source.ts";
import { checkSourceInput } from "../domain/source-rules.ts";
import type { RetryPolicySpec, SubscriptionInput } from "../domain/subscription.ts";
import { checkSharedSettings } from "../domain/subscription-rules.ts";
import { TargetInput } from "../domain/target.ts";
import { isPresetName } from "../domain/target-presets.ts";
import { checkTargetInput } from "../domain/target-rules.ts";
import { TenantInput } from "../domain/tenant.ts";

/** Says what is wrong with a field (or, without one, the whole) of a declared thing. */
type Complain = (index: number, field: string, message: string) => void;

/** Items that do not fit their schema have been reported already and are passed over here. */
export function checkDeclaredSources(items: readonly unknown[], complain: Complain): void {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!Value.Check(SourceInput, item)) continue;
    const first = seen.get(item.name);
    if (first !== undefined) complain(index, "name", `sources[${first}] has the same name; names are unique`);
    seen.set(item.name, first ?? index);

    for (const { field, message } of checkSourceInput(item)) complain(index, field, message);
  }
}

/** A message that stays in its queue until it is delivered is held for as long as that may take. */
export function checkDeclaredHolds(
  sources: readonly unknown[],
  subscriptions: readonly unknown[],
  complain: Complain,
): void {
  for (const [index, source] of sources.entries()) {
    if (!Value.Check(SourceInput, source)) continue;
    const { options = {}, tenant_id: tenantId = DEFAULT_TENANT } = source;
    const retried = subscriptions.flatMap((one) => {
      if (!isSubscription(one) || (one.tenant_id ?? DEFAULT_TENANT) !== tenantId) return [];
      const isMeant = [one.target, one.name].includes(options["target"] as string);
      return isMeant ? [{ name: one.name, retryPolicy: retryPolicyOf(one) }] : [];
    });
    for (const { field, message } of checkHold(options, retried)) complain(index, field, message);
  }
}

function retryPolicyOf(input: SubscriptionInput): RetryPolicySpec {
  const { retry_policy: policy = "standard", retry_count: count, retry_interval: intervalS } = input;
  return count === undefined && intervalS === undefined ? policy : fixedInterval(count ?? 3, intervalS ?? 60);
}

export function checkDeclaredTargets(items: readonly unknown[], complain: Complain): void {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!Value.Check(TargetInput, item)) continue;
    const key = targetKey(item.name, item.tenant_id);
    const first = seen.get(key);
    if (first !== undefined)
      complain(index, "name", `targets[${first}] has the same name; names are unique per tenant`);
    seen.set(key, first ?? index);
    for (const { field, message } of checkTargetInput(item)) complain(index, field, message);
  }
}

function targetKey(name: string, tenantId = DEFAULT_TENANT): string {
  return JSON.stringify([tenantId, name]);
}

/** The name of a target that nobody declares. */
function findUnknownTarget({ target, tenant_id: tenantId }: SubscriptionInput, declared: readonly unknown[]) {
  if (target === undefined || target === null || isPresetName(target)) return undefined;
  const isKnown = declared.some(
    (item) => Value.Check(TargetInput, item) && targetKey(item.name, item.tenant_id) === targetKey(target, tenantId),
  );
  return isKnown ? undefined : target;
}

export function checkDeclaredSubscriptions(
  items: readonly unknown[],
  complain: Complain,
  targets: readonly unknown[],
): void {
  const seen = new Map<string, number>();
  const before: SubscriptionInput[] = [];
  for (const [index, item] of items.entries()) {
    if (!isSubscription(item)) continue;
    const ofTenant = before.filter(
      ({ tenant_id }) => (tenant_id ?? DEFAULT_TENANT) === (item.tenant_id ?? DEFAULT_TENANT),
    );
    const rival = findForwardRival(item, ofTenant);
    if (rival !== undefined) {
      complain(index, "mode", `"${rival.name}" forwards some of these events already; a source waits for one only`);
    }
    before.push(item);
    const key = JSON.stringify([item.tenant_id ?? DEFAULT_TENANT, item.name]);
    const first = seen.get(key);
    if (first !== undefined) {
      complain(index, "name", `subscriptions[${first}] has the same name; names are unique per tenant`);
    }
    seen.set(key, first ?? index);
    const unknown = findUnknownTarget(item, targets);
    if (unknown !== undefined) {
      complain(index, "target", `${JSON.stringify(unknown)} is neither n8n nor among the targets of its tenant`);
    }
    const problems = [...checkSharedSettings(item), ...checkKindSettings(item, kinds)];
    for (const { field, message } of problems) complain(index, field, message);
  }
}

const kinds = createDestinationKinds();

function isSubscription(item: unknown): item is SubscriptionInput {
  return Value.Check(SubscriptionSchema, item);
}

export function checkDeclaredTenants(items: readonly unknown[], complain: Complain): void {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!Value.Check(TenantInput, item)) continue;
    const first = seen.get(item.id);
    if (first !== undefined) complain(index, "id", `tenants[${first}] has the same id; ids are unique`);
    seen.set(item.id, first ?? index);
  }
}
