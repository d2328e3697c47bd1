import { matchesPattern, parsePattern, type Pattern } from "../domain/pattern.ts";
import type { Subscription } from "../domain/subscription.ts";

/** Which subscriptions want an event. Paused and suspended ones too: their deliveries are held, not dropped. */
export interface Router {
  /** Ordered ones first, then by age. */
  match(tenantId: string, eventType: string): readonly Subscription[];
  /** Replaces what is known; called whenever a subscription changes. */
  update(subscriptions: Iterable<Subscription>): void;
}

interface Route {
  subscription: Subscription;
  patterns: readonly Pattern[];
}

/** Few types make up nearly all events; unknown ones must not fill the memory. */
const MAX_REMEMBERED = 10_000;

export function createRouter(): Router {
  let routes = new Map<string, Route[]>();
  let remembered = new Map<string, readonly Subscription[]>();
  let changed: Iterable<Subscription> | undefined;

  /** When it is needed: thousands of changes in a row cost one rebuild. */
  function rebuild(subscriptions: Iterable<Subscription>): void {
    changed = undefined;
    routes = new Map();
    remembered = new Map();
    for (const subscription of subscriptions) {
      const route = { subscription, patterns: subscription.events.map(parsePattern) };
      const ofTenant = routes.get(subscription.tenantId);
      if (ofTenant === undefined) routes.set(subscription.tenantId, [route]);
      else ofTenant.push(route);
    }
  }

  function findAll(tenantId: string, eventType: string): Subscription[] {
    const found: Subscription[] = [];
    for (const { subscription, patterns } of routes.get(tenantId) ?? []) {
      if (patterns.some((pattern) => matchesPattern(pattern, eventType))) found.push(subscription);
    }
    return found.sort((a, b) => Number(b.ordered) - Number(a.ordered) || a.seq - b.seq);
  }

  return {
    match(tenantId, eventType) {
      if (changed !== undefined) rebuild(changed);
      const key = `${tenantId}\0${eventType}`;
      let found = remembered.get(key);
      if (found === undefined) {
        if (remembered.size >= MAX_REMEMBERED) remembered.clear();
        remembered.set(key, (found = findAll(tenantId, eventType)));
      }
      return found;
    },
    update(subscriptions) {
      changed = subscriptions;
    },
  };
}
