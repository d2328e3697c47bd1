import type { Priority } from "../../model/event.ts";

/** One event as its producer published it. */
export interface PublishItem {
  eventType: string;
  /** The bytes of the payload exactly as in the request; they share its memory. */
  payload: Buffer;
  eventId: string | undefined;
  eventVersion: string;
  source: string;
  sourceId: string | undefined;
  tenantId: string | undefined;
  userId: string | undefined;
  sessionId: string | undefined;
  /** Unix milliseconds, like the two below. */
  timestamp: number | undefined;
  priority: Priority;
  orderingKey: string | undefined;
  deliverAt: number | undefined;
  expiresAt: number | undefined;
  /** JSON text of an object, exactly as in the request. */
  metadata: string | undefined;
}

export interface PublishLimits {
  maxItems: number;
  maxPayloadBytes: number;
  maxDepth: number;
  /** Whether fields that an event does not have are kept in its metadata, and not rejected. */
  keepsUnknown?: boolean | undefined;
}

export const DEFAULT_PUBLISH_LIMITS: PublishLimits = { maxItems: 1000, maxPayloadBytes: 1_048_576, maxDepth: 128 };
