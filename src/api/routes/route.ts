import type { IncomingMessage } from "node:http";
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  HTTPMethods,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from "fastify";
import type { Static, TSchema } from "typebox";
import type { Alerts } from "../../alerts/alerts.ts";
import type { Scheduler } from "../../deliver/scheduler.ts";
import type { DestinationKinds } from "../../destinations/kinds.ts";
import type { Senders } from "../../destinations/senders.ts";
import type { Authenticate } from "../../intake/hot-routes.ts";
import type { PulledFacts } from "../../intake/messages/pullers.ts";
import type { BodyErasures } from "../../jobs/body-erasure.ts";
import type { Jobs } from "../../jobs/jobs.ts";
import type { SecretRotation } from "../../jobs/secret-rotation.ts";
import type { Statistics } from "../../jobs/statistics.ts";
import type { TenantErasures } from "../../jobs/tenant-erasure.ts";
import type { Clock } from "../../model/clock.ts";
import type { PortalTheme } from "../../model/portal-theme.ts";
import type { SourceKindRules } from "../../model/source.ts";
import type { NamedConnection } from "../../queues/connections.ts";
import type { ParkedMessages } from "../../queues/parked-messages.ts";
import type { BulkReplays } from "../../replays/bulk-replays.ts";
import type { EditedReplays } from "../../replays/edited-replay.ts";
import type { Replays } from "../../replays/replays.ts";
import type { RequestReplays } from "../../replays/request-replay.ts";
import type { Resume } from "../../replays/resume.ts";
import type { TestDeliveries } from "../../replays/test-delivery.ts";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import type { Authors } from "../../resources/authors.ts";
import type { EventTypes } from "../../resources/event-types/event-types.ts";
import type { Keys } from "../../resources/keys.ts";
import type { PassRecords } from "../../resources/pass-records.ts";
import type { Sources } from "../../resources/sources/sources.ts";
import type { SubscriptionLanes } from "../../resources/subscriptions/subscription-lanes.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { Targets } from "../../resources/target-states.ts";
import type { SharedTargets } from "../../resources/targets.ts";
import type { Tenants } from "../../resources/tenants.ts";
import type { Validations } from "../../resources/validations/validations.ts";
import type { ValidationChecker } from "../../sandbox/checks/validation-check.ts";
import type { Templates } from "../../sandbox/templates/templates.ts";
import type { BodyChecker } from "../../sandbox/text/body-check.ts";
import type { Store } from "../../store/store.ts";
import type { Logger } from "../../telemetry/logger.ts";
import type { NoteServerError } from "../../telemetry/server-errors.ts";
import type { Dashboard } from "../dashboard/dashboard.ts";
import type { ExportGate } from "../export-gate.ts";
import type { OidcSignIn } from "../session/oidc-sign-in.ts";
import type { PortalLinks } from "../session/passes.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Status } from "../status.ts";
import type { Streams } from "../stream/streams.ts";
import type * as Doc from "../openapi/shapes.ts";

declare module "fastify" {
  interface FastifySchema {
    /** What the route does, in one short sentence, for the API reference. */
    summary?: string;
  }
  interface FastifyContextConfig {
    area?: Area;
    docs?: () => Doc.OperationDocs;
  }
}

/** The parts of the reference, in its order; those of plugins come after the validations. */
export const AREAS = {
  Intake: "The routes that accept webhooks and events",
  Events: "Events exactly as they came in, and the state of their deliveries",
  Stream: "A live stream of events, attempts, modes and alerts",
  Subscriptions: "Which events are delivered, to which destination, and with which retries",
  "Test deliveries": "Test a destination",
  Secrets: "The secrets that sign deliveries, and their rotation without an interruption",
  Filters: "Filters narrow down which of the events that match its patterns a subscription gets",
  Templates: "Templates turn events into texts: bodies, headers and URLs of requests, and chat messages",
  Targets: "Destinations of subscriptions: their health, and the mode that follows from it",
  Deliveries:
    "The delivery of one event to one subscription, with all its attempts; and dead letters, which failed for good",
  Replays: "Jobs that replay, cancel or purge many deliveries",
  Statistics: "Success rates and latencies, over time",
  Sources:
    "Where webhooks come from: how they are verified, how their events are named and identified, and how they are " +
    "answered",
  "Kinds of sources": "What may send webhooks or hold messages for a source",
  "Parked messages":
    "Messages of a queue that a source could not process. They stay in the poison queue (Storage Queue), in the dead " +
    "letters (Service Bus) or behind the dead-letter exchange (RabbitMQ) until somebody requeues or deletes them",
  Requests: "Requests that came to sources, and their results",
  "Event types": "The registry of event types: their names, their producers and the schemas of their payloads",
  Validations:
    "Rules for the webhooks of an endpoint: a JSON Schema, an XML Schema or rules of the gateway's own format",
  Tenants: "Owners of subscriptions, sources and keys, with their quotas",
  Keys: "API keys and what they allow. Only hashes of keys are stored",
  Session: "Sessions of the dashboard",
  "Sign-in": "Ways to sign in to the dashboard",
  Audit: "Who did what: a hash chain of entries with a signed head",
  Jobs: "Periodic jobs of the gateway",
  Alerts: "Problems that the gateway detects",
  Operation: "Health, status and metrics of the gateway",
  Reference: "This API reference",
} as const;
export type Area = keyof typeof AREAS;

/** What routes use of the gateway. */
export interface Parts {
  sourceKinds: ReadonlyMap<string, SourceKindRules>;
  pullers: { list(): readonly PulledFacts[] };
  connections: { list(): readonly NamedConnection[] };
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
  scheduler: Scheduler;
  status: Status;
  kinds: DestinationKinds;
  senders: Senders;
  subscriptions: Subscriptions;
  subscriptionLanes: SubscriptionLanes;
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
  validationChecker: ValidationChecker;
  bodies: BodyChecker;
  templates: Templates;
}

/** Who may call a route. */
export type Access = Pick<FastifyContextConfig, "scope" | "unbound">;
export const OPEN: Access = {};
export const READ: Access = { scope: "read" };
export const ADMIN: Access = { scope: "admin" };
/** Only keys that are not bound to a tenant. */
export const OPERATOR: Access = { scope: "admin", unbound: true };
export const OPERATOR_READ: Access = { scope: "read", unbound: true };

/** What the reference says of a route beyond its schemas. Answers are made for it only: a start has no use for them. */
interface Described extends Pick<Doc.OperationDocs, "description" | "errors" | "headers"> {
  /** A value for each parameter of the path, for the query, and the body: a test sends it to a real gateway. */
  example?: { params?: Doc.OperationDocs["params"]; query?: Doc.OperationDocs["query"]; body?: unknown };
  /** The answer to the example. */
  answer: () => Doc.AnswerDocs;
  otherAnswers?: () => readonly Doc.AnswerDocs[];
}

interface Route<Name, Params extends TSchema, Query extends TSchema, Body extends TSchema> extends Pick<
  RouteShorthandOptions,
  "bodyLimit" | "exposeHeadRoute" | "preValidation"
> {
  params?: Params;
  query?: Query;
  body?: Body;
  handle(
    request: FastifyRequest<{
      Params: TSchema extends Params ? ParamsOf<Name> : Static<Params>;
      Querystring: Static<Query>;
      Body: Static<Body>;
    }>,
    reply: FastifyReply,
  ): unknown;
}

/** `/events/:id/body` has the parameter `id`. */
type ParamsOf<Name> = Name extends `${string}/:${infer Rest}`
  ? Rest extends `${infer Parameter}/${infer More}`
    ? Record<Parameter, string> & ParamsOf<`/${More}`>
    : Record<Rest, string>
  : unknown;

/** Returns the function with which routes of one part of the reference are declared. */
export function routesOf(app: FastifyInstance, area: Area) {
  return function route<const Name extends string, Params extends TSchema, Query extends TSchema, Body extends TSchema>(
    name: Name,
    access: Access,
    summary: string,
    declared: Route<Name, Params, Query, Body> & (Described | { docs: () => Doc.OperationDocs }),
  ): void {
    const [method, url = ""] = name.split(" ");
    const { params, query, body, handle, ...rest } = declared;
    app.route({
      ...rest,
      method: method as HTTPMethods,
      url,
      config: { ...access, area, docs: () => docsOf(rest) },
      // Fastify warns of a schema that is undefined.
      schema: {
        summary,
        ...(params !== undefined && { params }),
        ...(query !== undefined && { querystring: query }),
        ...(body !== undefined && { body }),
      },
      handler: handle as RouteHandlerMethod,
    });
  };
}

function docsOf(route: Described | { docs: () => Doc.OperationDocs }): Doc.OperationDocs {
  if ("docs" in route) return route.docs();
  const { description, example, headers, errors } = route;
  const given = { params: example?.params, query: example?.query, request: example?.body };
  return { description, ...given, headers, errors, answer: route.answer(), otherAnswers: route.otherAnswers?.() };
}

/** A route in the reference. */
export interface DocumentedRoute {
  method: string;
  /** As Fastify writes it: `/api/v1/events/:id` */
  url: string;
  schema: FastifySchema | undefined;
  config: Pick<FastifyContextConfig, "scope" | "unbound" | "area" | "docs">;
}

/** Collects all routes that are added from now on. */
export function watchDocumentedRoutes(app: FastifyInstance): readonly DocumentedRoute[] {
  const routes: DocumentedRoute[] = [];
  app.addHook("onRoute", ({ method, url, schema, config }) => {
    // Fastify adds a HEAD route for each GET.
    for (const one of [method].flat()) {
      if (one !== "HEAD") routes.push({ method: one, url, schema, config: config ?? {} });
    }
  });
  return routes;
}
