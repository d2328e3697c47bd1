import type { FailureFacts } from "../deliver/target-lanes.ts";
import type { Target } from "../deliver/target.ts";
import { takeModeNotice } from "../deliver/mode.ts";
import { DEFAULT_SUSPENSION, type Subscription, type SubscriptionStatus } from "../model/subscription.ts";
import type { Clock } from "../model/clock.ts";
import type { DeadReason } from "../model/delivery.ts";
import { formatDeliveryId } from "../model/ids.ts";
import type { Source } from "../model/source.ts";
import { parseUrl } from "../model/addresses.ts";
import type { Draft } from "../resources/draft.ts";
import type { ClaimedDelivery, DeadDelivery, Settlement } from "../store/port/lanes.ts";
import type { OwnEvent, OwnEvents } from "../accept/ingest.ts";
import type { Statistics } from "../jobs/statistics.ts";
import type { KnownTarget } from "../resources/target-states.ts";

/**
 * Informs tenants about problems of their subscriptions and sources, with events of the gateway itself. A failed
 * delivery of such an event is not reported: the report would fail in the same way.
 */
export type FailureEvents = ReturnType<typeof createFailureEvents>;

export function createFailureEvents(options: {
  ownEvents: OwnEvents;
  clock: Clock;
  findSubscription: (seq: number) => Subscription | undefined;
  statistics?: Pick<Statistics, "recordEnd"> | undefined;
}) {
  const { ownEvents, clock, findSubscription, statistics } = options;
  let waiting: OwnEvent[] | undefined = [];

  function publish(event: OwnEvent): void {
    if (waiting === undefined) void ownEvents.publishOwn(event);
    else waiting.push(event);
  }

  function notifyDead(
    subscription: Subscription,
    dead: Omit<DeadDelivery, "reason"> & { reason: DeadReason | undefined; error?: string | undefined },
  ): void {
    publish({
      type: "webhook.delivery_dead",
      tenantId: subscription.tenantId,
      causedBy: dead.eventType,
      onlyIfWanted: true,
      data: {
        delivery_id: formatDeliveryId(dead.eventSeq, dead.subscriptionSeq),
        event_id: dead.eventId,
        event_type: dead.eventType,
        webhook_id: subscription.id,
        subscription_id: subscription.id,
        name: subscription.name,
        reason: dead.reason ?? null,
        last_error: dead.error ?? null,
        error: dead.error ?? dead.reason ?? null,
        attempts: dead.attemptCount,
      },
    });
  }

  return {
    /** Written with the change, as is `resumed`. */
    suspended(draft: Draft, subscription: Subscription, reason: string, facts: FailureFacts): void {
      if (!facts.failedOthers) return;
      ownEvents.publishWith(draft, {
        type: "webhook.suspended",
        tenantId: subscription.tenantId,
        data: {
          webhook_id: subscription.id,
          reason,
          action_required: "Review and reactivate webhook",
          ...describe(subscription),
          ...describeFailures(facts, clock.now()),
        },
      });
    },

    failing(subscription: Subscription, facts: FailureFacts): void {
      const { mode } = facts.target;
      if (!facts.failedOthers) return;
      const { suspension = DEFAULT_SUSPENSION } = subscription;
      publish({
        type: "webhook.failing",
        tenantId: subscription.tenantId,
        data: {
          webhook_id: subscription.id,
          reason: mode.isOpen ? "it cannot be reached" : "its deliveries keep failing",
          action_required: "Repair the destination before the webhook is suspended",
          ...describe(subscription),
          ...describeFailures(facts, clock.now()),
          suspended_after_dead: suspension.afterDead ?? null,
          suspended_after_down_s: suspension.afterMs === undefined ? null : suspension.afterMs / 1000,
        },
      });
    },

    resumed(
      draft: Draft,
      subscription: Subscription,
      from: SubscriptionStatus,
      { held, skipped }: { held: "deliver" | "skip"; skipped: number },
    ): void {
      ownEvents.publishWith(draft, {
        type: "webhook.resumed",
        tenantId: subscription.tenantId,
        data: {
          webhook_id: subscription.id,
          previous_status: from,
          held,
          skipped_deliveries: skipped,
          ...describe(subscription),
        },
      });
    },

    /** Its target has changed to mode QUEUE, or back to NORMAL. */
    modeChanged(
      known: Pick<KnownTarget, "name" | "tenantId" | "declared" | "subscriptions">,
      target: Pick<Target, "mode" | "notices">,
    ): void {
      const { name, tenantId, declared, subscriptions } = known;
      const { mode } = target;
      if (!takeModeNotice(target)) return;
      const [now, before] = mode.isOpen ? ["QUEUE", "NORMAL"] : ["NORMAL", "QUEUE"];
      const [owner] = declared === undefined ? subscriptions : [];
      publish({
        type: "gateway.mode_changed",
        tenantId,
        data: {
          target: name,
          webhook_id: owner?.id ?? null,
          mode: now,
          previous_mode: before,
          since: new Date(clock.wall()).toISOString(),
          reason: mode.reason ?? null,
          forced: mode.forced !== undefined,
          failures: mode.failures,
          url_host: owner === undefined ? null : hostOf(owner),
        },
      });
    },

    died(
      subscription: Subscription,
      { event }: Pick<ClaimedDelivery, "event">,
      { eventSeq, subscriptionSeq, attemptNumber, deadReason, attempt }: Settlement,
    ): void {
      const key = { eventSeq, subscriptionSeq, eventId: event.id, eventType: event.type };
      notifyDead(subscription, { ...key, reason: deadReason, error: attempt.error, attemptCount: attemptNumber });
    },

    /** Deliveries that became dead without an attempt. */
    diedUnsent(dead: readonly DeadDelivery[]): void {
      for (const one of dead) {
        statistics?.recordEnd(one.subscriptionSeq, "dead");
        const subscription = findSubscription(one.subscriptionSeq);
        if (subscription !== undefined) notifyDead(subscription, one);
      }
    },

    /** Written with the change itself. */
    sourceDisabled(
      { name, tenantId, status }: Pick<Source, "name" | "tenantId" | "status">,
      reason: string,
      draft: Draft,
    ): void {
      ownEvents.publishWith(draft, { type: "source.disabled", tenantId, data: { source: name, status, reason } });
    },

    /** Until then, events that are not part of a change are kept back: no subscription is loaded yet. */
    start(): void {
      const kept = waiting ?? [];
      waiting = undefined;
      kept.forEach(publish);
    },
  };
}

/** Shows only the host of an address: a path or a query may contain a token. */
function describe(subscription: Subscription) {
  return { name: subscription.name, url_host: hostOf(subscription) };
}

function hostOf({ place }: Subscription): string | null {
  return parseUrl(place)?.host ?? null;
}

function describeFailures({ target: { mode }, deadInARow }: FailureFacts, now: number) {
  return {
    dead_in_a_row: deadInARow,
    down_for_s: mode.isOpen ? Math.max(0, Math.round((now - mode.openedAt) / 1000)) : 0,
    last_error: mode.lastError ?? null,
  };
}
