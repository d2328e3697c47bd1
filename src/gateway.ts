import { networkInterfaces } from "node:os";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Config } from "./config/settings-tree.ts";
import { VERSION } from "./config/version.ts";
import { getDatabasePath } from "./config/store-url.ts";
import { createAddressGuard } from "./deliver/address-guard.ts";
import { parseDestination } from "./deliver/destination.ts";
import { createFetchText } from "./deliver/fetch-text.ts";
import { createForwards } from "./deliver/forwards.ts";
import { createGovernor } from "./deliver/governor.ts";
import { createHealthCheck } from "./deliver/health-check.ts";
import { createHealthWatch } from "./deliver/health-watch.ts";
import { openHttpClient } from "./deliver/http-client.ts";
import { openInFlightFile } from "./deliver/in-flight-file.ts";
import { createLocalDispatch } from "./deliver/local-dispatch.ts";
import { parseEgressProxy } from "./deliver/proxy-tunnel.ts";
import { createScheduler } from "./deliver/scheduler.ts";
import { openHttpSender } from "./deliver/senders/http.ts";
import { PosthornError } from "./domain/errors.ts";
import type { Subscription } from "./domain/subscription.ts";
import { createIdSource } from "./domain/ids.ts";
import { createSystemClock, createSystemRandom } from "./domain/system-clock.ts";
import { createClientAddress, createProxyTrust } from "./http/client-address.ts";
import { createIntake } from "./http/intake.ts";
import { createPublicUrl } from "./http/public-url.ts";
import { readKey } from "./http/read-key.ts";
import { addRoutes } from "./http/routes/add-routes.ts";
import { createHttpServer } from "./http/server.ts";
import { createBulkReplays } from "./manage/bulk-replays.ts";
import { applyDeclared, type Declared } from "./manage/declared.ts";
import { openDiskWatch } from "./manage/disk-watch.ts";
import { openEventTypes } from "./manage/event-types.ts";
import { createFailureNews } from "./manage/failure-news.ts";
import { createGatewayJobs, END_OVERLAPS } from "./manage/gateway-jobs.ts";
import { createHeldJob } from "./manage/held-deliveries.ts";
import { createJobs } from "./manage/jobs.ts";
import { loadOrCreateMasterKey } from "./manage/key-files.ts";
import { openKeys } from "./manage/keys.ts";
import { openMirroredValidations } from "./manage/mirrored-validations.ts";
import { createOwnEvents } from "./manage/own-events.ts";
import { createPruneJobs } from "./manage/prune-jobs.ts";
import { createQuotaGate } from "./manage/quotas.ts";
import { createReplayRunner } from "./manage/replay-runner.ts";
import { createReplays } from "./manage/replays.ts";
import { createRequestCredentials } from "./manage/request-credentials.ts";
import { createResume } from "./manage/resume.ts";
import { createSecretBox } from "./manage/secret-box.ts";
import { createSecretRotation } from "./manage/secret-rotation.ts";
import { openSmartsheet } from "./manage/smartsheet/open.ts";
import { openSources } from "./manage/sources.ts";
import { createStatistics } from "./manage/statistics.ts";
import { createStatus } from "./manage/status.ts";
import { openSubscriptions } from "./manage/subscriptions.ts";
import { createModeNews } from "./manage/mode-news.ts";
import { openTargets } from "./manage/targets.ts";
import { openTenants } from "./manage/tenants.ts";
import { createTestDeliveries } from "./manage/test-delivery.ts";
import { startUpkeep } from "./manage/upkeep.ts";
import { createBodyChecker } from "./receive/body-check.ts";
import { createForwarding } from "./receive/forwarding.ts";
import { DEFAULT_PUBLISH_LIMITS } from "./receive/publish-item.ts";
import { createPublisher } from "./receive/publish.ts";
import { createRequestLog } from "./receive/request-log.ts";
import { createRequestReplays } from "./receive/request-replay.ts";
import { createSchemaChecker } from "./receive/schema/schema-check.ts";
import { createSourceKinds } from "./receive/sources/kinds.ts";
import type { SourceKind } from "./receive/sources/source-kind.ts";
import { createValidationChecker } from "./receive/validation/validation-check.ts";
import { createWebhookReceiver } from "./receive/webhook.ts";
import { createFanOut, type IncomingEvent, type IngestResult } from "./route/fan-out.ts";
import { createRouter } from "./route/router.ts";
import { prepareDataDir } from "./store/sqlite/data-dir.ts";
import { lockDataDir } from "./store/sqlite/data-dir-lock.ts";
import { openSqliteStore } from "./store/sqlite/open.ts";
import { refuseUnfinishedRestore } from "./store/sqlite/restore-mark.ts";
import { createEventWarning } from "./telemetry/event-warning.ts";
import type { Logger } from "./telemetry/logger.ts";
import { createUtilization } from "./telemetry/utilization.ts";
import { watchLoopLag } from "./telemetry/loop-lag.ts";
import { createMetrics } from "./telemetry/metrics.ts";

/** The composition root: the only file that knows every part. */
export interface Gateway {
  readonly url: string;
  /** The admin key that was made because there was none; shown once. */
  readonly newAdminKey: string | undefined;
  /** Takes over what the configuration declares now. */
  reload(config: Config): Promise<void>;
  /** Deliveries first, the listener last. Resolves when everything is on disk. */
  stop(): Promise<void>;
}

export interface GatewayOptions {
  logger: Logger;
  /** A listening socket that was handed over, by systemd for instance. */
  listenFd?: number | undefined;
  /** The disk failed; the process must end at once with a code that is not 0. */
  onFatal: (error: PosthornError) => void;
  /** More kinds of sources than the gateway brings along. */
  sourceKinds?: readonly SourceKind[] | undefined;
  /** Each breaks a promise, to show that the test of that promise can fail. For tests only. */
  broken?: BrokenPromises | undefined;
}

export interface BrokenPromises {
  synchronous?: "NORMAL" | "OFF";
  answerBeforeCommit?: boolean;
  forgetDedupe?: boolean;
  ignoreOrder?: boolean;
  checkLargeBodiesOnLoop?: boolean;
}

const MAX_PUBLISH_BYTES = 16 * 1024 * 1024;
const HTTP_CLOSE_MS = 1500;
/** A loop that is later than this has more urgent things to do than replays. */
const BUSY_LAG_MS = 50;

export async function startGateway(config: Config, options: GatewayOptions): Promise<Gateway> {
  const { logger, broken } = options;
  const { limits } = config;
  prepareDataDir(config.dataDir);
  refuseUnfinishedRestore(config.dataDir);
  const lock = lockDataDir(config.dataDir);

  const store = await openSqliteStore({
    file: getDatabasePath(config),
    wall: Date.now,
    dedupeHorizonMs: limits.dedupeHorizonDays * 86_400_000,
    synchronous: broken?.synchronous,
    onFatal(error) {
      logger.fatal({ error }, "the store failed");
      options.onFatal(error);
    },
  });
  const clock = createSystemClock({ startAt: Math.max(Date.now(), store.lastKnownNow) });
  const random = createSystemRandom();
  const createId = createIdSource(clock, random);
  const metrics = createMetrics();
  const loopLag = watchLoopLag();
  const disk = openDiskWatch({
    dataDir: config.dataDir,
    minFreeBytes: limits.diskMinFreeBytes,
    ballastBytes: limits.ballastBytes,
    clock,
    onChange: (isLow, freeBytes) => {
      if (isLow) logger.warn({ free_bytes: freeBytes }, "disk is nearly full, new events are refused");
      else logger.info({ free_bytes: freeBytes }, "disk has room again");
    },
  });
  const masterKey = config.masterKey ?? loadOrCreateMasterKey(config.dataDir);
  const secretBox = createSecretBox(masterKey);
  const keys = await openKeys({ store, clock, createId, adminKey: config.adminKey });
  const quotas = createQuotaGate({ store, clock, onFault: logFault });
  const tenants = await openTenants({ store, clock, onChange: quotas.update });

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
  const sender = openHttpSender({ client, clock, userAgent: config.userAgent, openCredentials: credentials.open });
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
    store,
    clock,
    subscriptions: () => subscriptions,
    scheduler: () => scheduler,
    checkDestination,
    onMode: (known, change) => modes.changed(known, change),
    onChange: () => modes.watchSoon(),
  });
  const subscriptions = await openSubscriptions({
    store,
    clock,
    random,
    secretBox,
    createId,
    checkDestination,
    findTarget: targets.findDeclared,
    onChange(subscription) {
      router.update(subscriptions.list(undefined));
      forwarding.refresh(subscription);
      scheduler.refresh(subscription.seq);
      modes.watchSoon();
    },
    onResumed: (subscription, from) => news.resumed(subscription, from, { held: "deliver", skipped: 0 }),
    cancelLater: (subscription, open) => bulkReplays.cancelLane(subscription, open),
    isCancelling: (seq) => replayRunner.isCancelling(seq),
  });
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
    findSavedBreaker: subscriptions.findSavedBreaker,
    findSharedTarget: targets.findShared,
    onIll: (target) => health.checkSoon(target),
    isCancelling: (seq) => replayRunner.isCancelling(seq),
    maxInFlight: limits.maxSockets,
    maxBodyBytes: limits.bodyCacheBytes,
    onAttempt(subscription, delivery, report, { settlement }) {
      upkeep.noteWork();
      const { verdict, attempt } = settlement;
      statistics.note(subscription.seq, report.durationMs, attempt.result === "success");
      forwards.note(delivery.event.id, subscription.seq, verdict === "delivered");
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
    onBreaker: (subscription, change, breaker) => modes.noted(subscription, change, breaker),
    onSuspend(subscription, reason, breaker) {
      logger.warn({ subscription: subscription.name, reason }, "subscription is suspended");
      news.suspended(subscription, reason, breaker);
      subscriptions.setStatus(subscription, "suspended").catch(logFault);
    },
  });
  const health = createHealthWatch({
    clock,
    random,
    check: createHealthCheck({ client, userAgent: config.userAgent }),
    lanes: scheduler.targets,
    onMode: (target, change) => modes.found(target, change),
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
  const smartsheetParts = { store, secretBox, clock, random, logger, settings: config, onFault: logFault };
  const smartsheet = await openSmartsheet(smartsheetParts, () => ({ sources, ownEvents }));
  const kindServices = { clock, fetchText: createFetchText(client), smartsheet: smartsheet.context };
  const kinds = createSourceKinds(kindServices, options.sourceKinds);
  const sources = await openSources({
    store,
    clock,
    random,
    secretBox,
    kinds,
    anySource: config.anySource,
    maxBytes: limits.maxBodyBytes,
    onDisabled: (source, reason) => news.sourceDisabled(source, reason),
    onFault: logFault,
  });
  const schemas = createSchemaChecker();
  const eventTypes = await openEventTypes({
    store,
    clock,
    examine: schemas.examine,
    onChange: schemas.update,
  });
  const validationChecker = createValidationChecker({ mode: config.validationMode });
  const validations = await openMirroredValidations({
    store,
    clock,
    logger,
    folder: config.validationsDir,
    examine: validationChecker.examine,
    onChange: validationChecker.update,
    publishOwn: (event) => ownEvents.publishOwn(event),
  });
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

  let isShuttingDown = false;
  type Done = (result: IngestResult) => void;
  const take = (event: IncomingEvent, done: Done, to?: readonly Subscription[]) => {
    upkeep.noteWork();
    governor.noteAccepted();
    const answer = (result: IngestResult) => {
      metrics.countEvent(result.kind);
      if (result.kind === "failed" && result.error.code === "store_full") disk.noteFull();
      done(result);
    };
    if (broken?.forgetDedupe === true) event.dedupeKey = undefined;
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
  // Past the quotas: a tenant whose backlog is too long must hear why.
  const ownEvents = createOwnEvents({ accept: take, clock, createId, router, onFault: logFault });
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
  const { findBreaker } = scheduler;
  const resume = createResume({ store, subscriptions, findBreaker, news, clock });
  const rotation = createSecretRotation({
    subscriptions,
    ownEvents,
    clock,
    random,
    rotateAfterMs: config.secretRotationDays * 86_400_000,
    onOverlap: (endsAt) => jobs.runBy(END_OVERLAPS, endsAt),
    onRotation: ({ id, name }, trigger) =>
      logger.info({ subscription_id: id, subscription: name, trigger }, "a new secret signs beside the old one"),
  });
  const jobs = createJobs({
    store,
    clock,
    runner: Buffer.from(random.bytes(8)).toString("hex"),
    jobs: [
      ...createGatewayJobs({ rotation }),
      ...createPruneJobs({ store, clock }),
      createHeldJob({
        store,
        subscriptions,
        findBreaker,
        clock,
        maxHeldMs: config.heldMaxDays * 86_400_000,
        onDeaths: news.diedUnsent,
        onMovedUp: scheduler.refresh,
      }),
      smartsheet.auditJob,
    ],
    onFault: logFault,
  });
  const authenticate = (request: IncomingMessage) => {
    const key = readKey(request);
    return key === undefined ? undefined : keys.authenticate(key);
  };
  const clientAddress = createClientAddress(config.trustedProxies);
  const publicUrl = createPublicUrl({
    publicUrl: config.publicUrl,
    isFromTrustedProxy: createProxyTrust(config.trustedProxies),
  });
  const bodies = createBodyChecker({
    maxDepth: limits.maxDepth,
    maxOnLoopBytes: broken?.checkLargeBodiesOnLoop === true ? Number.POSITIVE_INFINITY : undefined,
  });
  const forwarding = createForwarding({ forwards, credentials, governor, router, scheduler, subscriptions });
  const webhooks = createWebhookReceiver({
    findSource: sources.find,
    kinds,
    accept,
    logRequest: createRequestLog(store.logRequest, clock.now),
    clock,
    createId,
    bodies,
    schemas,
    forwarding,
    validations: validationChecker,
  });
  const requestReplays = createRequestReplays({ store, findSource: sources.find, webhooks, clock });
  const publisher = createPublisher({
    accept,
    clock,
    createId,
    limits: { ...DEFAULT_PUBLISH_LIMITS, maxDepth: limits.maxDepth },
    schemas,
  });
  const intake = createIntake({
    webhooks,
    publisher,
    authenticate,
    clientAddress,
    publicUrl,
    findTrouble,
    clock,
    maxPublishBytes: MAX_PUBLISH_BYTES,
    onRequest: metrics.countRequest,
    onFault: logFault,
  });

  function findTrouble(): PosthornError | undefined {
    if (isShuttingDown) return new PosthornError("shutting_down", "The gateway is shutting down.", { retryAfterS: 2 });
    if (disk.isLow) {
      return new PosthornError("store_full", "The gateway's disk is nearly full.", { retryAfterS: 5 });
    }
    if (loopLag.lagMs > limits.maxLoopLagMs) {
      return new PosthornError("overloaded", "The gateway is overloaded.", { retryAfterS: 1 });
    }
    return undefined;
  }

  function logFault(error: unknown): void {
    logger.error({ error }, "unexpected fault");
  }

  const http = createHttpServer({
    intake,
    authenticate,
    tls:
      config.tlsCert === undefined || config.tlsKey === undefined
        ? undefined
        : { certFile: config.tlsCert, keyFile: config.tlsKey },
    headersTimeoutMs: limits.headersTimeoutS * 1000,
    requestTimeoutMs: limits.requestTimeoutS * 1000,
    maxConnections: limits.maxConnections,
    onFault: (error, { method, url }) => logger.error({ error, method, url }, "request failed"),
  });
  const status = createStatus({
    store,
    scheduler,
    subscriptions,
    targets,
    disk,
    loopLag,
    metrics,
    isReady: () => !isShuttingDown,
  });
  addRoutes(http.app, {
    version: VERSION,
    open: { status: config.statusPublic, metrics: config.metricsPublic, catalog: config.catalogPublic },
    store,
    clock,
    logger,
    scheduler,
    status,
    subscriptions,
    targets,
    sources,
    requestReplays,
    eventTypes,
    validations,
    validationChecker,
    bodies,
    tenants,
    keys,
    rotation,
    replays,
    resume,
    tests,
    bulkReplays,
    jobs,
    statistics,
    smartsheet: smartsheet.admin,
  });
  const takeOver = (declared: Declared) =>
    applyDeclared(declared, { eventTypes, tenants, sources, targets, subscriptions, logger });

  const { deaths = [], ...recovered } = await store.recover(clock.now(), inFlight.left);
  if (Object.values(recovered).some((count) => count > 0)) {
    logger.warn(recovered, "the last run ended in the middle of its work, going on");
  }
  await takeOver(config);
  smartsheet.readManifests();
  router.update(subscriptions.list(undefined));
  await fanOut.resume();
  // Before the first delivery: what ended while the gateway was down signs no more.
  await rotation.endOverlaps();
  await scheduler.start();
  modes.start();
  news.diedUnsent(deaths);
  news.start();
  await jobs.start();
  await replayRunner.start();
  await validations.start();
  void subscriptions.resume().catch(logFault);

  const url = await http.listen({ host: config.host, port: config.port, fd: options.listenFd });
  // Not before: a start that fails here would have made a key that nobody ever sees.
  const newAdminKey = keys.hasAny ? undefined : (await keys.create({ name: "first admin key", scopes: ["admin"] })).key;
  logger.info({ url, store: store.info.driver, sync_mode: store.info.syncMode }, "gateway is listening");
  if (config.anySource && !isLoopback(config.host)) {
    logger.warn({ host: config.host }, "any source name is taken from beyond this machine; see any_source");
  }

  return {
    url,
    newAdminKey,
    reload: takeOver,
    async stop() {
      const startedAt = clock.now();
      logger.info("gateway is stopping");
      forwards.stop();
      await replayRunner.stop();
      modes.stop();
      await scheduler.stop(Math.max(0, limits.shutdownTimeoutS * 1000 - 2 * HTTP_CLOSE_MS));
      isShuttingDown = true;
      smartsheet.close();
      await jobs.stop();
      await sources.stop();
      await http.close(HTTP_CLOSE_MS);
      await validations.stop();
      await bodies.close();
      await schemas.close();
      await validationChecker.close();
      await fanOut.settled();
      await statistics.stop();
      upkeep.stop();
      quotas.stop();
      governor.stop();
      disk.close();
      loopLag.stop();
      await client.close();
      await store.close();
      inFlight.close();
      lock.release();
      logger.info({ duration_ms: Math.round(clock.now() - startedAt) }, "gateway has stopped");
    },
  };
}

function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
