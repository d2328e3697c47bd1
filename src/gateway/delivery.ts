import { createForwards, type Forwards } from "../deliver/forwards.ts";
import { createGovernor, type Governor } from "../deliver/slots.ts";
import { createFallbackDrain, type FallbackDrain } from "../deliver/fallback.ts";
import { createHealthWatch, type HealthWatch } from "../deliver/target-health.ts";
import { createScheduler, type Scheduler, type SchedulerOptions } from "../deliver/scheduler.ts";
import { createEndedEvents, type EndedEvents } from "../intake/messages/ended-events.ts";
import type { ForwardResult } from "../model/forward-rules.ts";
import { formatDeliveryId } from "../model/ids.ts";
import { isGatewayEventType } from "../model/pattern.ts";
import { createAttemptWindows, type AttemptWindows } from "../alerts/attempt-window.ts";
import { nameForLog } from "../alerts/contacts.ts";
import { createFallbackDepths, type FallbackDepths } from "../jobs/fallback-depths.ts";
import type { Draft } from "../resources/draft.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Settlement } from "../store/port/lanes.ts";
import { createStatistics, type Statistics } from "../jobs/statistics.ts";
import { startUpkeep } from "../jobs/upkeep.ts";
import { createUtilization } from "../accept/loop-lag.ts";
import { openAcceptance } from "./acceptance.ts";
import { openActs } from "./acts.ts";
import type { Capacity } from "./capacity.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** Delivers what is stored to its subscriptions. */
export interface Sending {
  readonly statistics: Statistics;
  readonly attemptWindows: AttemptWindows;
  readonly governor: Governor;
  readonly forwards: Forwards;
  readonly endedEvents: EndedEvents;
  readonly scheduler: Scheduler;
  readonly fallbackDepths: FallbackDepths;
  readonly drain: FallbackDrain;
  readonly health: HealthWatch;
  readonly upkeep: ReturnType<typeof startUpkeep>;
}

/**
 * Sends deliveries, and accepts the events that report how that goes: they are sent in the same way, so both are made
 * together. No attempt ends before all of them are there.
 */
export type Delivery = ReturnType<typeof openDelivery>;

export function openDelivery(start: Start, made: Storage & Capacity & Tenancy & Outgoing & Subscribers) {
  const { config, logger, logFault, parts } = start;
  const { store, clock, random, inFlight, authors, metrics, senders, dispatch, targets, subscriptions } = made;
  const statistics = createStatistics({ store, clock, onFault: logFault });
  const attemptWindows = createAttemptWindows(clock);
  parts.add(() => statistics.stop());
  const governor = createGovernor({ clock, readUtilization: createUtilization() });
  parts.add(() => governor.stop());
  const forwards = createForwards({ clock, onAnswer: metrics.countForward });
  const endedEvents = createEndedEvents({ store, clock });
  const scheduler = createScheduler({
    governor,
    inFlight,
    store,
    dispatch,
    clock,
    random,
    findSubscription: subscriptions.find,
    findSavedState: targets.findSaved,
    findSharedTarget: targets.findShared,
    findFallback: subscriptions.findFallback,
    findForward: (fallback) => subscriptions.findForward(fallback) ?? subscriptions.findFormerForward(fallback),
    isAwaited: forwards.isAwaited,
    onTargetFailed: (target) => health.checkSoon(target),
    isCancelling: (seq) => acts.replayRunner.isCancelling(seq),
    maxInFlight: config.limits.maxSockets,
    maxBodyBytes: config.limits.bodyCacheBytes,
    maxHeldMs: config.heldMaxDays * 86_400_000,
    onAttempt: createAttemptNotes(start, { ...made, forwards, statistics, attemptWindows }),
    onDead(subscription, delivery, settlement) {
      const name = nameForLog(subscription);
      const facts = { event_id: delivery.event.id, subscription: name, reason: settlement.deadReason };
      logger.warn({ ...facts, detail: settlement.attempt.error }, "delivery is dead");
      acceptance.failureEvents.died(subscription, delivery, settlement);
    },
    onSettled: endedEvents.noteSettled,
    onFault: logFault,
    onTested: (eventId, settlement) => acts.tests.noteTested(eventId, settlement),
    onExpired: (dead) => acceptance.failureEvents.diedUnsent(dead),
    onMode: (subscription, change) => acceptance.modes.noted(subscription, change),
    onFailing: (subscription, facts) => acceptance.modes.failing(subscription, facts),
    onState: (subscription, state) => void targets.saveState(subscription, state).catch(logFault),
    onSuspend(subscription, reason, facts) {
      logger.warn({ subscription: nameForLog(subscription), reason }, "subscription is suspended");
      const tell = (draft: Draft, current: Subscription) => {
        draft.explain({ reason });
        acceptance.failureEvents.suspended(draft, current, reason, facts);
      };
      // By itself, also while it tries what somebody asked for.
      authors.asGateway(() => subscriptions.suspend(subscription, tell)).catch(logFault);
    },
  });
  const fallbackDepths = createFallbackDepths({
    clock,
    listFallbacks: (tenantId) => subscriptions.list(tenantId).flatMap((one) => subscriptions.findFallback(one) ?? []),
    countWaiting: senders.countWaiting,
  });
  const drain = createFallbackDrain({
    clock,
    store,
    scheduler,
    listForwards: () => subscriptions.list(undefined).filter(({ fallback }) => fallback !== undefined),
    findFallback: subscriptions.findFallback,
    listFormerFallbacks: ({ seq }) =>
      subscriptions.list(undefined).filter((one) => subscriptions.findFormerForward(one)?.seq === seq),
    countQueue: fallbackDepths.count,
    mayHoldMore: senders.mayHoldMore,
    onOverdue: ({ forward, fallback, left, isHeld }) =>
      logger.warn(
        { subscription: forward.name, fallback: fallback.name, left: left ?? "unknown" },
        isHeld
          ? "the target is healthy and stays in QUEUE, because its fallback queue was not seen empty"
          : "the target is used again although its fallback queue was not seen empty",
      ),
    onFault: logFault,
  });
  const health = createHealthWatch({
    clock,
    random,
    check: senders.checkHealth,
    lanes: scheduler.targets,
    drain,
    onMode: (target, change) => acceptance.modes.found(target, change),
    onHealthy(target) {
      for (const subscription of targets.listResumable(target)) {
        const name = nameForLog(subscription);
        logger.info({ subscription: name }, "destination is healthy again, subscription resumed");
        acts.resume.resume(subscription, "deliver").catch(logFault);
      }
    },
  });
  const upkeep = startUpkeep({
    store,
    clock,
    onMovedUp: scheduler.refresh,
    onDead: (dead) => acceptance.failureEvents.diedUnsent(dead),
    onFault: logFault,
  });
  parts.add(() => upkeep.stop());
  const sending: Sending = {
    statistics,
    attemptWindows,
    governor,
    forwards,
    endedEvents,
    scheduler,
    fallbackDepths,
    drain,
    health,
    upkeep,
  };
  const acceptance = openAcceptance(start, { ...made, ...sending });
  const acts = openActs(start, { ...made, ...sending, ...acceptance });
  return { ...sending, ...acceptance, ...acts };
}

/** Logs and counts each attempt. */
function createAttemptNotes(
  { logger, options: { activity } }: Start,
  made: Storage & Capacity & { forwards: Forwards; statistics: Statistics; attemptWindows: AttemptWindows },
): NonNullable<SchedulerOptions["onAttempt"]> {
  const { clock, metrics, forwards, statistics, attemptWindows } = made;
  return (subscription, delivery, report, settlement, testOf) => {
    const { attempt, moveTo } = settlement;
    // One that moves to another subscription, or back, is tried there.
    const verdict = moveTo === undefined ? settlement.verdict : "retry";
    // A failed delivery of an alert must not cause another alert.
    if (!isGatewayEventType(delivery.event.type)) {
      const [isSuccess, isRetry] = [attempt.result === "success", delivery.attemptCount > 0];
      attemptWindows.note(subscription.seq, { durationMs: report.durationMs, isSuccess, isRetry });
    }
    statistics.note(subscription.seq, report.durationMs, attempt.result === "success");
    // A test counts for nobody and against nobody.
    if (verdict !== "retry" && testOf === undefined) {
      const isFirst = settlement.attemptNumber === 1;
      statistics.noteEnded(subscription.seq, verdict === "dead" ? "dead" : isFirst ? "first_try" : "later");
    }
    forwards.note(delivery.event.id, subscription.seq, toForwardResult(subscription, settlement));
    if (subscription.ordered && subscription.mode === "forward") {
      const waits = verdict === "retry" && moveTo === undefined;
      const isWaiting = waits || (verdict === "dead" && !settlement.leavesKeyQueue);
      forwards.noteHead(subscription.seq, delivery.event.orderingKey, isWaiting);
    }
    metrics.countAttempt({
      subscriptionId: subscription.id,
      eventType: delivery.event.type,
      result: attempt.result,
      isRetry: delivery.attemptCount > 0,
      durationMs: report.durationMs,
      dwellMs: verdict === "delivered" ? clock.wall() - delivery.event.receivedAt : undefined,
    });
    activity?.attempt({
      eventId: delivery.event.id,
      deliveryId: formatDeliveryId(delivery.eventSeq, delivery.subscriptionSeq),
      eventType: delivery.event.type,
      subscription: nameForLog(subscription),
      number: settlement.attemptNumber,
      verdict,
      responseCode: attempt.responseCode,
      error: attempt.error,
      durationMs: report.durationMs,
      retryInMs: moveTo !== undefined ? 0 : retryIn(settlement, clock.now()),
    });
    if (moveTo?.isReturn === true) {
      const facts = { event_id: delivery.event.id, fallback: subscription.name, reason: settlement.deadReason };
      logger.warn(
        { ...facts, detail: attempt.error },
        "the fallback cannot accept this event; it waits for its target",
      );
    }
  };
}

function toForwardResult(
  { onGiveUp }: Subscription,
  { verdict, deadReason, moveTo, attempt }: Settlement,
): ForwardResult {
  if (verdict === "delivered") return "forwarded";
  if (deadReason === undefined || moveTo !== undefined) return "queued";
  return { reason: deadReason, code: attempt.responseCode, isError: onGiveUp === "reject" };
}

function retryIn({ nextAttemptAt }: Settlement, now: number): number | undefined {
  return nextAttemptAt === undefined ? undefined : nextAttemptAt - now;
}
