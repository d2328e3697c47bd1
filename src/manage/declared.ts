import type { Logger } from "../telemetry/logger.ts";
import type { EventTypes } from "./event-types.ts";
import type { Sources } from "./sources.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { Tenants } from "./tenants.ts";

/** What the configuration declares. */
export interface Declared {
  eventTypes: Parameters<EventTypes["applyDeclared"]>[0];
  tenants: Parameters<Tenants["applyDeclared"]>[0];
  sources: Parameters<Sources["applyDeclared"]>[0];
  subscriptions: Parameters<Subscriptions["applyDeclared"]>[0];
}

export interface DeclaredParts {
  eventTypes: EventTypes;
  tenants: Tenants;
  sources: Sources;
  subscriptions: Subscriptions;
  logger: Logger;
}

/** Takes over what is declared now; what was declared before and is not any more stays, and does nothing. */
export async function applyDeclared(declared: Declared, parts: DeclaredParts): Promise<void> {
  const { eventTypes, tenants, sources, subscriptions, logger } = parts;
  sources.checkDeclared(declared.sources);
  const left = {
    // First: when a schema cannot be used, nothing of the file is taken over.
    eventTypes: (await eventTypes.applyDeclared(declared.eventTypes)).left,
    tenants: (await tenants.applyDeclared(declared.tenants)).left,
    sources: (await sources.applyDeclared(declared.sources)).left,
    subscriptions: (await subscriptions.applyDeclared(declared.subscriptions)).left,
  };
  for (const name of left.eventTypes) {
    logger.warn({ event_type: name }, "event type left the configuration and refuses no event any more");
  }
  for (const id of left.tenants) logger.warn({ tenant_id: id }, "tenant left the configuration and is inactive");
  for (const name of left.sources) logger.warn({ source: name }, "source left the configuration and is paused");
  for (const name of left.subscriptions) {
    logger.warn({ subscription: name }, "subscription left the configuration and is inactive");
  }
}
