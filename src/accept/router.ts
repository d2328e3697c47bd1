import { parsePattern, type Pattern, isGatewayEventType, matchesPattern } from "../model/pattern.ts";
import { ALL_TENANTS, type Subscription } from "../model/subscription.ts";
import { createFilterBudget, FilterTooCostly } from "../model/filter-operators.ts";
import { hasTooManyParts, mayBeJson } from "../model/json.ts";
import { readKeptRequest, type KeptRequest } from "../model/event.ts";
import { parseQuery } from "../model/addresses.ts";
import { matchFilter, type FilterFacts } from "../model/filter.ts";

interface RouterOptions {
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

export type Router = ReturnType<typeof createRouter>;

/** Finds the subscriptions of an event, paused and suspended ones included: their deliveries are held, not dropped. */
export function createRouter({ onTooCostly }: RouterOptions = {}) {
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
    /** By type alone. Ordered ones first, then by age. */
    match: (tenantId: string, eventType: string): readonly Subscription[] => find(tenantId, eventType).subscriptions,
    /** By type, source and filter, in the same order. */
    select(event: FilteredEvent): readonly Subscription[] {
      const { subscriptions, hasFilter, isChoosy } = find(event.tenantId, event.type);
      const taking = isChoosy ? subscriptions.filter((one) => takesFrom(one, event, patternOf)) : subscriptions;
      if (!hasFilter) return taking;
      const { wanting, tooCostly } = applyFilters(taking, event);
      if (tooCostly > 0) onTooCostly?.(event, tooCostly);
      return wanting;
    },
    /** Replaces the list of subscriptions; called whenever one changes. */
    update(subscriptions: Iterable<Subscription>): void {
      changed = subscriptions;
    },
  };
}

/**
 * Whether a subscription asks for events of this type. `webhook.*` means webhooks that come in, not the gateway's own
 * events.
 */
export function asksFor(
  { events, mode }: Pick<Subscription, "events" | "mode">,
  eventType: string,
  patternOf: (text: string) => Pattern = parsePattern,
): boolean {
  const mustBeNamed = mode === "forward" && isGatewayEventType(eventType);
  return events.some((text) => (mustBeNamed ? text === eventType : matchesPattern(patternOf(text), eventType)));
}

/** Whether the subscription wants events of this source and does not send back to the queue that the event came from. */
export function takesFrom(
  { sources, queuePlace }: Pick<Subscription, "sources" | "queuePlace">,
  event: Pick<FilteredEvent, "source" | "details">,
  patternOf: (text: string) => Pattern = parsePattern,
): boolean {
  if (sources !== undefined && !sources.some((text) => matchesPattern(patternOf(text), event.source))) return false;
  return queuePlace === undefined || !placesOf(event.details).includes(queuePlace);
}

/** Whether the subscription's sources and filter match the event. */
export function letsThrough(subscription: Subscription, event: FilteredEvent): boolean {
  return takesFrom(subscription, event) && applyFilters([subscription], event).wanting.length > 0;
}

/** The exchange and the queue that a pulled event came from. */
function placesOf(details: string | undefined): readonly string[] {
  if (details?.includes(PULLED_FROM) !== true) return [];
  const { pulled_from: places } = JSON.parse(details) as { pulled_from?: unknown };
  return Array.isArray(places) ? (places as string[]) : [];
}

const PULLED_FROM = '"pulled_from":';

/** The subscriptions without a filter or with one that matches, and how many filters exceeded their budget. */
function applyFilters(
  subscriptions: readonly Subscription[],
  event: FilteredEvent,
): { wanting: readonly Subscription[]; tooCostly: number } {
  const facts = createFilterFacts(event);
  const budget = createFilterBudget();
  const wanting = subscriptions.filter(({ filter }) => filter === undefined || matchFilter(filter, facts, budget));
  return { wanting, tooCostly: budget.exceeded };
}

/** The parts of an event that filters look at. New events and stored ones both have them. */
export interface FilteredEvent {
  type: string;
  source: string;
  tenantId: string;
  priority: string;
  contentType: string | undefined;
  /** JSON texts, as the store keeps them. */
  request: string | undefined;
  details: string | undefined;
  body: Uint8Array | undefined;
}

/** Parses each part once, when a filter first asks for it. */
export function createFilterFacts(event: FilteredEvent): FilterFacts {
  let data: { value: unknown } | undefined;
  let request: Partial<KeptRequest> | undefined;
  let query: { value: unknown } | undefined;
  let metadata: { value: unknown } | undefined;
  const readRequest = () => (request ??= event.request === undefined ? {} : readKeptRequest(event.request));
  return {
    event_type: event.type,
    source: event.source,
    tenant_id: event.tenantId,
    priority: event.priority,
    get data() {
      const { value } = (data ??= { value: parseBody(event) });
      if (value === TOO_MANY_PARTS) throw TOO_MANY_PARTS;
      return value;
    },
    get headers() {
      return readRequest().headers;
    },
    get query() {
      const { query: text } = readRequest();
      return (query ??= { value: text === undefined ? undefined : parseQuery(text) }).value;
    },
    get metadata() {
      return (metadata ??= { value: parseMetadata(event.details) }).value;
    },
  };
}

function parseMetadata(details: string | undefined): unknown {
  return details === undefined ? undefined : (JSON.parse(details) as { metadata?: unknown }).metadata;
}

const TOO_MANY_PARTS = new FilterTooCostly("The body has too many parts to be read for a filter.");

/** A body that is not JSON has no data. */
function parseBody({ body, contentType }: FilteredEvent): unknown {
  if (body === undefined) return undefined;
  if (!mayBeJson(contentType)) return undefined;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (hasTooManyParts(bytes, MAX_PARTS)) return TOO_MANY_PARTS;
  try {
    // A byte order mark is not JSON, but senders send it.
    return JSON.parse(bytes.toString("utf8").replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

const MAX_PARTS = 150_000;
