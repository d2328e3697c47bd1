import { DEFAULT_TENANT } from "../domain/event.ts";
import { toTargetNames } from "../domain/target-names.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { EventTypes } from "./event-types/event-types.ts";
import type { Sources } from "./sources/sources.ts";
import type { Subscriptions } from "./subscriptions/subscriptions.ts";
import type { SharedTargets } from "./targets.ts";
import type { Tenants } from "./tenants.ts";

/** The lists that the configuration declares. */
export interface Declared {
  eventTypes: Parameters<EventTypes["applyDeclared"]>[0];
  tenants: Parameters<Tenants["applyDeclared"]>[0];
  sources: Parameters<Sources["applyDeclared"]>[0];
  targets: Parameters<SharedTargets["applyDeclared"]>[0];
  subscriptions: Parameters<Subscriptions["applyDeclared"]>[0];
}

export interface DeclaredParts {
  eventTypes: EventTypes;
  tenants: Tenants;
  sources: Sources;
  targets: Pick<SharedTargets, "applyDeclared">;
  subscriptions: Subscriptions;
  logger: Logger;
}

/** Applies the declared lists. Items that are no longer declared stay in the store, but are inactive. */
export async function applyDeclared(declared: Declared, parts: DeclaredParts): Promise<void> {
  const { eventTypes, tenants, sources, targets, subscriptions, logger } = parts;
  await sources.checkDeclared(declared.sources);
  const left = {
    // First, so that nothing of the file is applied when a schema cannot be used.
    eventTypes: (await eventTypes.applyDeclared(declared.eventTypes)).left,
    tenants: (await tenants.applyDeclared(declared.tenants)).left,
    sources: (await sources.applyDeclared(declared.sources, (tenantId) => listTargetNames(declared, tenantId))).left,
    // Before the resources that name them.
    targets: (await targets.applyDeclared(declared.targets)).left,
    subscriptions: (await subscriptions.applyDeclared(declared.subscriptions)).left,
  };
  for (const { name, tenant_id: tenantId = DEFAULT_TENANT } of declared.subscriptions) {
    const all = subscriptions.list(tenantId);
    const saved = all.find((one) => one.name === name);
    // Of two subscriptions with a conflict, the younger one gets the warning.
    const older = all.filter(({ seq }) => seq < (saved?.seq ?? 0));
    const warnings = saved === undefined ? [] : subscriptions.warningsOf(saved, older);
    if (warnings.length === 0) continue;
    logger.warn({ subscription: name, warnings }, "a subscription was saved with a warning");
  }
  for (const name of left.eventTypes) {
    logger.warn({ event_type: name }, "event type left the configuration and no longer rejects events");
  }
  for (const id of left.tenants) logger.warn({ tenant_id: id }, "tenant left the configuration and is inactive");
  for (const name of left.sources) logger.warn({ source: name }, "source left the configuration and is paused");
  for (const name of left.targets) {
    logger.warn({ target: name }, "target left the configuration and stays unchanged for subscriptions that name it");
  }
  for (const name of left.subscriptions) {
    logger.warn({ subscription: name }, "subscription left the configuration and is inactive");
  }
}

/** The names that sources may give as their target. */
function listTargetNames({ targets, subscriptions }: Declared, tenantId: string): string[] {
  const isOfTenant = (one: { tenant_id?: string }) => (one.tenant_id ?? DEFAULT_TENANT) === tenantId;
  return toTargetNames(targets.filter(isOfTenant), subscriptions.filter(isOfTenant));
}
