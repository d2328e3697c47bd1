import { formatDeliveryId } from "../../model/ids.ts";
import { DEFAULT_KIND, type Subscription } from "../../model/subscription.ts";
import type { TargetMode } from "../../deliver/mode.ts";
import type { DestinationKinds } from "../../destinations/kinds.ts";
import type { AttemptRecord } from "../../store/port/lanes.ts";
import type { StoredDelivery } from "../../store/port/reads.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { Delivery as Described } from "../routes/deliveries.docs.ts";
import { isoTime } from "./time.ts";

/** Why a pending delivery waits is not stored in each row: it follows from its subscription. */
export interface HoldFacts {
  subscription: Subscription | undefined;
  mode: TargetMode | undefined;
}

/** A delivery as in lists, with the reason why it waits now. */
export function createDeliveryPresenter(parts: {
  subscriptions: { find(seq: number): Subscription | undefined };
  scheduler: { findMode(seq: number): TargetMode | undefined };
}): (delivery: StoredDelivery) => AnswerOf<typeof Described> {
  return (delivery) =>
    presentDelivery(delivery, {
      subscription: parts.subscriptions.find(delivery.subscriptionSeq),
      mode: parts.scheduler.findMode(delivery.subscriptionSeq),
    });
}

function presentDelivery(delivery: StoredDelivery, hold: HoldFacts): AnswerOf<typeof Described> {
  return {
    id: formatDeliveryId(delivery.eventSeq, delivery.subscriptionSeq),
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    tenant_id: delivery.tenantId,
    subscription_id: delivery.subscriptionId,
    subscription_name: hold.subscription?.name ?? null,
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

function holdReason(
  delivery: StoredDelivery,
  { subscription, mode }: HoldFacts,
): AnswerOf<typeof Described>["hold_reason"] {
  if (delivery.state !== "pending") return null;
  if (subscription?.heldBecause !== undefined) return "unknown_kind";
  if (subscription?.status === "inactive") return "paused";
  if (subscription?.status === "suspended") return "suspended";
  if (mode?.isOpen === true) return mode.forced === "QUEUE" ? "queue_mode" : "destination_down";
  return delivery.waitsForKey ? "ordering_key" : null;
}

/** Facts about an attempt that its own record does not have. */
export interface AttemptOf {
  deliveryId: string;
  eventId: string;
  eventType: string;
  /** The current subscription; undefined when it was deleted. */
  subscription: Subscription | undefined;
  /** The caller does not get to know what the destination answered. */
  hidesAnswer?: boolean | undefined;
}

export type NumberedAttempt = AttemptRecord & { number: number };

/** When the kind is no longer known, the attempt is shown as HTTP, the first kind that existed. */
export function presentAttempt(attempt: NumberedAttempt, of: AttemptOf, kinds: DestinationKinds) {
  const { number, startedAt } = attempt;
  const kind = kinds.find(of.subscription?.kind ?? DEFAULT_KIND) ?? kinds.find(DEFAULT_KIND);
  return {
    number,
    started_at: isoTime(startedAt),
    duration_ms: attempt.durationMs,
    result: attempt.result,
    ...kind?.presentRecord(attempt, { ...of, number, startedAt }),
    ...(of.hidesAnswer === true && { response_headers: null, response_body: null }),
    error: attempt.error ?? null,
    trigger: attempt.trigger,
  };
}
