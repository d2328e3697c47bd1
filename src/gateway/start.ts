import type { Config } from "../config/settings-tree.ts";
import type { PosthornError } from "../model/errors.ts";
import type { PartStack } from "../model/part-stack.ts";
import { type SystemClockOptions, createSystemClock, createSystemRandom } from "../model/clock.ts";
import type { Plugin } from "../plugin.ts";
import { deriveAuditSeed } from "../model/audit.ts";
import { createConnections, logStates } from "../queues/connections.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import type { createBodyChecker } from "../sandbox/text/body-check.ts";
import type { SourceKind } from "../sources/source-kind.ts";
import type { createIngest } from "../accept/ingest.ts";
import { openStore } from "../store/open.ts";
import type { Activity } from "../telemetry/activity.ts";
import type { Logger } from "../telemetry/logger.ts";
import { stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { createCapacity, watchLoopLag } from "../accept/overload.ts";
import { listConnections } from "../config/connections.ts";
import { getDatabasePath } from "../config/store-url.ts";
import { createDispatch, traceSenders } from "../deliver/attempt.ts";
import { openInFlightFile } from "../deliver/in-flight-file.ts";
import { createDestinationKinds } from "../destinations/kinds.ts";
import type { SenderServices } from "../destinations/sender.ts";
import { openSenders, type KindWithSender } from "../destinations/senders.ts";
import {
  createAddressGuard,
  parseDestination,
  createOwnUrls,
  listOwnAddresses,
} from "../destinations/wire/address-guard.ts";
import { openHttpClient } from "../destinations/wire/http-client.ts";
import { createKnownCertificates } from "../destinations/wire/guarded-connect.ts";
import { parseEgressProxy } from "../destinations/wire/proxy-tunnel.ts";
import { openDiskWatch } from "../jobs/disk-watch.ts";
import { createIdSource } from "../model/ids.ts";
import { createRequestCredentials, createSecretBox, loadOrCreateMasterKey } from "../resources/secret-box.ts";
import { openTemplates } from "../sandbox/templates/open-templates.ts";
import { lockDataDir, prepareDataDir, tightenDataDir, rejectUnfinishedRestore } from "../store/sqlite/data-dir.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { findTracing, flushSpans } from "../telemetry/tracing.ts";

export interface GatewayOptions {
  logger: Logger;
  /** A listening socket that was passed in, for example by systemd. */
  listenFd?: number | undefined;
  /** The disk failed; the process must exit at once with a code other than 0. */
  onFatal: (error: PosthornError) => void;
  /** Gets each request and attempt, if somebody watches them; otherwise they may be logged. */
  activity?: Activity | undefined;
  /** Source kinds beyond the built-in ones. */
  sourceKinds?: readonly SourceKind[] | undefined;
  /** More plugins than `plugins.ts` lists; their settings are not read. */
  plugins?: readonly Plugin[] | undefined;
  /** Kinds of destinations beyond the built-in ones. */
  destinationKinds?: readonly KindWithSender[] | undefined;
  /** How long running requests may take once everything else has stopped. */
  httpCloseMs?: number | undefined;
  /** Another time than the machine's. For tests only. */
  time?: Omit<SystemClockOptions, "startAt"> | undefined;
  /** Replacements for parts of the gateway. */
  makers?: PartMakers | undefined;
}

/** Each takes the gateway's own maker of a part and returns the maker to use instead. */
export interface PartMakers {
  openStore?: Remade<typeof openStore> | undefined;
  createIngest?: Remade<typeof createIngest> | undefined;
  createBodyChecker?: Remade<typeof createBodyChecker> | undefined;
  createConnections?: Remade<typeof createConnections> | undefined;
}

type Remade<Make> = (make: Make) => Make;

/** What every part may use while the gateway is put together. */
export interface Start {
  readonly config: Config;
  readonly options: GatewayOptions;
  readonly logger: Logger;
  readonly logFault: (error: unknown) => void;
  readonly parts: PartStack;
}

/** Something that happens in a part, for one that is created after it. Before that, nobody needs to hear of it. */
export function createEvent<Args extends readonly unknown[], Result = void>() {
  let listener: ((...args: Args) => Result) | undefined;
  return {
    emit: (...args: Args): Result | undefined => listener?.(...args),
    listen(given: (...args: Args) => Result): void {
      listener = given;
    },
  };
}

/** The data directory with the store; the clock, which continues from the store's last known time; and randomness. */
export async function openStorage(start: Start) {
  const { config, options, logger, parts } = start;
  const wall = options.time?.wall ?? Date.now;
  openDataDir(start);
  const masterKey = config.masterKey ?? loadOrCreateMasterKey(config.dataDir);
  const open = options.makers?.openStore?.(openStore) ?? openStore;
  const metrics = createMetrics(options.time?.monotonic);
  const store = await open(`sqlite:${getDatabasePath(config)}`, {
    createClock: (lastKnownNow) => createSystemClock({ ...options.time, startAt: Math.max(wall(), lastKnownNow) }),
    dedupeHorizonMs: config.limits.dedupeHorizonDays * 86_400_000,
    auditSeedHex: deriveAuditSeed(masterKey),
    onCommit: metrics.countCommit,
    onFault: start.logFault,
    onFatal(error) {
      logger.fatal({ error }, "the store failed");
      options.onFatal(error);
    },
  });
  parts.add(() => store.close());
  const { clock } = store;
  const random = createSystemRandom();
  const inFlight = openInFlightFile(join(config.dataDir, "in-flight"), {
    places: config.limits.maxSockets,
    onFault: (error) =>
      logger.warn({ error }, "in-flight attempts cannot be recorded; after a crash they are repeated without a record"),
    defer: setImmediate,
  });
  parts.add(() => inFlight.close());
  return {
    store,
    metrics,
    /** 0 where there is none. */
    loadWalBytes: () =>
      stat(`${getDatabasePath(config)}-wal`).then(
        ({ size }) => size,
        () => 0,
      ),
    clock,
    masterKey,
    secretBox: createSecretBox(masterKey),
    random,
    createId: createIdSource(clock, random),
    inFlight,
  };
}

function openDataDir({ config, logger, parts }: Start): void {
  prepareDataDir(config.dataDir);
  rejectUnfinishedRestore(config.dataDir);
  const lock = lockDataDir(config.dataDir);
  parts.add(() => lock.release());
  const { closed, open } = tightenDataDir(config.dataDir, getDatabasePath(config));
  if (closed.length > 0)
    logger.info({ paths: closed }, "permissions of the data directory corrected: only this user can read it");
  if (open.length > 0) {
    logger.warn({ paths: open }, "other users can read the data directory, and its permissions could not be changed");
  }
}

export type Storage = Awaited<ReturnType<typeof openStorage>>;

/** Decides whether more events can be accepted: disk, event loop, waiting work, shutdown. */
export function openCapacity({ config, logger, parts }: Start, { store, clock }: Storage) {
  const { limits } = config;
  const bounds = { ...limits, maxLagMs: limits.maxLoopLagMs };
  const loopLag = watchLoopLag(bounds);
  parts.add(() => loopLag.stop());
  const disk = openDiskWatch({
    dataDir: config.dataDir,
    minFreeBytes: limits.diskMinFreeBytes,
    ballastBytes: limits.ballastBytes,
    clock,
    loadReusableBytes: () => store.reads.loadReusableBytes(),
    onChange: (isLow, freeBytes) => {
      if (isLow) logger.warn({ free_bytes: freeBytes }, "disk is nearly full, new events are rejected with 503");
      else logger.info({ free_bytes: freeBytes }, "disk has room again");
    },
    onBallastFault: (error) =>
      logger.warn({ error }, "no ballast file: when the disk is full, what is under way may not be recorded"),
  });
  parts.add(() => disk.close());
  return { loopLag, disk, ...createCapacity({ bounds, disk, loopLag }) };
}

/** Everything that leaves the gateway goes through these parts: connections to brokers, and the senders. */
export function openOutgoing(
  { config, options, logger, logFault, parts }: Start,
  { store, clock, random, secretBox }: Storage,
  subscriptions: () => Subscriptions,
) {
  const { limits } = config;
  const connect = options.makers?.createConnections?.(createConnections) ?? createConnections;
  // Each is opened when it is first used.
  const connections = connect({
    connections: listConnections(config),
    label: "posthorn",
    clock,
    random,
    onState: logStates(logger),
  });
  parts.add(() => connections.close());
  const guard = createAddressGuard({ allowPrivate: config.allowPrivateDestinations, ownAddresses: listOwnAddresses });
  const certificates = createKnownCertificates(clock);
  const client = openHttpClient({
    certificates,
    guard,
    allowHttp: config.allowHttpDestinations,
    clock,
    maxSockets: limits.maxSockets,
    connectionsPerHost: limits.connectionsPerHost,
    idleConnectionsPerHost: limits.idleConnectionsPerHost,
    proxy: config.egressProxy === undefined ? undefined : parseEgressProxy(config.egressProxy),
  });
  parts.add(() => client.close());
  const credentials = createRequestCredentials(secretBox);
  const { publicUrl, host, port } = config;
  const ownUrls = createOwnUrls({ publicUrl, host, port, listAddresses: listOwnAddresses });
  const checkDestination = (url: string, field?: string) =>
    void parseDestination(url, { allowHttp: config.allowHttpDestinations, guard }, field);
  const templates = openTemplates();
  parts.add(() => templates.close());
  const kinds = createDestinationKinds(options.destinationKinds);
  const services: SenderServices = {
    client,
    clock,
    userAgent: config.userAgent,
    publicHost: publicUrl === undefined ? hostname() : new URL(publicUrl).host,
    checkUrl: checkDestination,
    findOwnUrlProblem: ownUrls.findProblem,
    openCredentials: credentials.open,
    findForward: (fallback) => subscriptions().findForward(fallback),
    connections,
    templates,
    messageKey: config.messageKey,
    smtp: config.smtp,
    sms: config.sms,
    batchDir: config.batchDir,
    origin: store.info.id,
    warn: ({ name }, reason) =>
      logger.warn({ subscription: name, reason }, "deliveries of this subscription do not arrive"),
  };
  const senders = openSenders(services, options.destinationKinds);
  const tracing = findTracing(logger);
  if (tracing !== undefined) parts.add(() => flushSpans(tracing, clock));
  const found = tracing === undefined ? senders : traceSenders(senders, tracing);
  const dispatch = createDispatch({ senders: found, store, clock, onFault: logFault });
  return {
    connections,
    tracing,
    client,
    certificates,
    credentials,
    ownUrls,
    kinds,
    templates,
    senders,
    dispatch,
    checkDestination,
  };
}

export type Foundation = Storage & ReturnType<typeof openCapacity> & ReturnType<typeof openOutgoing>;
