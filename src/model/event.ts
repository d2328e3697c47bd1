import { PosthornError } from "./errors.ts";

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

/**
 * How many gateways an event has passed. Each delivery carries the number, and each gateway that accepts it adds one.
 * So every loop ends, even if it leads through other systems.
 */
export const HOPS_HEADER = "X-Posthorn-Hops";
/** Node lowercases header names. */
const INCOMING = "x-posthorn-hops";

const MAX_HOPS = 8;
/** Stored as the first of the event's details, so that it is found without parsing the rest, which may be long. */
const DETAIL = '{"hops":';

/** The number in a request. If there are several, the highest counts, because any of them may be the right one. */
export function readHops(headers: Readonly<Record<string, string | readonly string[] | undefined>>): number {
  const given = headers[INCOMING];
  if (given === undefined) return 0;
  let hops = 0;
  for (const text of String(given).split(",")) {
    const value = /^[ \t]*(\d+)[ \t]*$/.exec(text)?.[1];
    // Numbers may have any length: it only matters whether they are too high.
    if (value !== undefined) hops = Math.max(hops, Math.min(Number(value), MAX_HOPS + 1));
  }
  return hops;
}

/** The error for an event that has passed too many gateways. */
export function findLoop(hops: number): PosthornError | undefined {
  if (hops <= MAX_HOPS) return undefined;
  return new PosthornError(
    "loop",
    `${HOPS_HEADER} says that this event has passed more than ${MAX_HOPS} gateways, so it is in a loop. Change the ` +
      "subscription that delivers it back to where it came from.",
  );
}

/** `trace`: the text that `traceDetail` returns. */
export function hopsDetail(hops: number, trace?: string): string | undefined {
  if (hops === 0) return trace === undefined ? undefined : `{${trace}}`;
  return `${DETAIL}${hops}${trace === undefined ? "" : `,${trace}`}}`;
}

/** Whether the details contain only the hops. Needs only their first ten characters. */
export function isHopsOnly(startOfDetails: string): boolean {
  return startOfDetails.startsWith(DETAIL) && startOfDetails.endsWith("}");
}

/** Reads what `hopsDetail` wrote, whatever was added after it. */
export function hopsOf(details: string | undefined): number {
  return details?.startsWith(DETAIL) === true ? Number.parseInt(details.slice(DETAIL.length), 10) : 0;
}

/**
 * The id of an event at the gateway where it first came in. It is stored in the details after the hops, so that it is
 * found without parsing the rest, which may be long.
 */
const ORIGIN = /^\{"hops":\d+,"origin_event_id":"([A-Za-z0-9_:-]{1,128})"/;

export function originIdOf(details: string | undefined): string | undefined {
  return details?.startsWith('{"hops":') === true ? ORIGIN.exec(details)?.[1] : undefined;
}

/**
 * The stored part of a request, as JSON with masked secrets: kept with the event that it created, or in the request log
 * if it created none.
 */
export interface KeptRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remote_address: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Encrypted credentials that are passed on to the destination. */
  readonly sealed?: string | undefined;
}

export function writeKeptRequest(request: KeptRequest): string {
  return JSON.stringify(request);
}

export function readKeptRequest(text: string): KeptRequest {
  return JSON.parse(text) as KeptRequest;
}

/** Appends to the text without parsing it, because it may be long. */
export function addSealed(text: string, sealed: string): string {
  return `${text.slice(0, -1)},"sealed":${JSON.stringify(sealed)}}`;
}

/** Separate from the shape of an event type, which needs a large package. */
export const EVENT_TYPE_STATUSES = ["active", "deprecated"] as const;
export type EventTypeStatus = (typeof EVENT_TYPE_STATUSES)[number];
