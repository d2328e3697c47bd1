import { Value } from "typebox/value";
import { DEFAULT_TENANT, EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../domain/event.ts";
import { isGatewayEventType } from "../domain/pattern.ts";
import { SourceInput } from "../domain/source.ts";
import { SubscriptionInput } from "../domain/subscription.ts";
import { checkSubscriptionInput } from "../domain/subscription-rules.ts";
import { TargetInput } from "../domain/target.ts";
import { isPresetName } from "../domain/target-presets.ts";
import { checkTargetInput } from "../domain/target-rules.ts";
import { TenantInput } from "../domain/tenant.ts";

/** Says what is wrong with a field (or, without one, the whole) of a declared thing. */
type Complain = (index: number, field: string, message: string) => void;

const EVENT_TYPE = new RegExp(EVENT_TYPE_PATTERN);

/** Items that do not fit their schema have been reported already and are passed over here. */
export function checkDeclaredSources(items: readonly unknown[], complain: Complain): void {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!Value.Check(SourceInput, item)) continue;
    const first = seen.get(item.name);
    if (first !== undefined) complain(index, "name", `sources[${first}] has the same name; names are unique`);
    seen.set(item.name, first ?? index);

    const eventType = item.event_type?.replaceAll("{source}", item.name);
    if (eventType !== undefined && !(EVENT_TYPE.test(eventType) && eventType.length <= EVENT_TYPE_MAX_LENGTH)) {
      complain(index, "event_type", "is not a type: write words of letters, digits, _ and - with dots between them");
    }
    if (isGatewayEventType(eventType ?? `webhook.${item.name}`)) {
      complain(index, "event_type", "is a type of the gateway's own events; set another");
    }
  }
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
  for (const [index, item] of items.entries()) {
    if (!Value.Check(SubscriptionInput, item)) continue;
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
    for (const { field, message } of checkSubscriptionInput(item)) complain(index, field, message);
  }
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
