/** An event is an immutable fact: what came in, byte for byte, and what is known about it. */

export const PRIORITIES = ["critical", "high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** An event's facts, apart from its body. */
export interface EventFacts {
  id: string;
  type: string;
  version: string;
  source: string;
  tenantId: string;
  priority: Priority;
  orderingKey: string | undefined;
  /** When the event happened, according to the producer (unix ms); by default the time of its arrival. */
  occurredAt: number;
  receivedAt: number;
  contentType: string | undefined;
}

/** The parts of an event that a sender needs to deliver it. */
export interface EventContent extends EventFacts {
  body: Uint8Array;
  /** How many gateways the event has passed before this one; 0 by default. */
  hops?: number | undefined;
  /** The trace that the event came with, in the form of `trace-context.ts`. */
  trace?: string | undefined;
  /**
   * The event's id at the gateway where it first came in, if that was another one: its destinations know it by this id.
   */
  originId?: string | undefined;
  /** A received webhook goes out raw by default, a published event in an envelope. */
  origin: EventOrigin;
}

export type EventOrigin = "webhook" | "publish";

export const DEFAULT_TENANT = "default";

/**
 * The tenant that owns the alerts of the whole gateway and the subscriptions for several tenants. They show things of
 * every tenant, so a key must not be bound to this tenant by accident: ids of tenants that people create cannot begin
 * with `_`.
 */
export const GATEWAY_TENANT = "_gateway";

/** No dot: Standard Webhooks signs `id.timestamp.body`. */
export const EVENT_ID_PATTERN = "^[A-Za-z0-9_:-]{1,128}$";
/** Words of letters, digits, `_` and `-`, separated by dots. */
export const EVENT_TYPE_PATTERN = "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$";
export const EVENT_TYPE_MAX_LENGTH = 255;

/** Adds a member to the JSON that is kept with an event (`details`), at its end. */
export function addDetail(details: string | undefined, member: string): string {
  return details === undefined ? `{${member}}` : `${details.slice(0, -1)},${member}}`;
}
