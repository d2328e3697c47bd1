import { type Config, listDefaults, listSettings } from "./config/settings-tree.ts";
import { toChannelSubscriptions } from "./model/alert.ts";
import { isLoopbackHost } from "./model/addresses.ts";
import { createAccessLog } from "./telemetry/activity.ts";
import { openAlerting, openBackground } from "./gateway/background.ts";
import { openConfigured } from "./gateway/configured.ts";
import { followChanges, openDelivery } from "./gateway/delivery.ts";
import type { Scheduler } from "./deliver/scheduler.ts";
import { openCapacity, openOutgoing, openStorage, type GatewayOptions, type Start } from "./gateway/start.ts";
import { openIntake, HTTP_CLOSE_MS, openRoutes, openServer } from "./gateway/intake.ts";
import { createPartStack } from "./model/part-stack.ts";
import { applyDeclared } from "./resources/apply-declared.ts";
import { CONFIG } from "./resources/authors.ts";
import { NotInEffect, startFollowing } from "./resources/registry.ts";
import type { Sources } from "./resources/sources/sources.ts";
import type { Subscriptions } from "./resources/subscriptions/subscriptions.ts";
import { openSettingsRecord } from "./resources/settings-record.ts";

export type { GatewayOptions } from "./gateway/start.ts";

/** The composition root: this file and the folder beside it are the only ones that know every part. */
export interface Gateway {
  readonly url: string;
  /** The admin key that was made because there was none, and a link that signs in with it; both are shown once. */
  readonly newAdminKey: NewAdminKey | undefined;
  /** Applies what the configuration declares now, and logs the result. Rejects when nothing was changed. */
  reload(config: Config): Promise<void>;
  /** Deliveries first, the listener last. Resolves when everything is on disk. */
  stop(): Promise<void>;
  /** For a stop that cannot wait: what is being sent right now does not count as interrupted by a crash. */
  endNow(): void;
}

export interface NewAdminKey {
  key: string;
  signInUrl: string;
}

/** A start that fails leaves nothing open. */
export async function startGateway(config: Config, given: GatewayOptions): Promise<Gateway> {
  const { logger } = given;
  const isLogged = config.accessLog && logger.isLevelEnabled("debug");
  const options = { ...given, activity: isLogged ? createAccessLog(logger) : given.activity };
  const parts = createPartStack();
  const logFault = (error: unknown) => logger.error({ error }, "unexpected fault");
  const start: Start = { config, options, logger, logFault, parts };
  try {
    const made = await openParts(start);
    const stopping = addRunning(start, made);
    await run(start, made);
    const { url, newAdminKey } = await listen(start, made);
    stopping.waitsMs = Math.max(0, config.limits.shutdownTimeoutS * 1000 - 2 * HTTP_CLOSE_MS);
    return {
      url,
      newAdminKey,
      reload: (changed) => reload(start, made, changed),
      stop: () => stop(start, made),
      endNow: () => made.inFlight.stop(),
    };
  } catch (error) {
    await parts.close().catch(logFault);
    throw error;
  }
}

/** How long the link that is printed at the first start works. */
const SIGN_IN_LINK_MS = 24 * 3_600_000;

type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Each part is created from the parts before it. Three are asked by parts before them, which must not call them before
 * all are created; a part that only has to hear of something listens to an event.
 */
async function openParts(start: Start) {
  const storage = await openStorage(start);
  const capable = { ...storage, ...openCapacity(start, storage) };
  const asked = {
    scheduler: (): Scheduler => delivering.scheduler,
    sources: (): Sources => receiving.sources,
  };
  const founded = { ...capable, ...openOutgoing(start, capable, (): Subscriptions => configured.subscriptions) };
  const configured = { ...founded, ...(await openConfigured(start, founded, asked)) };
  const delivering = { ...configured, ...openDelivery(start, configured) };
  followChanges(delivering);
  const receiving = { ...delivering, ...(await openIntake(start, delivering)) };
  // Parts that are opened after the listener are closed before it.
  const listening = { ...receiving, ...openServer(start, receiving) };
  const background = { ...listening, ...openBackground(start, listening) };
  const made = { ...background, ...(await openAlerting(start, background)) };
  const settingsRecord = await openSettingsRecord({ ...made, defaults: listDefaults() });
  openRoutes(start, made);
  return { ...made, settingsRecord };
}

/** Applies what the configuration declares. */
async function applyConfig({ config: started, logger }: Start, made: Parts, config: Config): Promise<void> {
  const { registry, eventTypes, tenants, sources, sharedTargets: targets, subscriptions, subscriptionLanes } = made;
  const declared = {
    ...config,
    subscriptions: [...config.subscriptions, ...toChannelSubscriptions(config.alerts.channels)],
  };
  const late = await made.authors.run(CONFIG, () =>
    applyDeclared(declared, { registry, eventTypes, tenants, sources, targets, subscriptions, logger }),
  );
  made.reloadAlerts(config.alerts);
  made.setChannels(config.alerts.channels);
  // Other settings than these apply at the next start.
  await made.settingsRecord.record(listSettings(started, config.alerts, made.masterKey)).catch((error: unknown) => {
    // What was declared is in effect already.
    logger.error({ error }, "the change of settings could not be recorded in the audit log");
  });
  await made.contacts.start({ subscriptions, lanes: subscriptionLanes });
  if (late !== undefined) throw late;
}

/** Starts the running parts; they stop in reverse order. */
function addRunning({ parts }: Start, made: Parts): { waitsMs: number } {
  const { scheduler, inFlight, modes, replayRunner, forwards, pullers, shutDown } = made;
  // A start that fails waits for no delivery.
  const stopping = { waitsMs: 0 };
  parts.add(shutDown);
  // Once no delivery is under way: those messages whose deliveries have ended need not come again.
  parts.add(() => pullers.stop());
  parts.add(() => inFlight.stop());
  parts.add(() => scheduler.stop(stopping.waitsMs));
  parts.add(() => modes.stop());
  parts.add(() => replayRunner.stop());
  parts.add(() => forwards.stop());
  parts.add(() => pullers.stopTaking());
  return stopping;
}

/** Goes on where the last run ended, and begins to deliver. */
async function run(start: Start, made: Parts): Promise<void> {
  const { config, logger, logFault, parts } = start;
  const { store, clock, registry, inFlight, subscriptions, router, fanOut, scheduler, failureEvents } = made;
  const { dead = [], ...recovered } = await store.lanes.recover(inFlight.left, inFlight.wasStopped);
  inFlight.begin();
  if (Object.values(recovered).some((count) => count > 0)) {
    if (inFlight.wasStopped) logger.info(recovered, "deliveries that the last stop interrupted are sent again");
    else logger.warn(recovered, "the last run did not stop cleanly, recovering");
  }
  await store.audit.begin(clock.wall());
  await applyConfig(start, made, config);
  made.plugins.start();
  router.update(subscriptions.list(undefined));
  await fanOut.resume();
  // Before the first delivery: what ended while the gateway was down signs no more.
  await made.rotation.endOverlaps();
  await scheduler.start();
  made.modes.start();
  failureEvents.diedUnsent(dead);
  failureEvents.start();
  await made.jobs.start();
  await made.replayRunner.start();
  await made.validations.start();
  await made.erasures.start();
  made.pullers.start();
  made.startAlerts();
  void made.subscriptionLanes.resume().catch(logFault);
  const following = startFollowing({ registry, clock, onFault: logFault });
  parts.add(() => following.stop());
}

async function listen({ config, options, logger }: Start, made: Parts): Promise<Pick<Gateway, "url" | "newAdminKey">> {
  const { disk, http, loopLag, ownUrls, keys, store } = made;
  await disk.settled();
  const url = await http.listen({ host: config.host, port: config.port, fd: options.listenFd });
  loopLag.restart();
  ownUrls.recordListening(url);
  // Not earlier: a start that fails before this line would create a key that nobody sees.
  const newAdminKey = keys.hasAny ? undefined : await makeAdminKey(made, config.publicUrl ?? url);
  logger.info({ url, store: store.info.driver, sync_mode: store.info.syncMode }, "gateway is listening");
  if (config.anySource && !isLoopbackHost(config.host)) {
    logger.warn(
      { host: config.host },
      "undeclared source names are accepted from other machines, because any_source is on",
    );
  }
  return { url, newAdminKey };
}

async function makeAdminKey({ keys, clock }: Parts, url: string): Promise<NewAdminKey> {
  const { entry, key = "" } = await keys.create({ name: "first admin key", scopes: ["admin"] });
  const token = await keys.makeSignIn(entry.id, clock.wall() + SIGN_IN_LINK_MS);
  // The fragment is not sent to the server; the page reads it.
  return { key, signInUrl: new URL(`/sign-in#token=${token}`, url).href };
}

async function reload(start: Start, made: Parts, config: Config): Promise<void> {
  const { logger } = start;
  try {
    await applyConfig(start, made, config);
    logger.info("configuration reloaded");
  } catch (error) {
    if (!(error instanceof NotInEffect)) throw error;
    logger.error(
      { error },
      "the configuration is saved but not in effect yet; the gateway puts it into effect by itself",
    );
  }
}

async function stop({ logger, parts }: Start, { clock }: Parts): Promise<void> {
  const startedAt = clock.now();
  logger.info("gateway is stopping");
  await parts.close();
  logger.info({ duration_ms: Math.round(clock.now() - startedAt) }, "gateway has stopped");
}
