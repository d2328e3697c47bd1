import { createFanOut } from "../accept/fan-out.ts";
import { createForwarding, createForwards } from "../accept/forwarding.ts";
import { createIngest, createOwnEvents, traceIngest } from "../accept/ingest.ts";
import { createGovernor, createUtilization } from "../accept/overload.ts";
import { createAttemptWindows } from "../alerts/attempt-window.ts";
import { createFailureEvents } from "../alerts/failure-events.ts";
import { createModeEvents } from "../alerts/mode-events.ts";
import { createFallbackDrain } from "../deliver/fallback-drain.ts";
import { createScheduler } from "../deliver/scheduler.ts";
import { createAttemptListener } from "../deliver/settle.ts";
import { createHealthWatch } from "../deliver/target-health.ts";
import { createEndedEvents } from "../intake/messages/ended-events.ts";
import { createBodyErasures } from "../jobs/body-erasure.ts";
import { createFallbackDepths } from "../jobs/fallback-depths.ts";
import { createStatistics } from "../jobs/statistics.ts";
import { startUpkeep } from "../jobs/upkeep.ts";
import { nameForLog } from "../model/tenant.ts";
import type { Subscription } from "../model/subscription.ts";
import { createBulkReplays } from "../replays/bulk-replays.ts";
import { createReplayRunner } from "../replays/replay-runner.ts";
import { createReplays } from "../replays/replays.ts";
import { createResume } from "../replays/resume.ts";
import { createTestDeliveries } from "../replays/test-delivery.ts";
import type { Draft } from "../resources/draft.ts";
import { createSubscriptionLanes } from "../resources/subscriptions/subscription-lanes.ts";
import { createEventWarning } from "../telemetry/event-warning.ts";
import type { Configured } from "./configured.ts";
import type { Foundation, Start } from "./start.ts";

/** When the event loop lags by more than this, replays wait. */
const BUSY_LAG_MS = 50;

/**
 * Accepts events, delivers them, and reports how that goes with events that are accepted and delivered in the same way.
 * No attempt ends before all of this is there.
 */
export type Delivery = ReturnType<typeof openDelivery>;

export function openDelivery(start: Start, made: Foundation & Configured) {
  const { config, options, logger, logFault, parts } = start;
  const { store, clock, random, createId, inFlight, authors, trail, metrics, senders, dispatch, tracing } = made;
  const { work, disk, loopLag, quotas, credentials, router, targets, subscriptions } = made;
  const statistics = createStatistics({ store, clock, onFault: logFault });
  const attemptWindows = createAttemptWindows(clock);
  parts.add(() => statistics.stop());
  const governor = createGovernor({ clock, readUtilization: createUtilization() });
  parts.add(() => governor.stop());
  const forwards = createForwards({ clock, onAnswer: metrics.countForward });
  const endedEvents = createEndedEvents({ store, clock });
  const { activity } = options;
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
    isCancelling: (seq) => replayRunner.isCancelling(seq),
    maxInFlight: config.limits.maxSockets,
    maxBodyBytes: config.limits.bodyCacheBytes,
    maxHeldMs: config.heldMaxDays * 86_400_000,
    onAttempt: createAttemptListener({ clock, logger, metrics, activity, statistics, attemptWindows, forwards }),
    onDead(subscription, delivery, settlement) {
      const name = nameForLog(subscription);
      const facts = { event_id: delivery.event.id, subscription: name, reason: settlement.deadReason };
      logger.warn({ ...facts, detail: settlement.attempt.error }, "delivery is dead");
      failureEvents.died(subscription, delivery, settlement);
    },
    onSettled: endedEvents.recordSettled,
    onFault: logFault,
    onTested: (eventId, settlement) => tests.recordTested(eventId, settlement),
    onExpired: (dead) => failureEvents.diedUnsent(dead),
    onMode: (subscription, change) => modes.changedBy(subscription, change),
    onFailing: (subscription, facts) => modes.failing(subscription, facts),
    onState: (subscription, state) => void targets.saveState(subscription, state).catch(logFault),
    onSuspend(subscription, reason, facts) {
      logger.warn({ subscription: nameForLog(subscription), reason }, "subscription is suspended");
      const report = (draft: Draft, current: Subscription) => {
        draft.explain({ reason });
        failureEvents.suspended(draft, current, reason, facts);
      };
      // By itself, also while it tries what somebody asked for.
      authors.asGateway(() => subscriptions.suspend(subscription, report)).catch(logFault);
    },
  });
  const fallbackDepths = createFallbackDepths({
    clock,
    listFallbacks: (tenantId) => subscriptions.list(tenantId).flatMap((one) => subscriptions.findFallback(one) ?? []),
    countWaiting: async (fallback) => senders.find(fallback.kind)?.queue?.countWaiting(fallback),
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
    mayHoldMore: (fallback) => senders.find(fallback.kind)?.queue?.mayHoldMore(fallback) === true,
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
    check(place, owner, done) {
      const sender = senders.find(place.kind);
      if (sender?.checkHealth === undefined) return done(`there is no health check for the kind ${place.kind}`);
      sender.checkHealth(place, owner, done);
    },
    lanes: scheduler.targets,
    drain,
    onMode: (target, change) => modes.found(target, change),
    onHealthy(target) {
      for (const subscription of targets.listResumable(target)) {
        const name = nameForLog(subscription);
        logger.info({ subscription: name }, "destination is healthy again, subscription resumed");
        resume.resume(subscription, "deliver").catch(logFault);
      }
    },
  });
  const upkeep = startUpkeep({
    store,
    clock,
    onMovedUp: scheduler.refresh,
    onDead: (dead) => failureEvents.diedUnsent(dead),
    onFault: logFault,
  });
  parts.add(() => upkeep.stop());

  const warnUnmatched = createEventWarning(logger, () => clock.now(), "nobody subscribes to this event");
  const fanOut = createFanOut({ store, router, scheduler, clock, onUnmatched: warnUnmatched });
  parts.add(() => fanOut.settled());
  const create = options.makers?.createIngest?.(createIngest) ?? createIngest;
  const untraced = create({ fanOut, quotas, governor, work, metrics, statistics, disk });
  const ingest = tracing === undefined ? untraced : traceIngest(untraced, tracing);
  const forwarding = createForwarding({ forwards, credentials, governor, router, scheduler, subscriptions });
  const ownEvents = createOwnEvents({ ingest, clock, createId, router, onFault: logFault });
  const failureEvents = createFailureEvents({ ownEvents, clock, findSubscription: subscriptions.find, statistics });
  const modes = createModeEvents({
    targets,
    failureEvents,
    metrics,
    health,
    clock,
    logger,
    onQueueing: (waiting) => waiting.forEach(({ seq }) => forwards.giveUp(seq)),
    onNormal: drain.bringBack,
    onFault: logFault,
  });

  const touched = {
    store,
    subscriptions,
    clock,
    authors,
    onDue: (subscription: Subscription) => scheduler.recordPending(subscription, clock.now()),
    onCancelled: scheduler.withdraw,
  };
  const replayRunner = createReplayRunner({
    ...touched,
    isBusy: () => loopLag.lagMs > BUSY_LAG_MS,
    onFault: logFault,
    onEnd: ({ id, kind, status, done, skipped, failed, error }) =>
      logger.info({ replay_id: id, kind, status, done, skipped, failed, error }, "a replay has ended"),
  });
  const bulkReplays = createBulkReplays({ store, subscriptions, runner: replayRunner, clock, authors, createId });
  const tests = createTestDeliveries({ store, accept: ingest.accept, clock, createId });
  const resume = createResume({ store, subscriptions, findMode: scheduler.findMode, failureEvents, trail });
  const subscriptionLanes = createSubscriptionLanes({
    store,
    subscriptions,
    cancelLater: bulkReplays.cancelLane,
    isCancelling: replayRunner.isCancelling,
    onMovedUp: scheduler.refresh,
  });
  return {
    statistics,
    attemptWindows,
    forwards,
    endedEvents,
    scheduler,
    fallbackDepths,
    drain,
    health,
    upkeep,
    fanOut,
    ingest,
    forwarding,
    ownEvents,
    failureEvents,
    modes,
    replays: createReplays(touched),
    bodyErasures: createBodyErasures(touched),
    replayRunner,
    bulkReplays,
    tests,
    resume,
    subscriptionLanes,
  };
}

/** From now on, what users change takes effect here too. */
export function followChanges(made: Foundation & Configured & Delivery): void {
  const { changes, router, subscriptions, senders } = made;
  const { forwarding, scheduler, drain, modes, failureEvents, subscriptionLanes } = made;
  changes.targets.listen(modes.watchSoon);
  changes.forcedMode.listen(modes.changed);
  changes.resumed.listen((draft, subscription, from) =>
    failureEvents.resumed(draft, subscription, from, { held: "deliver", skipped: 0 }),
  );
  changes.subscriptions.listen(async (changed) => {
    router.update(subscriptions.list(undefined));
    for (const { before, after } of changed) {
      const subscription = after ?? before;
      if (subscription === undefined) continue;
      forwarding.refresh(subscription);
      scheduler.refresh(subscription.seq);
      if (after !== undefined && before?.fallback !== after.fallback) drain.bringBackFormer(after);
      if (after?.status === "active") senders.find(after.kind)?.handshakes?.begin(after);
    }
    modes.watchSoon();
    await subscriptionLanes.skipDeadHeads(changed);
  });
}
