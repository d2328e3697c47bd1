import { toCamelCase } from "../model/names.ts";
import { createFetchText } from "../destinations/wire/http-client.ts";
import { createProcessRequest } from "../intake/accept-events.ts";
import { createPullers } from "../intake/messages/pullers.ts";
import { DEFAULT_PUBLISH_LIMITS } from "../intake/publish/publish-body.ts";
import { createPublisher } from "../intake/publish/publish.ts";
import { createRequestLog, createWebhookLog } from "../intake/webhook-log.ts";
import { createWebhookReceiver } from "../intake/webhook.ts";
import { createPartStack } from "../model/part-stack.ts";
import type { OpenPlugin, Plugin, PluginGateway } from "../plugin.ts";
import { PLUGINS } from "../plugins.ts";
import { createEditedReplays } from "../replays/edited-replay.ts";
import { createRequestReplays } from "../replays/request-replay.ts";
import { createSourceTargets } from "../resources/sources/source-targets.ts";
import { openSources, type Sources } from "../resources/sources/sources.ts";
import { openMirroredValidations } from "../resources/validations/validation-folder.ts";
import { createBodyChecker } from "../sandbox/text/body-check.ts";
import { createValidationChecker } from "../sandbox/checks/validation-check.ts";
import { createSourceKinds } from "../sources/kinds.ts";
import type { Configured } from "./configured.ts";
import type { Delivery } from "./delivery.ts";
import { type Foundation, createEvent, type Start } from "./start.ts";
import type { IncomingMessage } from "node:http";
import { createAuthenticate, findCaller } from "../api/authenticate.ts";
import { createConnectionGate } from "../api/connection-gate.ts";
import { createDashboard } from "../api/dashboard/dashboard.ts";
import { createExportGate, createGiveWay } from "../api/export-gate.ts";
import { createDeliveryPresenter } from "../api/routes/deliveries.ts";
import { openOidc } from "../api/session/oidc-sign-in.ts";
import { createClientAddress, createExemption, createPublicUrl } from "../intake/request.ts";
import { addRoutes } from "../api/routes/add-routes.ts";
import { createHttpServer } from "../api/server.ts";
import { createPasses, createPortalLinks } from "../api/session/passes.ts";
import { createSessions } from "../api/session/sessions.ts";
import { createStatus } from "../api/status.ts";
import { createStreams } from "../api/stream/streams.ts";
import { VERSION } from "../config/version.ts";
import { createIntake, recordAnswer } from "../intake/hot-routes.ts";
import { reportRetention } from "../jobs/retention.ts";
import { createServerErrors } from "../telemetry/server-errors.ts";
import type { Alerting, Background } from "./background.ts";

/** Where webhooks and events come from: validations, plugins, sources, and the flows that accept their events. */
export type Intake = Awaited<ReturnType<typeof openIntake>>;

export async function openIntake(start: Start, made: Foundation & Configured & Delivery) {
  const { config, options, logger } = start;
  const { store, clock, authors, createId, schemas, masking, ingest, forwarding, endedEvents, replays } = made;
  const { findTrouble } = made;
  const { accept } = ingest;
  const { maxDepth } = config.limits;
  const checks = await openChecks(start, made);
  const { bodies, validationChecker: validations } = checks;
  const { plugins, kinds, sources, sourceTargets, sourcesChanged } = await openSourceKinds(start, made);
  const log = createWebhookLog({ logRequest: createRequestLog(store.events.logRequest, clock.now), createId });
  const checked = { bodies, schemas, masking, forwarding, validations };
  const processRequest = createProcessRequest({ accept, log, clock, createId, ...checked });
  const webhooks = createWebhookReceiver({ findSource: sources.find, kinds, processRequest, findTrouble, clock, log });
  const pullers = createPullers({
    listSources: () => sources.list(undefined).map(({ source }) => source),
    kinds,
    processRequest,
    log,
    endedEvents,
    store,
    reopen: replays.reopenByMessage,
    bodies,
    messageKey: config.messageKey,
    maxDepth,
    clock,
    maxHeld: (source, settings) => (findTrouble() === undefined ? sourceTargets.maxHeld(source, settings) : 0),
    onTrouble: ({ name }, error, what) => logger.warn({ source: name, error }, what),
    onSettled: options.activity?.message,
  });
  sourcesChanged.listen(pullers.update);
  const limits = { ...DEFAULT_PUBLISH_LIMITS, maxDepth };
  return {
    ...checks,
    plugins,
    sources,
    sourceKinds: kinds,
    webhooks,
    pullers,
    requestReplays: createRequestReplays({
      store,
      findSource: sources.find,
      webhooks,
      clock,
      describe: ({ id, tenantId, source }, eventIds) =>
        authors.note({
          act: "request.replay",
          kind: "request",
          id,
          tenantId,
          details: { source, event_ids: eventIds },
        }),
    }),
    editedReplays: createEditedReplays({ accept, clock, createId, schemas, masking, maxDepth }),
    publisher: createPublisher({ accept, clock, createId, limits, schemas, masking }),
  };
}

/** The checks of bodies before events are accepted. */
async function openChecks(
  { config, options, logger, parts }: Start,
  { store, clock, registry, checker }: Foundation & Configured,
) {
  const validationBroken = createEvent<[]>();
  const create = options.makers?.createBodyChecker?.(createBodyChecker) ?? createBodyChecker;
  const bodies = create({ maxDepth: config.limits.maxDepth });
  parts.add(() => bodies.close());
  const validationChecker = createValidationChecker(checker, config.validationMode);
  const validations = await openMirroredValidations({
    registry,
    store,
    clock,
    logger,
    folder: config.validationsDir,
    examine: validationChecker.examine,
    onChange: validationChecker.update,
    onBrokenChange: validationBroken.emit,
  });
  parts.add(() => validations.stop());
  return { bodies, validationChecker, validations, validationBroken };
}

async function openPlugins(
  { config, options, logger, logFault: onFault, parts }: Start,
  { registry, secretBox, clock, random, ownEvents }: Foundation & Configured & Delivery,
  sources: () => Sources,
) {
  const { publicUrl, userAgent } = config;
  const own = { registry, secretBox, clock, random, ownEvents, sources };
  const gateway: PluginGateway = { ...own, logger, onFault, publicUrl, userAgent };
  const stack = createPartStack();
  parts.add(stack.close);
  const open: OpenPlugin[] = [];
  for (const plugin of [...PLUGINS, ...(options.plugins ?? [])]) {
    const opened = await plugin.open(gateway, settingsOf(plugin, { ...config }));
    stack.add(opened.close);
    open.push(opened);
  }
  return {
    sourceKinds: open.flatMap(({ sourceKinds }) => sourceKinds),
    jobs: open.flatMap(({ jobs }) => jobs),
    listDisabledSources: () => open.flatMap((plugin) => plugin.listDisabledSources?.() ?? []),
    addRoutes: ((app) => open.forEach((plugin) => plugin.addRoutes(app))) satisfies OpenPlugin["addRoutes"],
    start: () => open.forEach((plugin) => plugin.start()),
    /** A second call does nothing. */
    close: stack.close,
  };
}

/** The plugin's own settings, and no others. */
function settingsOf({ settings }: Plugin, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(settings.properties).map((name) => [name, config[toCamelCase(name)]]));
}

async function openSourceKinds(start: Start, made: Foundation & Configured & Delivery) {
  const { config, options, logFault, parts } = start;
  const { store, clock, random, registry, secretBox, client, failureEvents, connections } = made;
  const sourcesChanged = createEvent<[]>();
  const plugins = await openPlugins(start, made, () => sources);
  const uses = { fetchText: createFetchText(client), connections };
  const kinds = createSourceKinds(uses, [...plugins.sourceKinds, ...(options.sourceKinds ?? [])]);
  const sourceTargets = createSourceTargets(made);
  const sources: Sources = await openSources({
    registry,
    records: store.records,
    clock,
    random,
    secretBox,
    kinds,
    anySource: config.anySource,
    maxBytes: config.limits.maxBodyBytes,
    onChange: sourcesChanged.emit,
    listTargets: sourceTargets.listTargets,
    checkPulled: sourceTargets.checkPulled,
    onDisabled: failureEvents.sourceDisabled,
    onFault: logFault,
  });
  parts.add(() => sources.stop());
  return { plugins, kinds, sources, sourceTargets, sourcesChanged };
}

/** The server with its hot routes. It accepts no connection before `listen` is called. */
export type HttpFace = ReturnType<typeof openServer>;

const MAX_PUBLISH_BYTES = 16 * 1024 * 1024;
export const HTTP_CLOSE_MS = 1500;

export function openServer(start: Start, made: Foundation & Configured & Intake) {
  const { config, options, logger, parts } = start;
  const { clock, createId, authors, secretBox, metrics, work, findTrouble, keys, passRecords, tenants } = made;
  const { webhooks, publisher, client } = made;
  const { limits, trustedProxies, tlsCert, tlsKey } = config;
  const clientAddress = createClientAddress(trustedProxies);
  const isExempt = createExemption(trustedProxies);
  const publicUrl = createPublicUrl(config.publicUrl, trustedProxies);
  const oidc = openOidc(config.oidc, { egressProxy: config.egressProxy, client, clock, secretBox, publicUrl });
  if (oidc !== undefined) parts.add(oidc.close);
  const userMark = oidc?.userMark;
  const passesFor = (use: "session" | "portal") =>
    createPasses({ use, secretBox, keys, records: passRecords, userMark, clock });
  const sessions = createSessions({ passes: passesFor("session"), records: passRecords, publicUrl, clock });
  const portalLinks = createPortalLinks({
    passes: passesFor("portal"),
    records: passRecords,
    tenants,
    jobs: made.store.jobs,
    clock,
  });
  const dashboard = createDashboard({ version: VERSION, frameOrigins: config.portal.frameOrigins });
  const callers = { keys, sessions, portalLinks };
  const authenticate = createAuthenticate({ ...callers, clientAddress, isExempt, clock, logger });
  const onServerError = createServerErrors({ logger, metrics, now: clock.now });
  const intake = createIntake({
    webhooks,
    publisher,
    authenticate,
    clientAddress,
    publicUrl,
    findTrouble,
    work,
    maxUnansweredBytes: limits.maxUnansweredBytes,
    maxPublishBytes: MAX_PUBLISH_BYTES,
    createId,
    onRequest: metrics.countRequest,
    recordAnswer: options.activity && recordAnswer,
    onServerError,
  });
  const http = createHttpServer({
    intake,
    authenticate,
    authors,
    clientAddress,
    dashboard,
    tls: tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey },
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
    onAnswered: options.activity?.request,
  });
  parts.add(() => http.close(options.httpCloseMs ?? HTTP_CLOSE_MS));
  return {
    http,
    onServerError,
    authenticate,
    findCaller: (request: IncomingMessage) => findCaller(callers, request),
    sessions,
    oidc: oidc?.signIn,
    portalLinks,
    publicUrl,
    clientAddress,
    dashboard,
  };
}

/** When the event loop lags by more than this, exports and the catching up of streams wait. */
const READS_WAIT_LAG_MS = 50;

/** Every route except the two hot ones. */
export function openRoutes(
  { config, logger, logFault, parts }: Start,
  made: Foundation & Configured & Delivery & Intake & Background & Alerting & HttpFace,
): void {
  const { store, clock, loopLag, jobs, retention, plugins } = made;
  const status = createStatus({
    ...made,
    version: VERSION,
    reportRetention: (tenantId) => reportRetention({ store, jobs, times: retention, clock }, tenantId),
  });
  const giveWay = createGiveWay({ isBusy: () => loopLag.lagMs > READS_WAIT_LAG_MS });
  const streams = createStreams({
    store,
    clock,
    giveWay,
    presentDelivery: createDeliveryPresenter(made),
    findSubscriptionName: (seq) => made.subscriptions.find(seq)?.name,
    maxStreams: config.limits.maxStreams,
    maxStreamsPerKey: config.limits.maxStreamsPerKey,
    maxBufferBytes: config.limits.streamBufferBytes,
    onDropped: (reason) => logger.info({ reason }, "live stream client dropped"),
    onFault: logFault,
  });
  parts.add(() => streams.close());
  addRoutes(made.http.app, {
    ...made,
    version: VERSION,
    portal: config.portal,
    logger,
    open: { status: config.statusPublic, metrics: config.metricsPublic, catalog: config.catalogPublic },
    exports: createExportGate({
      maxExports: config.limits.maxExports,
      maxExportsPerKey: config.limits.maxExportsPerKey,
      clock,
      giveWay,
    }),
    streams,
    status,
  });
  plugins.addRoutes(made.http.app);
}
