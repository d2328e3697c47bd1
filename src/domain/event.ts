/** An event is an immutable fact: what came in, byte for byte, and what is known about it. */

export const PRIORITIES = ["critical", "high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** What an event says of itself, apart from its body. */
export interface EventFacts {
  id: string;
  type: string;
  version: string;
  source: string;
  tenantId: string;
  priority: Priority;
  orderingKey: string | undefined;
  /** When it happened, as the producer says (unix ms); when it arrived, if the producer said nothing. */
  occurredAt: number;
  receivedAt: number;
  contentType: string | undefined;
}

/** What a sender needs of an event in order to deliver it. */
export interface EventContent extends EventFacts {
  body: Uint8Array;
  /** Gateways that it passed before this one; none when not given. */
  hops?: number | undefined;
  /** The trace that it came with, as `trace-context.ts` writes it. */
  trace?: string | undefined;
  /** What it is called where it came in first, if that was not here: its destinations know it by that. */
  originId?: string | undefined;
  /** A received webhook goes out raw by default, a published event in an envelope. */
  origin: EventOrigin;
}

export type EventOrigin = "webhook" | "publish";

export const DEFAULT_TENANT = "default";

/** No dot: Standard Webhooks signs `id.timestamp.body`. */
export const EVENT_ID_PATTERN = "^[A-Za-z0-9_:-]{1,128}$";
/** Words of letters, digits, `_` and `-`, parted by dots. */
export const EVENT_TYPE_PATTERN = "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$";
export const EVENT_TYPE_MAX_LENGTH = 255;
