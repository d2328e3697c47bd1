import type { FastifyInstance } from "fastify";
import type { IncomingMessage } from "node:http";
import type { Scheduler } from "../../deliver/scheduler.ts";
import type { DestinationKinds } from "../../destinations/kinds.ts";
import type { Senders } from "../../destinations/open-senders.ts";
import type { Clock } from "../../model/clock.ts";
import type { PortalTheme } from "../../model/portal-theme.ts";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import type { Alerts } from "../../alerts/alerts.ts";
import { nameForLog } from "../../alerts/contacts.ts";
import type { BodyErasures } from "../../jobs/body-erasure.ts";
import type { TenantErasures } from "../../jobs/tenant-erasure.ts";
import type { BulkReplays } from "../../replays/bulk-replays.ts";
import type { EventTypes } from "../../resources/event-types/event-types.ts";
import type { Jobs } from "../../jobs/jobs.ts";
import type { Keys } from "../../resources/keys.ts";
import type { PassRecords } from "../../resources/pass-records.ts";
import type { Replays } from "../../replays/replays.ts";
import type { Resume } from "../../replays/resume.ts";
import type { SecretRotation } from "../../jobs/secret-rotation.ts";
import type { Sources } from "../../resources/sources/sources.ts";
import type { Statistics } from "../../jobs/statistics.ts";
import type { Status } from "../status.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { SubscriptionLanes } from "../../resources/subscriptions/subscription-lanes.ts";
import type { Targets } from "../../resources/target-states.ts";
import type { SharedTargets } from "../../resources/targets.ts";
import type { Tenants } from "../../resources/tenants.ts";
import type { TestDeliveries } from "../../replays/test-delivery.ts";
import type { Validations } from "../../resources/validations/validations.ts";
import type { BodyChecker } from "../../sandbox/text/body-check.ts";
import type { ValidationChecker } from "../../sandbox/validation/validation-check.ts";
import type { ParkedMessages } from "../../queues/parked-messages.ts";
import type { EditedReplays } from "../../replays/edited-replay.ts";
import type { RequestReplays } from "../../replays/request-replay.ts";
import type { Store } from "../../store/store.ts";
import type { Logger } from "../../telemetry/logger.ts";
import type { NoteServerError } from "../../telemetry/server-errors.ts";
import type { Authors } from "../../resources/authors.ts";
import type { Authenticate } from "../../intake/hot-routes.ts";
import type { Dashboard } from "../dashboard/dashboard.ts";
import type { ExportGate } from "../export-gate.ts";
import type { PortalLinks } from "../session/portal-links.ts";
import type { OidcSignIn } from "../session/oidc/oidc-sign-in.ts";
import type { Sessions } from "../session/sessions.ts";
import { addAuditRoutes } from "./audit.ts";
import type { Streams } from "../stream/streams.ts";
import { addAlertRoutes } from "./alerts.ts";
import { addCatalogRoute } from "./catalog.ts";
import { addDeliveryRoutes } from "./deliveries.ts";
import { addDocumentationRoutes } from "./documentation.ts";
import { addEventRoutes } from "./events.ts";
import { addEventExportRoute } from "./events-export.ts";
import { addEventTypeRoutes } from "./event-types.ts";
import type { Templates } from "../../sandbox/templates/templates.ts";
import { addTemplateRoutes } from "./templates.ts";
import { addFilterRoutes } from "./filters.ts";
import { addJobRoutes } from "./jobs.ts";
import { addKeyRoutes } from "./keys.ts";
import { addOperationRoutes } from "./operation.ts";
import { addParkedRoutes } from "./parked.ts";
import { addPortalRoutes } from "./portal.ts";
import { addSessionRoutes } from "./session.ts";
import { addSignInRoutes } from "./sign-in.ts";
import { addReplayRoutes } from "./replays.ts";
import { addRequestRoutes } from "./requests.ts";
import { addSourceKindRoutes, type SourceKindRoutesOptions } from "./source-kinds.ts";
import { addSourceRoutes } from "./sources.ts";
import { addStatisticsRoutes } from "./statistics.ts";
import { addStreamRoute } from "./stream.ts";
import { addSubscriptionRoutes } from "./subscriptions.ts";
import { addSubscriptionSecretRoutes } from "./subscription-secrets.ts";
import { addTargetRoutes } from "./targets.ts";
import { addTenantErasureRoutes } from "./tenant-erasure.ts";
import { addTenantRoutes } from "./tenants.ts";
import { watchDocumentedRoutes } from "../openapi/documented-routes.ts";
import { addTestDeliveryRoutes } from "./test-delivery.ts";
import { addValidationTrialRoute } from "./validation-trial.ts";
import { addValidationRoutes } from "./validations.ts";
import { createDeliveryPresenter } from "../present/delivery.ts";

/** Adds all routes that Fastify serves, except those of plugins; the two busiest routes are in `intake.ts`. */
export interface RouteParts extends SourceKindRoutesOptions {
  version: string;
  /** Routes that need no key. */
  open: { status: boolean; metrics: boolean; catalog: boolean };
  store: Store;
  clock: Clock;
  trail: AuditTrail;
  logger: Logger;
  onServerError: NoteServerError;
  authors: Authors;
  authenticate: Authenticate;
  /** As `authenticate`, but nobody counts invalid keys. */
  findCaller: (request: IncomingMessage) => ReturnType<Authenticate>;
  sessions: Sessions;
  oidc: OidcSignIn | undefined;
  clientAddress: (request: IncomingMessage) => string;
  portalLinks: PortalLinks;
  passRecords: PassRecords;
  publicUrl: (request: IncomingMessage) => string;
  dashboard: Dashboard;
  portal: PortalTheme;
  exports: ExportGate;
  streams: Streams;
  scheduler: Pick<Scheduler, "findMode" | "targets">;
  status: Status;
  kinds: DestinationKinds;
  senders: Pick<Senders, "handshakeOf" | "preview" | "isForOperators">;
  subscriptions: Subscriptions;
  subscriptionLanes: Pick<SubscriptionLanes, "remove">;
  targets: Targets;
  sharedTargets: SharedTargets;
  sources: Sources;
  requestReplays: RequestReplays;
  parked: ParkedMessages;
  eventTypes: EventTypes;
  tenants: Tenants;
  keys: Keys;
  rotation: SecretRotation;
  replays: Replays;
  editedReplays: EditedReplays;
  bodyErasures: BodyErasures;
  erasures: TenantErasures;
  resume: Resume;
  tests: TestDeliveries;
  bulkReplays: BulkReplays;
  jobs: Jobs;
  alerts: Alerts;
  statistics: Statistics;
  validations: Validations;
  validationChecker: Pick<ValidationChecker, "tryOut">;
  bodies: Pick<BodyChecker, "check">;
  templates: Pick<Templates, "examine" | "render">;
}

export function addRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { version } = parts;
  // Added first: the reference has only routes that are added after it.
  addDocumentationRoutes(app, { routes: watchDocumentedRoutes(app), version, dashboard: parts.dashboard });
  const { open, store, clock, trail, logger, scheduler, status, kinds, subscriptions, sources } = parts;
  const { eventTypes, tenants, keys, rotation, replays, bulkReplays, resume, tests, jobs, statistics } = parts;
  const present = createDeliveryPresenter(parts);
  addOperationRoutes(app, {
    readiness: status.readiness,
    authenticate: parts.authenticate,
    onServerError: parts.onServerError,
    status: status.status,
    metrics: status.metrics,
    statusIsPublic: open.status,
    metricsArePublic: open.metrics,
  });
  addSessionRoutes(app, { ...parts, theme: parts.portal, isForOperators: parts.senders.isForOperators });
  addSignInRoutes(app, parts);
  addPortalRoutes(app, parts);
  addEventRoutes(app, {
    store,
    replays,
    subscriptions,
    editedReplays: parts.editedReplays,
    onEdited: ({ id, tenantId }, eventId) =>
      trail.note({ act: "event.replay_edited", kind: "event", id, tenantId, details: { event_id: eventId } }),
    bodyErasures: parts.bodyErasures,
    presentDelivery: present,
  });
  addEventExportRoute(app, { store, exports: parts.exports });
  addStreamRoute(app, { streams: parts.streams, subscriptions, keys, findCaller: parts.findCaller, store });
  addDeliveryRoutes(app, { store, kinds, subscriptions, replays, bulkReplays, presentDelivery: present });
  addReplayRoutes(app, { bulkReplays });
  addRequestRoutes(app, {
    store,
    sources,
    requestReplays: parts.requestReplays,
    onReplayed: ({ request, outcome, cause }, caller) =>
      logger.info(
        { request_id: request.id, source: request.source, outcome, cause, key_id: caller?.keyId },
        "a request was replayed",
      ),
  });
  addSourceRoutes(app, {
    sources,
    async onTokenRead({ source }, caller) {
      const { name: id, tenantId } = source;
      await trail.note({ act: "source.reveal_path_token", kind: "source", id, tenantId });
      logger.info({ source: id, key_id: caller?.keyId }, "the path token of a source was read");
    },
    onSecretsChanged: ({ source }, what, caller) =>
      logger.info({ source: source.name, what, key_id: caller?.keyId }, "the secrets of a source were changed"),
  });
  addSourceKindRoutes(app, parts);
  addSubscriptionRoutes(app, {
    subscriptions,
    remove: parts.subscriptionLanes.remove,
    targets: parts.targets,
    statistics,
    store,
    senders: parts.senders,
    resume: resume.resume,
    rotation,
    onWarnings: ({ id, name }, warnings) =>
      logger.warn({ subscription_id: id, subscription: name, warnings }, "a subscription was saved with a warning"),
  });
  addParkedRoutes(app, {
    sources,
    parked: parts.parked,
    trail,
    onMoved: (source, act, count, caller) =>
      logger.info({ source, count, key_id: caller?.keyId }, `parked messages were ${act}`),
  });
  addStatisticsRoutes(app, { statistics, subscriptions, store });
  const { senders } = parts;
  addTestDeliveryRoutes(app, { kinds, subscriptions, tests, trail, presentDelivery: present, store, senders });
  addFilterRoutes(app, { store });
  addTemplateRoutes(app, { store, clock, kinds, subscriptions, eventTypes, templates: parts.templates });
  addTargetRoutes(app, {
    targets: parts.targets,
    sharedTargets: parts.sharedTargets,
    subscriptions,
    scheduler,
    store,
    trail,
  });
  addTenantRoutes(app, { tenants, store });
  addTenantErasureRoutes(app, { erasures: parts.erasures });
  addKeyRoutes(app, { keys, clock });
  addEventTypeRoutes(app, { eventTypes });
  if (open.catalog) addCatalogRoute(app, { eventTypes });
  addSubscriptionSecretRoutes(app, {
    subscriptions,
    rotation,
    async onSecretRead(subscription, caller) {
      const { id, tenantId } = subscription;
      await trail.note({ act: "subscription.reveal_secret", kind: "subscription", id, tenantId });
      logger.info(
        { subscription_id: id, subscription: nameForLog(subscription), key_id: caller?.keyId },
        "the secret of a subscription was read",
      );
    },
  });
  addJobRoutes(app, { jobs, trail });
  addAuditRoutes(app, { trail, subscriptions, exports: parts.exports });
  addAlertRoutes(app, { alerts: parts.alerts, store, clock });
  addValidationRoutes(app, { validations: parts.validations });
  addValidationTrialRoute(app, {
    validations: parts.validations,
    checker: parts.validationChecker,
    bodies: parts.bodies,
  });
}
