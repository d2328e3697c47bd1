import type { DeliveryState } from "../../domain/delivery.ts";
import { matchesPattern, parsePattern } from "../../domain/pattern.ts";
import type { Entry } from "./entries.ts";
import type { FrameType } from "./frames.ts";

/** The filter of a client; an entry must match all conditions that are set. */
export interface StreamFilter {
  types: readonly FrameType[];
  tenantId: string | undefined;
  source: string | undefined;
  /** An event type or a pattern. */
  eventType: string | undefined;
  subscriptionSeq: number | undefined;
  /** The state of the delivery; with it only attempts match. */
  status: DeliveryState | undefined;
  /** Unix ms; earlier entries do not match. */
  since: number | undefined;
}

export type Fits = (entry: Entry) => boolean;

export function createFits(filter: StreamFilter): Fits {
  const { tenantId, source, subscriptionSeq, status, since } = filter;
  const types = new Set(filter.types);
  const pattern = filter.eventType === undefined ? undefined : parsePattern(filter.eventType);
  return (entry) =>
    types.has(entry.type) &&
    (tenantId === undefined || entry.tenantId === tenantId) &&
    (source === undefined || entry.source === source) &&
    (since === undefined || entry.at >= since) &&
    (status === undefined || entry.status === status) &&
    (subscriptionSeq === undefined || entry.subscriptionSeqs.includes(subscriptionSeq)) &&
    (pattern === undefined || matchesPattern(pattern, entry.eventType));
}
