import type { Config } from "./config/settings-tree.ts";
import { VERSION } from "./config/version.ts";
import { ageOf } from "./domain/retention.ts";
import { createAuthenticate } from "./http/authenticate.ts";
import { createClientAddress, createExemption, createProxyTrust } from "./http/client-address.ts";
import { createConnectionGate } from "./http/connection-gate.ts";
import { createExportGate } from "./http/export-gate.ts";
import { createIntake } from "./http/intake.ts";
import { createPublicUrl } from "./http/public-url.ts";
import { addRoutes } from "./http/routes/add-routes.ts";
import { createHttpServer } from "./http/server.ts";
import { applyDeclared, type Declared } from "./manage/declared.ts";
import { createGatewayJobs, END_OVERLAPS } from "./manage/gateway-jobs.ts";
import { createHeldJob } from "./manage/held-deliveries.ts";
import { createJobs } from "./manage/jobs.ts";
import { createPruneJobs } from "./manage/prune-jobs.ts";
import { reportRetention } from "./manage/retention.ts";
import { createSecretRotation } from "./manage/secret-rotation.ts";
import { createStatus } from "./manage/status.ts";
import type { GatewayOptions } from "./gateway/options.ts";
import { openDelivery } from "./gateway/delivery.ts";
import { openGround } from "./gateway/ground.ts";
import { openReception } from "./gateway/reception.ts";
import { createFindTrouble } from "./gateway/trouble.ts";
import { createServerErrors } from "./telemetry/server-errors.ts";

export type { BrokenPromises, GatewayOptions } from "./gateway/options.ts";

/** The composition root: this file and the folder beside it are the only ones that know every part. */
export interface Gateway {
  readonly url: string;
  /** The admin key that was made because there was none; shown once. */
  readonly newAdminKey: string | undefined;
  /** Takes over what the configuration declares now. */
  reload(config: Config): Promise<void>;
  /** Deliveries first, the listener last. Resolves when everything is on disk. */
  stop(): Promise<void>;
}

const MAX_PUBLISH_BYTES = 16 * 1024 * 1024;
const HTTP_CLOSE_MS = 1500;
/** In a line of the log. */
const MAX_NAMED = 20;
/** A loop that is later than this has more urgent things to do than exports. */
const EXPORTS_WAIT_LAG_MS = 50;

export async function startGateway(config: Config, options: GatewayOptions): Promise<Gateway> {
  const { logger } = options;
  const { limits } = config;
  const ground = await openGround(config, options);
  const { lock, store, clock, random, metrics, loopLag, work, disk, keys, quotas, tenants, logFault } = ground;
  const delivery = await openDelivery(ground);
  const { client, inFlight, router, targets, subscriptions, scheduler, fanOut, modes, news, replayRunner } = delivery;
  const reception = await openReception(ground, delivery, options.sourceKinds);
  const { smartsheet, sources, eventTypes, validations, webhooks, publisher } = reception;
  let isShuttingDown = false;

  const rotation = createSecretRotation({
    subscriptions,
    ownEvents: delivery.ownEvents,
    clock,
    random,
    rotateAfterMs: config.secretRotationDays * 86_400_000,
    onOverlap: (endsAt) => jobs.runBy(END_OVERLAPS, endsAt),
    onRotation: ({ id, name }, trigger) =>
      logger.info({ subscription_id: id, subscription: name, trigger }, "a new secret signs beside the old one"),
    onOverdue: (overdue) =>
      logger.warn(
        { count: overdue.length, subscriptions: overdue.slice(0, MAX_NAMED).map(({ name }) => name) },
        "secrets are too old, and nobody would be told of new ones: rotate them, or subscribe to webhook.secret_rotating",
      ),
  });
  const jobs = createJobs({
    store,
    clock,
    runner: Buffer.from(random.bytes(8)).toString("hex"),
    jobs: [
      ...createGatewayJobs({ rotation }),
      ...createPruneJobs({
        store,
        clock,
        rules: ground.retention.rules,
        idempotencyKeysKeptMs: ageOf(config.retention.idempotencyKeysDays),
        onPruned: ({ removed }) => metrics.countPruned(removed),
      }),
      createHeldJob({
        store,
        subscriptions,
        findMode: scheduler.findMode,
        clock,
        maxHeldMs: config.heldMaxDays * 86_400_000,
        onDeaths: news.diedUnsent,
        onMovedUp: scheduler.refresh,
      }),
      smartsheet.auditJob,
    ],
    onFault: logFault,
  });
  const clientAddress = createClientAddress(config.trustedProxies);
  const isExempt = createExemption(config.trustedProxies);
  const authenticate = createAuthenticate({ keys, clientAddress, isExempt, clock, logger });
  const onServerError = createServerErrors({ logger, metrics, now: clock.now });
  const findTrouble = createFindTrouble(ground, { ...limits, maxLagMs: limits.maxLoopLagMs }, () => isShuttingDown);
  const publicUrl = createPublicUrl({
    publicUrl: config.publicUrl,
    isFromTrustedProxy: createProxyTrust(config.trustedProxies),
  });
  const intake = createIntake({
    webhooks,
    publisher,
    authenticate,
    clientAddress,
    publicUrl,
    findTrouble,
    work,
    maxUnansweredBytes: limits.maxUnansweredBytes,
    clock,
    maxPublishBytes: MAX_PUBLISH_BYTES,
    onRequest: metrics.countRequest,
    onServerError,
  });

  const http = createHttpServer({
    intake,
    authenticate,
    tls:
      config.tlsCert === undefined || config.tlsKey === undefined
        ? undefined
        : { certFile: config.tlsCert, keyFile: config.tlsKey },
    headersTimeoutMs: limits.headersTimeoutS * 1000,
    requestTimeoutMs: limits.requestTimeoutS * 1000,
    connections: createConnectionGate({
      maxConnections: limits.maxConnections,
      // So that one address alone never fills the gateway.
      maxPerAddress: Math.min(limits.maxConnectionsPerAddress, Math.max(1, Math.floor(limits.maxConnections / 2))),
      isExempt,
      onClosed: metrics.countClosedConnection,
      now: clock.now,
    }),
    onServerError,
  });
  const status = createStatus({
    store,
    scheduler,
    subscriptions,
    targets,
    sources,
    disk,
    loopLag,
    metrics,
    findTrouble,
    reportRetention: (tenantId) => reportRetention({ store, jobs, times: ground.retention, clock }, tenantId),
  });
  addRoutes(http.app, {
    version: VERSION,
    open: { status: config.statusPublic, metrics: config.metricsPublic, catalog: config.catalogPublic },
    store,
    clock,
    logger,
    onServerError,
    exports: createExportGate({
      maxExports: limits.maxExports,
      maxExportsPerKey: limits.maxExportsPerKey,
      clock,
      isBusy: () => loopLag.lagMs > EXPORTS_WAIT_LAG_MS,
    }),
    scheduler,
    status,
    subscriptions,
    targets,
    sources,
    requestReplays: reception.requestReplays,
    eventTypes,
    validations,
    validationChecker: reception.validationChecker,
    bodies: reception.bodies,
    tenants,
    keys,
    rotation,
    replays: delivery.replays,
    resume: delivery.resume,
    tests: delivery.tests,
    bulkReplays: delivery.bulkReplays,
    jobs,
    statistics: delivery.statistics,
    smartsheet: smartsheet.admin,
  });
  const takeOver = (declared: Declared) =>
    applyDeclared(declared, { eventTypes, tenants, sources, targets, subscriptions, logger });

  const { deaths = [], ...recovered } = await store.recover(clock.now(), inFlight.left);
  if (Object.values(recovered).some((count) => count > 0)) {
    logger.warn(recovered, "the last run ended in the middle of its work, going on");
  }
  await takeOver(config);
  for (const { source } of sources.list(undefined)) {
    const { name, weakness, gate } = source;
    if (weakness === undefined) continue;
    const message = gate?.isLocked === true ? "source can verify nobody and answers 401" : "a secret does not count";
    logger.warn({ source: name, reason: weakness }, message);
  }
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

  await disk.settled();
  const url = await http.listen({ host: config.host, port: config.port, fd: options.listenFd });
  loopLag.restart();
  delivery.ownUrls.noteListening(url);
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
      delivery.forwards.stop();
      await replayRunner.stop();
      modes.stop();
      await scheduler.stop(Math.max(0, limits.shutdownTimeoutS * 1000 - 2 * HTTP_CLOSE_MS));
      isShuttingDown = true;
      smartsheet.close();
      await jobs.stop();
      await sources.stop();
      await http.close(options.httpCloseMs ?? HTTP_CLOSE_MS);
      await validations.stop();
      await reception.bodies.close();
      await reception.schemas.close();
      await reception.validationChecker.close();
      await fanOut.settled();
      await delivery.statistics.stop();
      delivery.upkeep.stop();
      quotas.stop();
      delivery.governor.stop();
      await disk.close();
      loopLag.stop();
      await client.close();
      await store.close();
      inFlight.close();
      lock.release();
      logger.info({ duration_ms: Math.round(clock.now() - startedAt) }, "gateway has stopped");
    },
  };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
