import type { HealthWatch } from "../deliver/target-health.ts";
import type { FailureFacts } from "../deliver/target-lanes.ts";
import { nameForLog } from "../model/tenant.ts";
import type { Target } from "../deliver/target.ts";
import type { Clock, Timer } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { FailureEvents } from "./failure-events.ts";
import type { KnownTarget, Targets } from "../resources/target-states.ts";

/** What follows a change of a target's mode: it is logged, counted, reported and saved. */
export function createModeEvents(options: {
  targets: Targets;
  failureEvents: Pick<FailureEvents, "modeChanged" | "failing">;
  metrics: Pick<Metrics, "countModeChange">;
  health: HealthWatch;
  clock: Clock;
  logger: Logger;
  /** Called when deliveries of these subscriptions are kept for later. */
  onQueueing?: ((subscriptions: readonly Subscription[]) => void) | undefined;
  /** Called when events that went elsewhere during the outage may come back. */
  onNormal?: ((target: Target) => void) | undefined;
  onFault: (error: unknown) => void;
}) {
  const { targets, failureEvents, metrics, health, clock, logger, onFault } = options;
  let timer: Timer | undefined;
  let isStarted = false;

  function changed(known: KnownTarget & { state: Target }, change: "opened" | "closed"): void {
    const { state, declared, subscriptions } = known;
    const { mode } = state;
    const [owner] = declared === undefined ? subscriptions : [];
    const facts = owner === undefined ? { target: known.name } : { subscription: nameForLog(owner), url: owner.place };
    const why = { ...facts, reason: mode.reason, ...(mode.forced !== undefined && { forced: mode.forced }) };
    if (mode.forced !== undefined) logger.warn(why, "mode was set by hand");
    else if (change === "opened") logger.warn(why, "destination is down, queueing");
    else logger.info(why, "destination is back");
    metrics.countModeChange(known, mode.isOpen ? "QUEUE" : "NORMAL");
    failureEvents.modeChanged(known, state);
    if (mode.isOpen) options.onQueueing?.(subscriptions);
    else options.onNormal?.(state);
    watchSoon();
  }

  function watchSoon(): void {
    if (!isStarted || timer !== undefined) return;
    timer = clock.setTimer(clock.now(), () => {
      timer = undefined;
      health.watch(targets.listChecked());
    });
  }

  return {
    /** As above; the caller saves the change. */
    changed,
    /** Lists the checked targets again, once for all changes of a moment. */
    watchSoon,
    /** Called after an attempt of a subscription. */
    changedBy(subscription: Subscription, change: "opened" | "closed"): void {
      const known = targets.of(subscription);
      if (known.state !== undefined) changed({ ...known, state: known.state }, change);
      targets.saveMode(known).catch(onFault);
    },
    failing(subscription: Subscription, facts: FailureFacts): void {
      const where = { subscription: nameForLog(subscription), url: subscription.place };
      logger.warn(where, "subscription will be suspended unless its deliveries succeed");
      failureEvents.failing(subscription, facts);
    },
    /** Called after a health check. */
    found(target: Target, change: "opened" | "closed"): void {
      const known = targets.findKnown(target);
      if (known === undefined) return;
      changed({ ...known, state: target }, change);
      targets.saveMode({ ...known, state: target }).catch(onFault);
    },
    start(): void {
      isStarted = true;
      health.watch(targets.listChecked());
    },
    stop(): void {
      isStarted = false;
      timer?.cancel();
      health.stop();
    },
  };
}
