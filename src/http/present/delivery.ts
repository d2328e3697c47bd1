import { buildAttemptHeaders } from "../../domain/attempt-headers.ts";
import { MASK } from "../../domain/destination-auth.ts";
import { parseHeaderBlock } from "../../domain/header-block.ts";
import { formatDeliveryId } from "../../domain/ids.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { TargetMode } from "../../deliver/mode.ts";
import type { AttemptRecord, StoredDelivery } from "../../store/store.ts";
import { isoTime } from "./time.ts";

/** Why a pending delivery waits is not written on a million rows: it follows from its subscription. */
export interface HoldFacts {
  subscription: Subscription | undefined;
  mode: TargetMode | undefined;
}

export function presentDelivery(delivery: StoredDelivery, hold: HoldFacts) {
  return {
    id: formatDeliveryId(delivery.eventSeq, delivery.subscriptionSeq),
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    tenant_id: delivery.tenantId,
    subscription_id: delivery.subscriptionId,
    status: delivery.state,
    hold_reason: holdReason(delivery, hold),
    generation: delivery.generation,
    attempt_count: delivery.attemptCount,
    next_attempt_at: isoTime(delivery.nextAttemptAt) ?? null,
    last_error: delivery.lastError ?? null,
    dead_reason: delivery.deadReason ?? null,
    created_at: isoTime(delivery.createdAt),
    completed_at: isoTime(delivery.completedAt) ?? null,
  };
}

function holdReason(delivery: StoredDelivery, { subscription, mode }: HoldFacts): string | null {
  if (delivery.state !== "pending") return null;
  if (subscription?.status === "inactive") return "paused";
  if (subscription?.status === "suspended") return "suspended";
  if (mode?.isOpen === true) return mode.forced === "QUEUE" ? "queue_mode" : "destination_down";
  return delivery.waitsForKey ? "ordering_key" : null;
}

const MAX_SHOWN_TEXT = 8192;

/** What is told of an attempt beside its own record. */
export interface AttemptOf {
  deliveryId: string;
  eventId: string;
  eventType: string;
  /** Headers of the subscription: attempts from before their values were masked may hold some. */
  hiddenHeaders?: readonly string[] | undefined;
}

export type NumberedAttempt = AttemptRecord & { number: number };

export function presentAttempt(attempt: NumberedAttempt, of: AttemptOf) {
  return {
    number: attempt.number,
    started_at: isoTime(attempt.startedAt),
    duration_ms: attempt.durationMs,
    result: attempt.result,
    url: attempt.url ?? null,
    address: attempt.address ?? null,
    request_headers: presentRequestHeaders(attempt, of),
    response_code: attempt.responseCode ?? null,
    response_headers: attempt.responseHeaders === undefined ? null : (JSON.parse(attempt.responseHeaders) as unknown),
    response_body:
      attempt.responseBody === undefined
        ? null
        : Buffer.from(attempt.responseBody).toString("utf8").slice(0, MAX_SHOWN_TEXT),
    error: attempt.error ?? null,
    trigger: attempt.trigger,
  };
}

function presentRequestHeaders({ requestHeaders, number, startedAt }: NumberedAttempt, of: AttemptOf): unknown {
  if (requestHeaders === undefined) return null;
  // Attempts from before they were kept as they were sent have JSON.
  if (requestHeaders.startsWith("{")) return masked(JSON.parse(requestHeaders) as Record<string, string>, of);
  if (requestHeaders === "") return {};
  const { deliveryId, eventId, eventType } = of;
  const facts = { deliveryId, eventId, eventType, number, startedAtS: Math.floor(startedAt / 1000) };
  return masked(parseHeaderBlock(buildAttemptHeaders(facts) + requestHeaders), of);
}

function masked(headers: Record<string, string>, { hiddenHeaders = [] }: AttemptOf): Record<string, string> {
  for (const name of hiddenHeaders) if (headers[name] !== undefined) headers[name] = MASK;
  return headers;
}
