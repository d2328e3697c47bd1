import type { IncomingMessage } from "node:http";
import type { Config } from "./config/settings-tree.ts";
import { VERSION } from "./config/version.ts";
import { PosthornError } from "./domain/errors.ts";
import { createClientAddress, createProxyTrust } from "./http/client-address.ts";
import { createIntake } from "./http/intake.ts";
import { createPublicUrl } from "./http/public-url.ts";
import { readKey } from "./http/read-key.ts";
import { addRoutes } from "./http/routes/add-routes.ts";
import { createHttpServer } from "./http/server.ts";
import { applyDeclared, type Declared } from "./manage/declared.ts";
import { createGatewayJobs, END_OVERLAPS } from "./manage/gateway-jobs.ts";
import { createHeldJob } from "./manage/held-deliveries.ts";
import { createJobs } from "./manage/jobs.ts";
import { createPruneJobs } from "./manage/prune-jobs.ts";
import { createSecretRotation } from "./manage/secret-rotation.ts";
import { createStatus } from "./manage/status.ts";
import type { GatewayOptions } from "./gateway/options.ts";
import { openDelivery } from "./gateway/delivery.ts";
import { openGround } from "./gateway/ground.ts";
import { openReception } from "./gateway/reception.ts";

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

export async function startGateway(config: Config, options: GatewayOptions): Promise<Gateway> {
  const { logger } = options;
  const { limits } = config;
  const ground = await openGround(config, options);
  const { lock, store, clock, random, metrics, loopLag, disk, keys, quotas, tenants, logFault } = ground;
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
        findBreaker: scheduler.findBreaker,
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
      await http.close(HTTP_CLOSE_MS);
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
