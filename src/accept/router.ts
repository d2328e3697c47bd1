import { parsePattern, type Pattern } from "../model/pattern.ts";
import { ALL_TENANTS, type Subscription } from "../model/subscription.ts";
import { applyFilters, asksFor, takesFrom } from "./wants.ts";
import type { FilteredEvent } from "./filter-facts.ts";

/** Finds the subscriptions of an event, paused and suspended ones included: their deliveries are held, not dropped. */
export interface Router {
  /** By type alone. Ordered ones first, then by age. */
  match(tenantId: string, eventType: string): readonly Subscription[];
  /** By type, source and filter, in the same order. */
  select(event: FilteredEvent): readonly Subscription[];
  /** Replaces the list of subscriptions; called whenever one changes. */
  update(subscriptions: Iterable<Subscription>): void;
}

export interface RouterOptions {
  /** How many filters exceeded their budget; these do not match. */
  onTooCostly?: ((event: FilteredEvent, filters: number) => void) | undefined;
}

interface Found {
  subscriptions: readonly Subscription[];
  /** False when none of them has a filter: then the event's content is not read. */
  hasFilter: boolean;
  /** True when some of them select by source, or send to a queue. */
  isChoosy: boolean;
}

/** A few types make up nearly all events; an endless number of types must not fill the memory. */
const MAX_REMEMBERED = 10_000;

export function createRouter({ onTooCostly }: RouterOptions = {}): Router {
  let byTenant = new Map<string, Subscription[]>();
  let ofAllTenants: Subscription[] = [];
  // Keyed by pattern text: when one subscription changes, the patterns of the others are not parsed again.
  const patterns = new Map<string, Pattern>();
  let remembered = new Map<string, Found>();
  let changed: Iterable<Subscription> | undefined;

  /** Rebuilt when it is next used: thousands of changes in a row cost one rebuild. */
  function rebuild(subscriptions: Iterable<Subscription>): void {
    changed = undefined;
    byTenant = new Map();
    ofAllTenants = [];
    remembered = new Map();
    if (patterns.size > MAX_REMEMBERED) patterns.clear();
    for (const subscription of subscriptions) {
      const { tenantId, tenants = [tenantId] } = subscription;
      if (tenants === ALL_TENANTS) ofAllTenants.push(subscription);
      else for (const one of new Set(tenants)) addTo(one, subscription);
    }
  }

  function addTo(tenantId: string, subscription: Subscription): void {
    const ofTenant = byTenant.get(tenantId);
    if (ofTenant === undefined) byTenant.set(tenantId, [subscription]);
    else ofTenant.push(subscription);
  }

  function patternOf(text: string): Pattern {
    let pattern = patterns.get(text);
    if (pattern === undefined) patterns.set(text, (pattern = parsePattern(text)));
    return pattern;
  }

  function findAll(tenantId: string, eventType: string): Subscription[] {
    const found: Subscription[] = [];
    for (const subscription of [...(byTenant.get(tenantId) ?? []), ...ofAllTenants]) {
      if (asksFor(subscription, eventType, patternOf)) found.push(subscription);
    }
    return found.sort((a, b) => Number(b.ordered) - Number(a.ordered) || a.seq - b.seq);
  }

  function find(tenantId: string, eventType: string): Found {
    if (changed !== undefined) rebuild(changed);
    const key = `${tenantId}\0${eventType}`;
    let found = remembered.get(key);
    if (found === undefined) {
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      const subscriptions = findAll(tenantId, eventType);
      const hasFilter = subscriptions.some(({ filter }) => filter !== undefined);
      const isChoosy = subscriptions.some(({ sources, queuePlace }) => (sources ?? queuePlace) !== undefined);
      found = { subscriptions, hasFilter, isChoosy };
      remembered.set(key, found);
    }
    return found;
  }

  return {
    match: (tenantId, eventType) => find(tenantId, eventType).subscriptions,
    select(event) {
      const { subscriptions, hasFilter, isChoosy } = find(event.tenantId, event.type);
      const taking = isChoosy ? subscriptions.filter((one) => takesFrom(one, event, patternOf)) : subscriptions;
      if (!hasFilter) return taking;
      const { wanting, tooCostly } = applyFilters(taking, event);
      if (tooCostly > 0) onTooCostly?.(event, tooCostly);
      return wanting;
    },
    update(subscriptions) {
      changed = subscriptions;
    },
  };
}
