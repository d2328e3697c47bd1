import type { AlertRuleName, AlertSeverity } from "../../model/alert-rules.ts";
import { countsSeenBy, type DeadReason, type DeliveryState } from "../../model/delivery.ts";
import { hasLabels, type EventLabel } from "../../model/event-search.ts";
import { matchesPattern, parsePattern } from "../../model/pattern.ts";
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
  /** An event id, or the beginning of one followed by `*`. */
  id: string | undefined;
  orderingKey: string | undefined;
  /** The state of the delivery; with it only attempts match. */
  status: DeliveryState | undefined;
  /** Why the delivery is dead; with it only attempts match. */
  reason: DeadReason | undefined;
  /** Members of the metadata; with them only events match. */
  labels: readonly EventLabel[] | undefined;
  /** Whether no subscription wanted the event; with it only events match. */
  unmatched: boolean | undefined;
  /** The rule of an alert; with it only alerts match. */
  rule: AlertRuleName | undefined;
  severity: AlertSeverity | undefined;
  /** Unix ms; earlier entries do not match. */
  since: number | undefined;
}

export type Fits = (entry: Entry) => boolean;

export function createFits(filter: StreamFilter): Fits {
  const { tenantId, source, subscriptionSeq, status, since, orderingKey, reason } = filter;
  const types = new Set(filter.types);
  const pattern = filter.eventType === undefined ? undefined : parsePattern(filter.eventType);
  const [fitsId, fitsEvent, fitsAlert] = [createIdMatch(filter.id), createEventMatch(filter), createAlertMatch(filter)];
  return (entry) =>
    types.has(entry.type) &&
    (tenantId === undefined || entry.tenantId === tenantId) &&
    (source === undefined || entry.source === source) &&
    (since === undefined || entry.at >= since) &&
    (status === undefined || entry.status === status) &&
    (reason === undefined || entry.deadReason === reason) &&
    (orderingKey === undefined || entry.orderingKey === orderingKey) &&
    (subscriptionSeq === undefined || entry.subscriptionSeqs.includes(subscriptionSeq)) &&
    (pattern === undefined || matchesPattern(pattern, entry.eventType)) &&
    fitsId(entry) &&
    fitsEvent(entry) &&
    fitsAlert(entry);
}

function createIdMatch(id: string | undefined): Fits {
  if (id === undefined) return () => true;
  if (!id.endsWith("*")) return ({ eventId }) => eventId === id;
  const beginning = id.slice(0, -1);
  return ({ eventId }) => eventId.startsWith(beginning);
}

function createEventMatch({ tenantId, labels, unmatched }: StreamFilter): Fits {
  if (labels === undefined && unmatched === undefined) return () => true;
  return ({ event }) =>
    event !== undefined &&
    (unmatched === undefined || (countsSeenBy(tenantId, event).deliveryCount === 0) === unmatched) &&
    (labels === undefined || hasLabels(event.details, labels));
}

function createAlertMatch({ rule, severity }: StreamFilter): Fits {
  if (rule === undefined && severity === undefined) return () => true;
  return (entry) => {
    const alert = entry.alert();
    if (alert === undefined) return false;
    return (rule === undefined || alert.rule === rule) && (severity === undefined || alert.severity === severity);
  };
}
