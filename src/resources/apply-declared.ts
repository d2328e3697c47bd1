import { ownerOf, type SubscriptionInput } from "../model/subscription.ts";
import { toTargetNames } from "../model/target-rules.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Draft } from "./draft.ts";
import type { EventTypes } from "./event-types/event-types.ts";
import { NotInEffect, type Registry } from "./registry.ts";
import type { Sources } from "./sources/sources.ts";
import type { Subscriptions } from "./subscriptions/subscriptions.ts";
import type { SharedTargets } from "./targets.ts";
import type { Tenants } from "./tenants.ts";

/** The lists that the configuration declares. */
export interface Declared {
  eventTypes: Parameters<EventTypes["declareIn"]>[1];
  tenants: Parameters<Tenants["declareIn"]>[1];
  sources: Parameters<Sources["declareIn"]>[1];
  targets: Parameters<SharedTargets["declareIn"]>[1];
  subscriptions: Parameters<Subscriptions["declareIn"]>[1];
}

/**
 * Applies the declared lists, all or nothing. Items that are no longer declared stay in the store, but are inactive.
 * Returns the error when all of it is saved and a part is not in effect yet.
 */
export async function applyDeclared(
  declared: Declared,
  parts: {
    registry: Pick<Registry, "changeAll">;
    eventTypes: EventTypes;
    tenants: Tenants;
    sources: Sources;
    targets: Pick<SharedTargets, "declareIn">;
    subscriptions: Subscriptions;
    logger: Logger;
  },
): Promise<NotInEffect | undefined> {
  const { registry, eventTypes, tenants, sources, targets, subscriptions, logger } = parts;
  let left: Left = { eventTypes: [], tenants: [], sources: [], targets: [], subscriptions: [] };
  const declareAll = async (draft: Draft) => {
    // Those that name others come after them.
    left = {
      eventTypes: await eventTypes.declareIn(draft, declared.eventTypes),
      tenants: await tenants.declareIn(draft, declared.tenants),
      sources: await sources.declareIn(draft, declared.sources, (tenantId) => listTargetNames(declared, tenantId)),
      targets: await targets.declareIn(draft, declared.targets),
      subscriptions: await subscriptions.declareIn(draft, declared.subscriptions),
    };
  };
  const late = await registry.changeAll(declareAll).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof NotInEffect) return error;
      throw error;
    },
  );
  for (const input of declared.subscriptions) {
    const { name } = input;
    const all = subscriptions.list(ownerOf(input));
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
  return late;
}

/** The names of what was declared and is no longer. */
type Left = Readonly<Record<keyof Declared, readonly string[]>>;

/** The names that sources may give as their target. */
function listTargetNames({ targets, subscriptions }: Declared, tenantId: string): string[] {
  const isOfTenant = (one: Pick<SubscriptionInput, "tenant_id" | "tenants">) => ownerOf(one) === tenantId;
  return toTargetNames(targets.filter(isOfTenant), subscriptions.filter(isOfTenant));
}
