/** What a seed makes of the world: tenants, subscriptions, destinations and events. */
import { PRIORITIES, type Priority } from "../../src/model/event.ts";
import type { SubscriptionInput } from "../../src/model/subscription.ts";
import type { Chance } from "../support/chance.ts";
import { MOODS, type Destination, type Mood } from "../support/simulated-destination.ts";

const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export const EVENT_TYPES = ["order.created", "order.paid", "invoice.sent", "invoice.paid.late"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** By hand and not by the router's own rules: it is the router that is tested. */
const PATTERNS: Readonly<Record<string, readonly EventType[]>> = {
  "#": EVENT_TYPES,
  "*": EVENT_TYPES,
  "order.*": ["order.created", "order.paid"],
  "invoice.#": ["invoice.sent", "invoice.paid.late"],
  "*.paid": ["order.paid"],
  "invoice.*": ["invoice.sent"],
};

export function isWanted(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) => PATTERNS[pattern]?.some((wanted) => wanted === type) === true);
}

export interface Scenario {
  activeMs: number;
  tenants: readonly string[];
  maxInFlight: number;
  maxBodyBytes: number;
  maxRows: number;
  commitMs: number;
  /** Between two events of a burst. */
  maxPauseMs: number;
  eventCount: number;
  actCount: number;
  crashCount: number;
  jumpCount: number;
}

export function drawScenario(chance: Chance): Scenario {
  return {
    activeMs: chance.between(1, 20) * HOUR,
    tenants: ["default", "acme", "umbrella"].slice(0, chance.whole(1, 3)),
    maxInFlight: chance.pick([2, 4, 16, 64]),
    maxBodyBytes: chance.pick([2_000, 100_000, 64 * 1024 * 1024]),
    maxRows: chance.pick([3, 5_000]),
    commitMs: chance.pick([0, 5, 50]),
    maxPauseMs: chance.pick([0, 20, 2_000]),
    eventCount: chance.whole(40, 220),
    actCount: chance.whole(0, 40),
    crashCount: chance.isTrue(0.3) ? 0 : chance.whole(1, 6),
    jumpCount: chance.isTrue(0.4) ? 0 : chance.whole(1, 3),
  };
}

export function drawSubscription(chance: Chance, name: string, tenantId: string): SubscriptionInput {
  const ordered = chance.isTrue(0.5);
  return {
    name,
    tenant_id: tenantId,
    url: `https://${name}.example.com/hook`,
    events: chance.isTrue(0.6) ? [chance.pick(["#", "*"])] : [chance.pick(Object.keys(PATTERNS))],
    retry_policy: chance.pick(["standard", "few", "short", "bursts", { delays_s: [1, 10, 60, 600] }]),
    timeout: chance.pick([1, 5, 30]),
    concurrency: chance.pick([1, 2, 8, 32]),
    ordered,
    on_dead_head: chance.pick(["block", "skip"]),
    ...(chance.isTrue(0.3) ? { rate_limit: chance.pick([5, 30, 300, 3000]) } : {}),
    ...(chance.isTrue(0.2) ? { max_age_s: chance.whole(300, 20_000) } : {}),
    ...(chance.isTrue(0.1) ? { status: "inactive" as const } : {}),
  };
}

const RARE_MOODS: readonly Mood[] = ["gone", "missing"];

/** Well at first and from time to time; in trouble for minutes or hours in between. */
export function drawDestination(chance: Chance, from: number, until: number): Destination {
  const moods: Destination["moods"] = [];
  for (let at = from; at < until && !chance.isTrue(0.15);) {
    at += chance.between(0, 0.5) * (until - from);
    const mood = chance.pick(MOODS);
    if (RARE_MOODS.includes(mood) && chance.isTrue(0.7)) continue;
    moods.push({ from: at, mood });
    at += RARE_MOODS.includes(mood) ? chance.between(0, 5 * MINUTE) : chance.between(0, 0.4) * (until - from);
    moods.push({ from: at, mood: "well" });
  }
  return { moods, latencyMs: chance.pick([1, 20, 300, 2_000]), chance: chance.fork() };
}

export interface DrawnEvent {
  at: number;
  type: EventType;
  tenantId: string;
  /** Given by the sender, who then tries again with it. */
  eventId: string | undefined;
  orderingKey: string | undefined;
  priority: Priority;
  deliverInMs: number | undefined;
  expiresInMs: number | undefined;
  payload: string;
  /** Tries again so long after the first. */
  repeatsAfterMs: readonly number[];
}

export function drawEvents(chance: Chance, scenario: Scenario): DrawnEvent[] {
  const events: DrawnEvent[] = [];
  let at = 0;
  for (let i = 0; i < scenario.eventCount; i++) {
    // Bursts, with long waits between them.
    at = chance.isTrue(0.15) ? chance.between(0, scenario.activeMs) : at + chance.between(0, scenario.maxPauseMs);
    const isGiven = chance.isTrue(0.3);
    const size = chance.isTrue(0.05) ? 40_000 : chance.whole(0, 300);
    events.push({
      at,
      type: chance.pick(EVENT_TYPES),
      tenantId: chance.pick(scenario.tenants),
      eventId: isGiven ? `given-${i}` : undefined,
      orderingKey: chance.isTrue(0.7) ? `key-${chance.whole(1, 4)}` : undefined,
      priority: chance.isTrue(0.6) ? "normal" : chance.pick(PRIORITIES),
      deliverInMs: chance.isTrue(0.05) ? chance.between(0, 2 * HOUR) : undefined,
      expiresInMs: chance.isTrue(0.05) ? chance.between(MINUTE, 2 * HOUR) : undefined,
      payload: `{"number":${i},"text":"${"é".repeat(size)}"}`,
      repeatsAfterMs: isGiven && chance.isTrue(0.5) ? [chance.between(0, chance.pick([5, 5_000, HOUR]))] : [],
    });
  }
  return events;
}
