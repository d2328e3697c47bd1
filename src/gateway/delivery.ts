import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { createAddressGuard } from "../deliver/address-guard.ts";
import { parseDestination } from "../deliver/destination.ts";
import { createForwards } from "../deliver/forwards.ts";
import { createGovernor } from "../deliver/governor.ts";
import { createHealthCheck } from "../deliver/health-check.ts";
import { createHealthWatch } from "../deliver/health-watch.ts";
import { openHttpClient } from "../deliver/http-client.ts";
import { openInFlightFile } from "../deliver/in-flight-file.ts";
import { createLocalDispatch } from "../deliver/local-dispatch.ts";
import { createOwnUrls } from "../deliver/own-urls.ts";
import { parseEgressProxy } from "../deliver/proxy-tunnel.ts";
import { createScheduler } from "../deliver/scheduler.ts";
import { openHttpSender } from "../deliver/senders/http.ts";
import type { Subscription } from "../domain/subscription.ts";
import { createBulkReplays } from "../manage/bulk-replays.ts";
import { createFailureNews } from "../manage/failure-news.ts";
import { createOwnEvents } from "../manage/own-events.ts";
import { createReplayRunner } from "../manage/replay-runner.ts";
import { createReplays } from "../manage/replays.ts";
import { createRequestCredentials } from "../manage/request-credentials.ts";
import { createResume } from "../manage/resume.ts";
import { createStatistics } from "../manage/statistics.ts";
import { openSubscriptions } from "../manage/subscriptions.ts";
import { createModeNews } from "../manage/mode-news.ts";
import { openTargets } from "../manage/targets.ts";
import { createTestDeliveries } from "../manage/test-delivery.ts";
import { startUpkeep } from "../manage/upkeep.ts";
import { createForwarding } from "../receive/forwarding.ts";
import { createFanOut, type IncomingEvent, type IngestResult } from "../route/fan-out.ts";
import { createRouter } from "../route/router.ts";
import type { AcceptResult } from "../store/store.ts";
import { createEventWarning } from "../telemetry/event-warning.ts";
import { createUtilization } from "../telemetry/utilization.ts";
import type { Ground } from "./ground.ts";

/** From an event to everyone who asked for it, and what is told when that fails. */
export type Delivery = Awaited<ReturnType<typeof openDelivery>>;

/** A loop that is later than this has more urgent things to do than replays. */
const BUSY_LAG_MS = 50;

export async function openDelivery(ground: Ground) {
  const { config, logger, broken, logFault } = ground;
  const { store, clock, random, createId, metrics, loopLag, work, disk, secretBox, quotas, registry, tenants } = ground;
  const { limits } = config;
  const guard = createAddressGuard({ allowPrivate: config.allowPrivateDestinations, ownAddresses: listOwnAddresses });
  const client = openHttpClient({
    guard,
    allowHttp: config.allowHttpDestinations,
    clock,
    maxSockets: limits.maxSockets,
    connectionsPerHost: limits.connectionsPerHost,
    idleConnectionsPerHost: limits.idleConnectionsPerHost,
    proxy: config.egressProxy === undefined ? undefined : parseEgressProxy(config.egressProxy),
  });
  const credentials = createRequestCredentials(secretBox);
  const ownUrls = createOwnUrls({
    publicUrl: config.publicUrl,
    host: config.host,
    port: config.port,
    listAddresses: listOwnAddresses,
  });
  const sender = openHttpSender({
    client,
    clock,
    userAgent: config.userAgent,
    openCredentials: credentials.open,
    findOwnUrlProblem: ownUrls.findProblem,
  });
  const inFlight = openInFlightFile(join(config.dataDir, "in-flight"), {
    places: limits.maxSockets,
    onFault: (error) =>
      logger.warn({ error }, "what is being sent cannot be noted; after a crash it is sent again without a trace"),
    defer: setImmediate,
  });
  const dispatch = createLocalDispatch({ senders: { http: sender }, store, clock });

  const warnCostlyFilter = createEventWarning(logger, () => clock.now(), "filters cost too much and did not match");
  const router = createRouter({
    onTooCostly(event, filters) {
      metrics.countCostlyFilters(filters);
      warnCostlyFilter(event);
    },
  });
  const checkDestination = (url: string, field?: string) =>
    void parseDestination(url, { allowHttp: config.allowHttpDestinations, guard }, field);
  const targets = await openTargets({
    registry: ground.registry,
    store,
    clock,
    subscriptions: () => subscriptions,
    scheduler: () => scheduler,
    checkDestination,
    onMode: (known, change) => modes.changed(known, change),
    onChange: () => modes.watchSoon(),
  });
  const subscriptions = await openSubscriptions({
    registry,
    store,
    clock,
    random,
    secretBox,
    createId,
    checkDestination,
    checkOwnUrl: ownUrls.check,
    findTarget: targets.findDeclared,
    findQuota: (draft, tenantId) => tenants.findQuota(draft, tenantId),
    onChange(changed) {
      router.update(subscriptions.list(undefined));
      for (const subscription of changed) {
        forwarding.refresh(subscription);
        scheduler.refresh(subscription.seq);
      }
      modes.watchSoon();
    },
    onResumed: (draft, subscription, from) => news.resumed(draft, subscription, from, { held: "deliver", skipped: 0 }),
    cancelLater: (draft, subscription, open) => bulkReplays.cancelLane(draft, subscription, open),
    isCancelling: (seq) => replayRunner.isCancelling(seq),
  });
  ground.countSubscriptionsBy(subscriptions.count);
  const statistics = createStatistics({ store, clock, onFault: logFault });
  const governor = createGovernor({ clock, readUtilization: createUtilization() });
  const forwards = createForwards({ clock, onAnswer: metrics.countForward });
  const scheduler = createScheduler({
    governor,
    inFlight,
    store,
    dispatch,
    clock,
    random,
    findSubscription: subscriptions.find,
    findSavedState: subscriptions.findSavedState,
    findSharedTarget: targets.findShared,
    onIll: (target) => health.checkSoon(target),
    isCancelling: (seq) => replayRunner.isCancelling(seq),
    maxInFlight: limits.maxSockets,
    maxBodyBytes: limits.bodyCacheBytes,
    maxHeldMs: config.heldMaxDays * 86_400_000,
    onAttempt(subscription, delivery, report, { settlement }) {
      upkeep.noteWork();
      const { verdict, attempt } = settlement;
      statistics.note(subscription.seq, report.durationMs, attempt.result === "success");
      forwards.note(delivery.event.id, subscription.seq, verdict === "delivered");
      if (subscription.ordered && subscription.mode === "forward") {
        const isWaiting = verdict === "retry" || (verdict === "dead" && !settlement.leavesKeyQueue);
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
      if (verdict === "dead") {
        const facts = { event_id: delivery.event.id, subscription: subscription.name, reason: settlement.deadReason };
        logger.warn({ ...facts, detail: attempt.error }, "delivery is dead");
        news.died(subscription, delivery, settlement);
      }
    },
    onTested: (eventId, settlement) => tests.noteTested(eventId, settlement),
    onExpired: (deaths) => news.diedUnsent(deaths),
    onMode: (subscription, change) => modes.noted(subscription, change),
    onFailing: (subscription, facts) => modes.failing(subscription, facts),
    onState: (subscription, state) => void subscriptions.saveState(subscription, state).catch(logFault),
    onSuspend(subscription, reason, facts) {
      logger.warn({ subscription: subscription.name, reason }, "subscription is suspended");
      subscriptions
        .suspend(subscription, (draft, current) => news.suspended(draft, current, reason, facts))
        .catch(logFault);
    },
  });
  const health = createHealthWatch({
    clock,
    random,
    check: createHealthCheck({ client, userAgent: config.userAgent }),
    lanes: scheduler.targets,
    onMode: (target, change) => modes.found(target, change),
    onWell(target) {
      for (const subscription of targets.listResumable(target)) {
        logger.info({ subscription: subscription.name }, "its destination is well, and the subscription goes on");
        resume.resume(subscription, "deliver").catch(logFault);
      }
    },
  });
  const warnUnmatched = createEventWarning(logger, () => clock.now(), "nobody subscribes to this event");
  const fanOut = createFanOut({ store, router, scheduler, clock, onUnmatched: warnUnmatched });
  const upkeep = startUpkeep({
    store,
    clock,
    onMovedUp: scheduler.refresh,
    onDeaths: (deaths) => news.diedUnsent(deaths),
    onFault: logFault,
  });
  const forwarding = createForwarding({ forwards, credentials, governor, router, scheduler, subscriptions });
  const replays = createReplays({
    store,
    subscriptions,
    clock,
    onDue: (subscription) => scheduler.notePending(subscription, clock.now()),
    onCancelled: scheduler.withdraw,
  });

  const replayRunner = createReplayRunner({
    store,
    subscriptions,
    clock,
    onDue: (subscription) => scheduler.notePending(subscription, clock.now()),
    onCancelled: scheduler.withdraw,
    isBusy: () => loopLag.lagMs > BUSY_LAG_MS,
    onFault: logFault,
    onEnd: ({ id, kind, status, done, skipped, failed, error }) =>
      logger.info({ replay_id: id, kind, status, done, skipped, failed, error }, "a replay has ended"),
  });
  const bulkReplays = createBulkReplays({ store, subscriptions, runner: replayRunner, clock, createId });

  type Done = (result: IngestResult) => void;
  const take = (event: IncomingEvent, done: Done, to?: readonly Subscription[]) => {
    upkeep.noteWork();
    governor.noteAccepted();
    work.unwrittenEvents++;
    const answer = (result: IngestResult) => {
      work.unwrittenEvents--;
      metrics.countEvent(result.kind);
      if (result.kind === "failed" && result.error.code === "store_full") disk.noteFull();
      done(result);
    };
    if (broken?.forgetDedupe === true) event.dedupeKey = event.replayKey = undefined;
    if (broken?.forgetHops === true) event.details = undefined;
    if (broken?.ignoreOrder === true) event.orderingKey = createId("evt");
    if (broken?.answerBeforeCommit === true) {
      fanOut.accept(event, () => undefined);
      return answer({ kind: "stored", eventId: event.id, deliveries: 1 });
    }
    if (to === undefined) fanOut.accept(event, answer);
    else fanOut.acceptFor(event, to, answer);
  };
  const accept = (event: IncomingEvent, done: Done, to?: readonly Subscription[]) => {
    const meter = quotas.find(event.tenantId);
    if (meter === undefined) return take(event, done, to);
    const refusal = meter.refuse(event);
    if (refusal !== undefined) return done({ kind: "failed", error: refusal });
    const answer = (result: IngestResult) => {
      meter.end(event, result.kind === "stored" ? result : undefined);
      done(result);
    };
    take(event, answer, to);
  };
  const plan = (event: IncomingEvent) => {
    const { deliveries, done } = fanOut.plan(event);
    const note = (result: AcceptResult) => {
      upkeep.noteWork();
      metrics.countEvent(result.kind);
      done(result);
    };
    return { deliveries, done: note };
  };
  // Past the quotas: a tenant whose backlog is too long must hear why.
  const ownEvents = createOwnEvents({ accept: take, plan, clock, createId, router, onFault: logFault });
  const news = createFailureNews({ ownEvents, clock, findSubscription: subscriptions.find });
  const modes = createModeNews({
    targets,
    news,
    metrics,
    health,
    clock,
    logger,
    onQueueing: (waiting) => waiting.forEach(({ seq }) => forwards.giveUp(seq)),
    onFault: logFault,
  });
  const tests = createTestDeliveries({ store, accept, clock, createId });
  const { findMode } = scheduler;
  const resume = createResume({ store, subscriptions, findMode, news, clock });

  return {
    client,
    inFlight,
    ownUrls,
    router,
    targets,
    subscriptions,
    statistics,
    governor,
    forwards,
    forwarding,
    scheduler,
    fanOut,
    upkeep,
    replays,
    replayRunner,
    bulkReplays,
    accept,
    ownEvents,
    news,
    modes,
    tests,
    resume,
  };
}
function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
