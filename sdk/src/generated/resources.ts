// Made by scripts/write-sdk-client.ts from the gateway's routes. Do not edit.
import type { Payload } from "../bytes.ts";
import type { Call } from "../client/call.ts";
import type { ChangeOptions, CreateOptions, RequestOptions, UploadOptions } from "../client/options.ts";
import type { Pages } from "../client/pages.ts";
import { path, pathBelow } from "../client/path.ts";
import type {
  Alert,
  AlertRule,
  AlertsAcknowledgeBody,
  AlertsListQuery,
  AlertsListRulesQuery,
  AlertsMuteBody,
  AlertsUnmuteBody,
  AuditEntry,
  AuditListQuery,
  AuditVerifyAnswer,
  DeadLettersListQuery,
  DeadLettersPurgeBody,
  DeadLettersReplayAnswer,
  DeadLettersReplayBody,
  DeliveriesCancelManyBody,
  DeliveriesListQuery,
  Delivery,
  DeliveryWithAttempts,
  Event,
  EventType,
  EventTypeChange,
  EventTypeInput,
  EventTypeVersionContent,
  EventTypesExportAnswer,
  EventTypesImportAnswer,
  EventTypesImportQuery,
  EventTypesListQuery,
  EventTypesPlanBody,
  EventTypesPutBody,
  EventWithDeliveries,
  EventsEraseBodyAnswer,
  EventsEraseBodyQuery,
  EventsExportQuery,
  EventsGetQuery,
  EventsListPage,
  EventsListQuery,
  EventsReplayAnswer,
  EventsReplayAnswer2,
  EventsReplayBody,
  ExportedEvent,
  FiltersTestAnswer,
  FiltersTestBody,
  GatewayGetHealthAnswer,
  GatewayGetLivezAnswer,
  GatewayGetOpenapiAnswer,
  JobsListAnswer,
  JobsRunAnswer,
  Key,
  KeyWithSecret,
  KeysCreateBody,
  KeysListQuery,
  KeysPlanBody,
  KeysPutBody,
  KeysUpdateBody,
  ParkedMessage,
  Plan,
  PortalLink,
  Readiness,
  Replay,
  ReplayPlan,
  ReplaysCreateBody,
  ReplaysListQuery,
  Request,
  RequestPreview,
  RequestsListQuery,
  RequestsReplayAnswer,
  ResumedSubscription,
  Rotation,
  RotationWithSecret,
  Secrets,
  Session,
  SessionCreateBody,
  SmartsheetCleanupWebhooksAnswer,
  SmartsheetCleanupWebhooksBody,
  SmartsheetListWebhooksAnswer,
  SmartsheetListWebhooksQuery,
  SmartsheetRegisterWebhooksAnswer,
  SmartsheetRegisterWebhooksBody,
  Source,
  SourceChange,
  SourceInput,
  SourceWithSecret,
  SourcesDeleteAnswer,
  SourcesGetParkedAnswer,
  SourcesGetPathTokenAnswer,
  SourcesListParkedPage,
  SourcesListParkedQuery,
  SourcesListQuery,
  SourcesListRequestsQuery,
  SourcesPlanBody,
  SourcesPurgeParkedAnswer,
  SourcesPurgeParkedBody,
  SourcesPutBody,
  SourcesRequeueParkedAnswer,
  SourcesRequeueParkedBody,
  SourcesRotateSecretBody,
  Statistics,
  StatisticsSeries,
  StatsGetQuery,
  StatsGetSeriesQuery,
  Status,
  Subscription,
  SubscriptionChange,
  SubscriptionInput,
  SubscriptionStatistics,
  SubscriptionWithSecret,
  SubscriptionsConfirmRotationBody,
  SubscriptionsDeleteAnswer,
  SubscriptionsDrainAnswer,
  SubscriptionsListHistoryItem,
  SubscriptionsListHistoryQuery,
  SubscriptionsListQuery,
  SubscriptionsPreviewBody,
  SubscriptionsRecoverBody,
  SubscriptionsResumeBody,
  SubscriptionsRotateSecretBody,
  Target,
  TargetChange,
  TargetInput,
  TargetsDeleteAnswer,
  TargetsDeleteQuery,
  TargetsGetQuery,
  TargetsListQuery,
  TargetsPlanBody,
  TargetsPutBody,
  TargetsSetModeBody,
  TargetsSetModeQuery,
  TargetsUpdateQuery,
  TemplatesPreviewAnswer,
  TemplatesPreviewBody,
  Tenant,
  TenantErasure,
  TenantInput,
  TenantSettings,
  TenantsDeleteAnswer,
  TenantsEraseBody,
  TenantsListQuery,
  TenantsPlanBody,
  TenantsPortalLinkBody,
  TenantsPutBody,
  TestAttempt,
  Validation,
  ValidationTryOut,
  ValidationVersion,
  ValidationsDeleteQuery,
  ValidationsGetQuery,
  ValidationsListQuery,
  ValidationsListVersionsQuery,
  ValidationsPutAnswer,
  ValidationsRollbackAnswer,
  ValidationsRollbackBody,
  ValidationsTestQuery,
  WebhooksSendAnswer,
  WebhooksSendAnswer2,
  WebhooksSendToPathAnswer,
  WebhooksSendToPathAnswer2,
} from "./shapes.ts";

/** The gateway's API: a group for each resource, a method for each operation. */
export interface Resources {
  alerts: AlertsResource;
  audit: AuditResource;
  deadLetters: DeadLettersResource;
  deliveries: DeliveriesResource;
  eventTypes: EventTypesResource;
  events: EventsResource;
  filters: FiltersResource;
  gateway: GatewayResource;
  jobs: JobsResource;
  keys: KeysResource;
  replays: ReplaysResource;
  requests: RequestsResource;
  session: SessionResource;
  smartsheet: SmartsheetResource;
  sources: SourcesResource;
  stats: StatsResource;
  subscriptions: SubscriptionsResource;
  targets: TargetsResource;
  templates: TemplatesResource;
  tenants: TenantsResource;
  validations: ValidationsResource;
  webhooks: WebhooksResource;
}

export interface AlertsResource {
  /** List alerts. A key of a tenant sees the alerts of its tenant. Others see those of the whole gateway, or with `tenant_id` those of one tenant. Of each rule the last 20 that cleared are kept. */
  list(query?: AlertsListQuery, options?: RequestOptions): Pages<Alert>;
  /** List alert rules. Only for keys that are bound to no tenant. */
  listRules(query?: AlertsListRulesQuery, options?: RequestOptions): Pages<AlertRule>;
  /** Get an alert */
  get(id: string, options?: RequestOptions): Promise<Alert>;
  /** Acknowledge an alert. Somebody looks after it: of new causes nothing more is told, only when it is over. */
  acknowledge(id: string, body?: AlertsAcknowledgeBody, options?: RequestOptions): Promise<Alert>;
  /** Mute an alert. Nothing is told of this rule, for the tenant of the alert or for the gateway; or, with `cause`, that one cause does not count. What is still wrong when the time is over is told then. */
  mute(id: string, body?: AlertsMuteBody, options?: RequestOptions): Promise<Alert>;
  /** Unmute an alert. All mutes of its rule end, or that of one cause. */
  unmute(id: string, body?: AlertsUnmuteBody, options?: RequestOptions): Promise<Alert>;
}

export interface AuditResource {
  /** List who did what, the latest first. A key that is bound to a tenant sees what concerns that tenant. */
  list(query?: AuditListQuery, options?: RequestOptions): Pages<AuditEntry>;
  /** Export the audit log with its hashes, as NDJSON. The first line has the signed head; each other one an entry. `posthorn verify-audit FILE` checks it offline. Only for keys that are bound to no tenant. */
  export(options?: RequestOptions): AsyncIterable<unknown>;
  /** Verify the audit log from its first entry. Only for keys that are bound to no tenant. */
  verify(options?: RequestOptions): Promise<AuditVerifyAnswer>;
}

export interface DeadLettersResource {
  /** List dead letters, the latest first */
  list(query?: DeadLettersListQuery, options?: RequestOptions): Pages<Delivery>;
  /** Replay one dead letter, or many as a job. One by `id`, at once; many by `filter` or `all`, as a job that is then answered instead of the delivery. With `plan` many are only counted. */
  replay(body: DeadLettersReplayBody, options?: CreateOptions): Promise<ReplayPlan | DeadLettersReplayAnswer>;
  /** Purge dead letters for good, once confirmed. Without `confirm` it is refused with 409 and the `count` of what it would be. */
  purge(body: DeadLettersPurgeBody, options?: CreateOptions): Promise<Replay>;
}

export interface DeliveriesResource {
  /** List deliveries */
  list(query?: DeliveriesListQuery, options?: RequestOptions): Pages<Delivery>;
  /** Get a delivery with its attempts */
  get(id: string, options?: RequestOptions): Promise<DeliveryWithAttempts>;
  /** Retry a delivery now. One that waits is tried at once; one that has ended is opened again. */
  retry(id: string, options?: RequestOptions): Promise<Delivery>;
  /** Cancel a delivery */
  cancel(id: string, options?: RequestOptions): Promise<Delivery>;
  /** Cancel many open deliveries, as a job */
  cancelMany(body: DeliveriesCancelManyBody, options?: CreateOptions): Promise<ReplayPlan | Replay>;
}

export interface EventTypesResource {
  /** List event types */
  list(query?: EventTypesListQuery, options?: RequestOptions): Pages<EventType>;
  /** Create an event type. Only for keys that are bound to no tenant. */
  create(body: EventTypeInput, options?: CreateOptions): Promise<EventType>;
  /** Get an event type */
  get(name: string, options?: RequestOptions): Promise<EventType>;
  /** Create or replace an event type. Only for keys that are bound to no tenant. */
  put(name: string, body: EventTypesPutBody, options?: ChangeOptions): Promise<EventType>;
  /** Update an event type. Only for keys that are bound to no tenant. */
  update(name: string, body: EventTypeChange, options?: ChangeOptions): Promise<EventType>;
  /** Delete an event type. Only for keys that are bound to no tenant. */
  delete(name: string, options?: ChangeOptions): Promise<void>;
  /** Plan a replacement of an event type. Everything is judged as for PUT, and nothing is written. Of secrets it only says whether they would change. Only for keys that are bound to no tenant. */
  plan(name: string, body: EventTypesPlanBody, options?: RequestOptions): Promise<Plan>;
  /** Export event types as OpenAPI webhooks */
  export(options?: RequestOptions): Promise<EventTypesExportAnswer>;
  /** Import event types from OpenAPI webhooks. All or nothing; at most 32 MiB. Only for keys that are bound to no tenant. */
  import(body: Record<string, unknown>, query?: EventTypesImportQuery, options?: RequestOptions): Promise<EventTypesImportAnswer>;
  /** Create or replace a version of an event type. Only for keys that are bound to no tenant. */
  putVersion(name: string, version: string, body: EventTypeVersionContent, options?: ChangeOptions): Promise<EventType>;
  /** Delete a version of an event type. Only for keys that are bound to no tenant. */
  deleteVersion(name: string, version: string, options?: ChangeOptions): Promise<EventType>;
}

export interface EventsResource {
  /** Search events. All that is given must hold. A page takes 50 ms at most: what was not reached by then is told by `searched_until`, and `next_cursor` goes on from there, also after a page with fewer events than asked for. */
  list(query?: EventsListQuery, options?: RequestOptions): Pages<Event, EventsListPage>;
  /** Get an event with its body and deliveries */
  get(id: string, query?: EventsGetQuery, options?: RequestOptions): Promise<EventWithDeliveries>;
  /** Erase the body of an event. Erases the body, what destinations answered to it, and the bodies of requests that were the same one again. While deliveries are open it is refused; with `force` they become dead letters (`erased`). It cannot be undone. */
  eraseBody(id: string, query?: EventsEraseBodyQuery, options?: RequestOptions): Promise<EventsEraseBodyAnswer>;
  /** Export events with their bodies, as NDJSON. The filters are those of a search. Ends early, without a last line end, when the gateway stops. */
  export(query?: EventsExportQuery, options?: RequestOptions): AsyncIterable<ExportedEvent>;
  /** Replay an event, as it was or edited. With a `payload` a new event is made of it, which is routed like any other and has the id of this one as `replay_of`; the bytes are delivered as they are written there. */
  replay(id: string, body?: EventsReplayBody, options?: RequestOptions): Promise<EventsReplayAnswer | EventsReplayAnswer2>;
}

export interface FiltersResource {
  /** Test a filter on an event. On an event that you describe, or on one that was received. Nothing is stored. */
  test(body: FiltersTestBody, options?: RequestOptions): Promise<FiltersTestAnswer>;
}

export interface GatewayResource {
  /** Get this API as an OpenAPI document */
  getOpenapi(options?: RequestOptions): Promise<GatewayGetOpenapiAnswer>;
  /** Check that the gateway runs */
  getHealth(options?: RequestOptions): Promise<GatewayGetHealthAnswer>;
  /** Check that the gateway runs, for an orchestrator */
  getLivez(options?: RequestOptions): Promise<GatewayGetLivezAnswer>;
  /** Check whether the gateway accepts requests. Ready means that the next request is taken. A degraded gateway (its disk is low, or a broker is away) still answers 200. */
  getReadyz(options?: RequestOptions): Promise<Readiness>;
  /** Get the status: modes, queues and targets. With a key that is bound to a tenant: of what belongs to that tenant. */
  getStatus(options?: RequestOptions): Promise<Status>;
  /** Get metrics for Prometheus. Only for keys that are bound to no tenant. */
  getMetrics(options?: RequestOptions): Promise<string>;
}

export interface JobsResource {
  /** List jobs. Only for keys that are bound to no tenant. */
  list(options?: RequestOptions): Promise<JobsListAnswer>;
  /** Run a job now. Only for keys that are bound to no tenant. */
  run(name: string, options?: RequestOptions): Promise<JobsRunAnswer>;
}

export interface KeysResource {
  /** List keys */
  list(query?: KeysListQuery, options?: RequestOptions): Pages<Key>;
  /** Create a key. A key that is bound to a tenant makes keys of that tenant; one that ends makes none that lives longer. A tenant has at most `limits.max_keys_per_tenant` live keys. */
  create(body: KeysCreateBody, options?: CreateOptions): Promise<Key | KeyWithSecret>;
  /** Get a key */
  get(id: string, options?: RequestOptions): Promise<Key>;
  /** Create a key with a chosen id, or replace its settings. The key itself stays the same; so does its tenant. */
  put(id: string, body: KeysPutBody, options?: ChangeOptions): Promise<Key | KeyWithSecret>;
  /** Update the name, scopes or expiry of a key */
  update(id: string, body: KeysUpdateBody, options?: ChangeOptions): Promise<Key>;
  /** Revoke a key. In force when the answer comes. */
  delete(id: string, options?: ChangeOptions): Promise<Key>;
  /** Plan a replacement of a key. Everything is judged as for PUT, and nothing is written. Of secrets it only says whether they would change. */
  plan(id: string, body: KeysPlanBody, options?: RequestOptions): Promise<Plan>;
}

export interface ReplaysResource {
  /** Create a replay of many deliveries, or count them first. Of each subscription only a few are under way at a time, behind what is new. */
  create(body: ReplaysCreateBody, options?: CreateOptions): Promise<ReplayPlan | Replay>;
  /** List replays, the latest first */
  list(query?: ReplaysListQuery, options?: RequestOptions): Pages<Replay>;
  /** Get a replay and its progress */
  get(id: string, options?: RequestOptions): Promise<Replay>;
  /** Pause a replay */
  pause(id: string, options?: RequestOptions): Promise<Replay>;
  /** Resume a paused replay */
  resume(id: string, options?: RequestOptions): Promise<Replay>;
  /** Cancel a replay; what it has done stays done */
  cancel(id: string, options?: RequestOptions): Promise<Replay>;
}

export interface RequestsResource {
  /** List the requests that were refused or ignored, of all sources */
  list(query?: RequestsListQuery, options?: RequestOptions): Pages<Request>;
  /** Get a request */
  get(id: string, options?: RequestOptions): Promise<Request>;
  /** Replay a rejected or ignored request. After a repair of the configuration. Who it is from is not asked again; all else is done with its stored body as if it came now. What is still wrong with it is told as an error. */
  replay(id: string, options?: RequestOptions): Promise<RequestsReplayAnswer>;
}

export interface SessionResource {
  /** Create a session of the dashboard. Exchanges a key, or the token of a link that signs in once, for a cookie that stands for the key: when the key expires or is revoked, the session is over. Requests with the cookie that change something must come from the gateway's own pages. Programs send the key itself and need no session. */
  create(body: SessionCreateBody, options?: RequestOptions): Promise<Session>;
  /** Show who is signed in, and what they may do */
  get(options?: RequestOptions): Promise<Session>;
  /** End the session of the dashboard */
  delete(options?: RequestOptions): Promise<void>;
}

export interface SmartsheetResource {
  /** List Smartsheet's webhooks. All that the access token shows, each with what it is to the source. Only for keys that are bound to no tenant. */
  listWebhooks(query?: SmartsheetListWebhooksQuery, options?: RequestOptions): Promise<SmartsheetListWebhooksAnswer>;
  /** Register the sheets of a manifest at Smartsheet. For every sheet: makes a webhook unless there is one, keeps its secret, enables it, and says whether that worked. Needs POSTHORN_PUBLIC_URL, where Smartsheet sends its challenge meanwhile. Only for keys that are bound to no tenant. */
  registerWebhooks(body: SmartsheetRegisterWebhooksBody, options?: RequestOptions): Promise<SmartsheetRegisterWebhooksAnswer>;
  /** Delete Smartsheet's webhooks that are not needed. Removes duplicates, and webhooks that were registered here and call another address, a sheet that left the manifest, or nobody ever again. Those of others stay. Only for keys that are bound to no tenant. */
  cleanupWebhooks(body: SmartsheetCleanupWebhooksBody, options?: RequestOptions): Promise<SmartsheetCleanupWebhooksAnswer>;
}

export interface SourcesResource {
  /** List the rejected requests of a source */
  listRequests(name: string, query?: SourcesListRequestsQuery, options?: RequestOptions): Pages<Request>;
  /** List sources */
  list(query?: SourcesListQuery, options?: RequestOptions): Pages<Source>;
  /** Create a source. Names are unique in the gateway, because webhooks come to `/webhook/NAME`. */
  create(body: SourceInput, options?: CreateOptions): Promise<Source>;
  /** Get a source */
  get(name: string, options?: RequestOptions): Promise<Source>;
  /** Create or replace a source. Secrets and the path token stay when none is given. */
  put(name: string, body: SourcesPutBody, options?: ChangeOptions): Promise<Source>;
  /** Update a source */
  update(name: string, body: SourceChange, options?: ChangeOptions): Promise<Source>;
  /** Delete a source. Its events and requests stay. While the `*` source is on, its name is anybody's again: close it instead. */
  delete(name: string, options?: ChangeOptions): Promise<SourcesDeleteAnswer>;
  /** Plan a replacement of a source. Everything is judged as for PUT, and nothing is written. Of secrets it only says whether they would change. */
  plan(name: string, body: SourcesPlanBody, options?: RequestOptions): Promise<Plan>;
  /** Pause a source: its senders get 503 and retry */
  pause(name: string, options?: ChangeOptions): Promise<Source>;
  /** Resume a source */
  resume(name: string, options?: ChangeOptions): Promise<Source>;
  /** Close a source: its senders get 410 */
  close(name: string, options?: ChangeOptions): Promise<Source>;
  /** Rotate the secret of a source. The new secret is current at once; those before it count until the overlap ends. */
  rotateSecret(name: string, body?: SourcesRotateSecretBody, options?: RequestOptions): Promise<SourceWithSecret>;
  /** Delete a secret of a source at once */
  deleteSecret(name: string, id: string, options?: RequestOptions): Promise<Source>;
  /** Get the webhook path of a source. The gateway notes in its log that it was read. */
  getPathToken(name: string, options?: RequestOptions): Promise<SourcesGetPathTokenAnswer>;
  /** List the parked messages of a source. The oldest first, without bodies. What this broker cannot do stands in `limits`. Only for keys that are bound to no tenant. */
  listParked(name: string, query?: SourcesListParkedQuery, options?: RequestOptions): Pages<ParkedMessage, SourcesListParkedPage>;
  /** Get a parked message. Only for keys that are bound to no tenant. */
  getParked(name: string, id: string, options?: RequestOptions): Promise<SourcesGetParkedAnswer>;
  /** Requeue parked messages. Each is first put into the queue that it came from and then taken out here: interrupted in between it is in both, and never in none. At most 500 in one call; `complete` tells whether there may be more. Only for keys that are bound to no tenant. */
  requeueParked(name: string, body: SourcesRequeueParkedBody, options?: RequestOptions): Promise<SourcesRequeueParkedAnswer>;
  /** Delete parked messages. Only if `count` is how many there are that fit; else 409 with the right number, and nothing is deleted. Only for keys that are bound to no tenant. */
  purgeParked(name: string, body: SourcesPurgeParkedBody, options?: RequestOptions): Promise<SourcesPurgeParkedAnswer>;
}

export interface StatsResource {
  /** Show what came in and went out over time */
  getSeries(query?: StatsGetSeriesQuery, options?: RequestOptions): Promise<StatisticsSeries>;
  /** Get what the gateway, or one tenant, received and delivered */
  get(query?: StatsGetQuery, options?: RequestOptions): Promise<Statistics>;
}

export interface SubscriptionsResource {
  /** Recover what a subscription missed in a time range, as a job. After a failure on its side: its dead letters, and with `include` also events that it never had. */
  recover(id: string, body: SubscriptionsRecoverBody, options?: CreateOptions): Promise<ReplayPlan | Replay>;
  /** List subscriptions */
  list(query?: SubscriptionsListQuery, options?: RequestOptions): Pages<Subscription>;
  /** Create a subscription */
  create(body: SubscriptionInput, options?: CreateOptions): Promise<SubscriptionWithSecret>;
  /** Get a subscription */
  get(id: string, options?: RequestOptions): Promise<Subscription>;
  /** Create or replace a subscription. Replaces it, or makes it under an id of your choice: then 201, with its secret. */
  put(id: string, body: SubscriptionInput, options?: ChangeOptions): Promise<Subscription | SubscriptionWithSecret>;
  /** Update a subscription. It takes effect for deliveries that have not started. */
  update(id: string, body: SubscriptionChange, options?: ChangeOptions): Promise<Subscription>;
  /** Delete a subscription */
  delete(id: string, options?: ChangeOptions): Promise<SubscriptionsDeleteAnswer>;
  /** Plan a replacement of a subscription. Everything is judged as for PUT, and nothing is written. Of secrets it only says whether they would change. */
  plan(id: string, body: SubscriptionInput, options?: RequestOptions): Promise<Plan>;
  /** Pause a subscription. Deliveries wait until it is resumed; none is lost. */
  pause(id: string, options?: ChangeOptions): Promise<Subscription>;
  /** Resume a subscription, with or without what it held */
  resume(id: string, body?: SubscriptionsResumeBody, options?: ChangeOptions): Promise<ResumedSubscription>;
  /** Get success rates and latencies of a subscription */
  getStats(id: string, options?: RequestOptions): Promise<SubscriptionStatistics>;
  /** Send a test event. `test.event` for this subscription alone, whatever it asks for. It is tried once, and a failure is not held against the destination. */
  test(id: string, options?: RequestOptions): Promise<TestAttempt | Delivery>;
  /** Show the request that an event would make. As the first attempt would make it: in the format of the subscription, and signed with its secrets as of now. Nothing is sent. It has no login for the destination, and the values of headers that the subscription sets are masked. */
  preview(id: string, body: SubscriptionsPreviewBody, options?: RequestOptions): Promise<RequestPreview>;
  /** Send what waits now, whatever the mode. One round: batch after batch, until nothing is due or one fails. Later tries are brought forward. */
  drain(id: string, options?: RequestOptions): Promise<SubscriptionsDrainAnswer>;
  /** Rotate the secret of a subscription. Both secrets sign until the overlap ends. The header that holds one signature stays with the old one until the rotation is confirmed. */
  rotateSecret(id: string, body?: SubscriptionsRotateSecretBody, options?: RequestOptions): Promise<RotationWithSecret>;
  /** Confirm a rotation */
  confirmRotation(id: string, body?: SubscriptionsConfirmRotationBody, options?: RequestOptions): Promise<Rotation>;
  /** End the overlap of a rotation now */
  endRotation(id: string, options?: RequestOptions): Promise<Rotation>;
  /** Get the secrets of a subscription. That somebody asked is logged. */
  getSecret(id: string, options?: RequestOptions): Promise<Secrets>;
  /** List the status changes of a subscription, the latest first */
  listHistory(id: string, query?: SubscriptionsListHistoryQuery, options?: RequestOptions): Pages<SubscriptionsListHistoryItem>;
}

export interface TargetsResource {
  /** List targets */
  list(query?: TargetsListQuery, options?: RequestOptions): Pages<Target>;
  /** Create a target that subscriptions share. Subscriptions name it in `target`. */
  create(body: TargetInput, options?: CreateOptions): Promise<Target>;
  /** Get a target. By its name; a subscription's own also by the id of the subscription. */
  get(name: string, query?: TargetsGetQuery, options?: RequestOptions): Promise<Target>;
  /** Create or replace a target */
  put(name: string, body: TargetsPutBody, options?: ChangeOptions): Promise<Target>;
  /** Update a target. What is given is changed; null takes a setting away. */
  update(name: string, body: TargetChange, query?: TargetsUpdateQuery, options?: ChangeOptions): Promise<Target>;
  /** Delete a target that no subscription uses */
  delete(name: string, query?: TargetsDeleteQuery, options?: ChangeOptions): Promise<TargetsDeleteAnswer>;
  /** Plan a replacement of a target. Everything is judged as for PUT, and nothing is written. Of secrets it only says whether they would change. */
  plan(name: string, body: TargetsPlanBody, options?: RequestOptions): Promise<Plan>;
  /** Set the mode of a target. In `QUEUE` nothing is sent until `auto`, but for what `drain` asks for; in `NORMAL` all is sent, however often it fails. */
  setMode(name: string, body: TargetsSetModeBody, query?: TargetsSetModeQuery, options?: RequestOptions): Promise<Target>;
}

export interface TemplatesResource {
  /** Preview templates with an event. The templates of a subscription, of settings that are not saved yet, or any others; with an event that you describe, or with one that was received. Nothing is stored or sent. */
  preview(body: TemplatesPreviewBody, options?: RequestOptions): Promise<TemplatesPreviewAnswer>;
}

export interface TenantsResource {
  /** Create a portal link for a tenant. Whoever opens the link sees this tenant and no other: its events, subscriptions, deliveries and the catalogue. It works until it expires, or until the key that made it is revoked. Sites of `portal.frame_origins` may show the page in a frame. Only for keys that are bound to no tenant. */
  portalLink(id: string, body?: TenantsPortalLinkBody, options?: RequestOptions): Promise<PortalLink>;
  /** List tenants. Only for keys that are bound to no tenant. */
  list(query?: TenantsListQuery, options?: RequestOptions): Pages<Tenant>;
  /** Create a tenant. Only for keys that are bound to no tenant. */
  create(body: TenantInput, options?: CreateOptions): Promise<Tenant>;
  /** Get a tenant. Only for keys that are bound to no tenant. */
  get(id: string, options?: RequestOptions): Promise<Tenant>;
  /** Create or replace a tenant. Only for keys that are bound to no tenant. */
  put(id: string, body: TenantsPutBody, options?: ChangeOptions): Promise<Tenant>;
  /** Update a tenant. Only for keys that are bound to no tenant. */
  update(id: string, body: TenantSettings, options?: ChangeOptions): Promise<Tenant>;
  /** Delete a tenant. Only one that has nothing any more. Only for keys that are bound to no tenant. */
  delete(id: string, options?: ChangeOptions): Promise<TenantsDeleteAnswer>;
  /** Plan a replacement of a tenant. Everything is judged as for PUT, and nothing is written. Of secrets it only says whether they would change. Only for keys that are bound to no tenant. */
  plan(id: string, body: TenantsPlanBody, options?: RequestOptions): Promise<Plan>;
  /** Erase everything of a tenant. The tenant is inactive from then on. All that is configured for it, its events and its requests are erased, and what the audit log says of its things. While it runs it is answered as it is. The tenant `default` cannot be erased. Only for keys that are bound to no tenant. */
  erase(id: string, body: TenantsEraseBody, options?: RequestOptions): Promise<TenantErasure>;
  /** Get the progress of a tenant's erasure. Only for keys that are bound to no tenant. */
  getErasure(id: string, options?: RequestOptions): Promise<TenantErasure>;
}

export interface ValidationsResource {
  /** List validations. Only for keys that are bound to no tenant. */
  list(query?: ValidationsListQuery, options?: RequestOptions): Pages<Validation>;
  /** Get a validation. The document as it was given: JSON, or XML where the endpoint has an XML Schema and is asked for it. Only for keys that are bound to no tenant. */
  get(endpoint: string, query?: ValidationsGetQuery, options?: RequestOptions): Promise<Record<string, unknown>>;
  /** Delete a validation. Both formats, or the one that is named. That it ended is a version too: it can be brought back. Only for keys that are bound to no tenant. */
  delete(endpoint: string, query?: ValidationsDeleteQuery, options?: ChangeOptions): Promise<void>;
  /** Create or replace a validation. It is compiled first, and takes effect at once. What cannot be used is refused, and the one before stays. Only for keys that are bound to no tenant. */
  put(endpoint: string, body: Payload, options?: ChangeOptions & UploadOptions): Promise<ValidationsPutAnswer>;
  /** List the versions of a validation. Only for keys that are bound to no tenant. */
  listVersions(endpoint: string, query?: ValidationsListVersionsQuery, options?: RequestOptions): Pages<ValidationVersion>;
  /** Roll a validation back to an earlier version. Only for keys that are bound to no tenant. */
  rollback(endpoint: string, body: ValidationsRollbackBody, options?: ChangeOptions): Promise<ValidationsRollbackAnswer>;
  /** Test a validation. What would become of a webhook. Nothing is stored. Only for keys that are bound to no tenant. */
  test(endpoint: string, body: Payload, query?: ValidationsTestQuery, options?: UploadOptions): Promise<ValidationTryOut>;
}

export interface WebhooksResource {
  /** Send a webhook to a source. The body is kept byte for byte, whatever its content type; JSON and XML must be well-formed. The answer leaves after the event is on disk; where a subscription forwards it, after the first attempt or ten seconds. Other methods are taken where the source says so. */
  send(source: string, body: Payload, options?: UploadOptions): Promise<WebhooksSendAnswer | WebhooksSendAnswer2>;
  /** Send a webhook to a path below its source. The body is kept byte for byte, whatever its content type; JSON and XML must be well-formed. The answer leaves after the event is on disk; where a subscription forwards it, after the first attempt or ten seconds. Other methods are taken where the source says so. */
  sendToPath(source: string, pathName: string, body: Payload, options?: UploadOptions): Promise<WebhooksSendToPathAnswer | WebhooksSendToPathAnswer2>;
}

export function createResources(call: Call): Resources {
  return {
    alerts: {
      list: (query, options) => call.pages("/api/v1/alerts", query, options),
      listRules: (query, options) => call.pages("/api/v1/alerts/rules", query, options),
      get: (id, options) => call.json("GET", path`/api/v1/alerts/${id}`, {}, options),
      acknowledge: (id, body, options) => call.json("POST", path`/api/v1/alerts/${id}/acknowledge`, { body }, options),
      mute: (id, body, options) => call.json("POST", path`/api/v1/alerts/${id}/mute`, { body }, options),
      unmute: (id, body, options) => call.json("POST", path`/api/v1/alerts/${id}/unmute`, { body }, options),
    },
    audit: {
      list: (query, options) => call.pages("/api/v1/audit", query, options),
      export: (options) => call.lines("/api/v1/audit/export", undefined, options),
      verify: (options) => call.json("GET", "/api/v1/audit/verify", {}, options),
    },
    deadLetters: {
      list: (query, options) => call.pages("/api/v1/dead-letters", query, options),
      replay: (body, options) => call.json("POST", "/api/v1/dead-letters/replay", { body, isKeyed: true }, options),
      purge: (body, options) => call.json("POST", "/api/v1/dead-letters/purge", { body, isKeyed: true }, options),
    },
    deliveries: {
      list: (query, options) => call.pages("/api/v1/deliveries", query, options),
      get: (id, options) => call.json("GET", path`/api/v1/deliveries/${id}`, {}, options),
      retry: (id, options) => call.json("POST", path`/api/v1/deliveries/${id}/retry`, {}, options),
      cancel: (id, options) => call.json("POST", path`/api/v1/deliveries/${id}/cancel`, {}, options),
      cancelMany: (body, options) => call.json("POST", "/api/v1/deliveries/cancel", { body, isKeyed: true }, options),
    },
    eventTypes: {
      list: (query, options) => call.pages("/api/v1/event-types", query, options),
      create: (body, options) => call.json("POST", "/api/v1/event-types", { body, isKeyed: true }, options),
      get: (name, options) => call.json("GET", path`/api/v1/event-types/${name}`, {}, options),
      put: (name, body, options) => call.json("PUT", path`/api/v1/event-types/${name}`, { body }, options),
      update: (name, body, options) => call.json("PATCH", path`/api/v1/event-types/${name}`, { body }, options),
      delete: (name, options) => call.json("DELETE", path`/api/v1/event-types/${name}`, {}, options),
      plan: (name, body, options) => call.json("POST", path`/api/v1/event-types/${name}/plan`, { body }, options),
      export: (options) => call.json("GET", "/api/v1/event-types/export", {}, options),
      import: (body, query, options) => call.json("POST", "/api/v1/event-types/import", { body, query }, options),
      putVersion: (name, version, body, options) => call.json("PUT", path`/api/v1/event-types/${name}/versions/${version}`, { body }, options),
      deleteVersion: (name, version, options) => call.json("DELETE", path`/api/v1/event-types/${name}/versions/${version}`, {}, options),
    },
    events: {
      list: (query, options) => call.pages("/api/v1/events", query, options),
      get: (id, query, options) => call.json("GET", path`/api/v1/events/${id}`, { query }, options),
      eraseBody: (id, query, options) => call.json("DELETE", path`/api/v1/events/${id}/body`, { query }, options),
      export: (query, options) => call.lines("/api/v1/events/export", query, options),
      replay: (id, body, options) => call.json("POST", path`/api/v1/events/${id}/replay`, { body }, options),
    },
    filters: {
      test: (body, options) => call.json("POST", "/api/v1/filters/test", { body }, options),
    },
    gateway: {
      getOpenapi: (options) => call.json("GET", "/openapi.json", {}, options),
      getHealth: (options) => call.json("GET", "/health", {}, options),
      getLivez: (options) => call.json("GET", "/livez", {}, options),
      getReadyz: (options) => call.json("GET", "/readyz", {}, options),
      getStatus: (options) => call.json("GET", "/status", {}, options),
      getMetrics: (options) => call.text("/metrics", undefined, options),
    },
    jobs: {
      list: (options) => call.json("GET", "/api/v1/jobs", {}, options),
      run: (name, options) => call.json("POST", path`/api/v1/jobs/${name}/run`, {}, options),
    },
    keys: {
      list: (query, options) => call.pages("/api/v1/keys", query, options),
      create: (body, options) => call.json("POST", "/api/v1/keys", { body, isKeyed: true }, options),
      get: (id, options) => call.json("GET", path`/api/v1/keys/${id}`, {}, options),
      put: (id, body, options) => call.json("PUT", path`/api/v1/keys/${id}`, { body }, options),
      update: (id, body, options) => call.json("PATCH", path`/api/v1/keys/${id}`, { body }, options),
      delete: (id, options) => call.json("DELETE", path`/api/v1/keys/${id}`, {}, options),
      plan: (id, body, options) => call.json("POST", path`/api/v1/keys/${id}/plan`, { body }, options),
    },
    replays: {
      create: (body, options) => call.json("POST", "/api/v1/replays", { body, isKeyed: true }, options),
      list: (query, options) => call.pages("/api/v1/replays", query, options),
      get: (id, options) => call.json("GET", path`/api/v1/replays/${id}`, {}, options),
      pause: (id, options) => call.json("POST", path`/api/v1/replays/${id}/pause`, {}, options),
      resume: (id, options) => call.json("POST", path`/api/v1/replays/${id}/resume`, {}, options),
      cancel: (id, options) => call.json("POST", path`/api/v1/replays/${id}/cancel`, {}, options),
    },
    requests: {
      list: (query, options) => call.pages("/api/v1/requests", query, options),
      get: (id, options) => call.json("GET", path`/api/v1/requests/${id}`, {}, options),
      replay: (id, options) => call.json("POST", path`/api/v1/requests/${id}/replay`, {}, options),
    },
    session: {
      create: (body, options) => call.json("POST", "/api/v1/session", { body }, options),
      get: (options) => call.json("GET", "/api/v1/session", {}, options),
      delete: (options) => call.json("DELETE", "/api/v1/session", {}, options),
    },
    smartsheet: {
      listWebhooks: (query, options) => call.json("GET", "/api/v1/smartsheet/webhooks", { query }, options),
      registerWebhooks: (body, options) => call.json("POST", "/api/v1/smartsheet/webhooks/register", { body }, options),
      cleanupWebhooks: (body, options) => call.json("POST", "/api/v1/smartsheet/webhooks/cleanup", { body }, options),
    },
    sources: {
      listRequests: (name, query, options) => call.pages(path`/api/v1/sources/${name}/requests`, query, options),
      list: (query, options) => call.pages("/api/v1/sources", query, options),
      create: (body, options) => call.json("POST", "/api/v1/sources", { body, isKeyed: true }, options),
      get: (name, options) => call.json("GET", path`/api/v1/sources/${name}`, {}, options),
      put: (name, body, options) => call.json("PUT", path`/api/v1/sources/${name}`, { body }, options),
      update: (name, body, options) => call.json("PATCH", path`/api/v1/sources/${name}`, { body }, options),
      delete: (name, options) => call.json("DELETE", path`/api/v1/sources/${name}`, {}, options),
      plan: (name, body, options) => call.json("POST", path`/api/v1/sources/${name}/plan`, { body }, options),
      pause: (name, options) => call.json("POST", path`/api/v1/sources/${name}/pause`, {}, options),
      resume: (name, options) => call.json("POST", path`/api/v1/sources/${name}/resume`, {}, options),
      close: (name, options) => call.json("POST", path`/api/v1/sources/${name}/close`, {}, options),
      rotateSecret: (name, body, options) => call.json("POST", path`/api/v1/sources/${name}/rotate-secret`, { body }, options),
      deleteSecret: (name, id, options) => call.json("DELETE", path`/api/v1/sources/${name}/secrets/${id}`, {}, options),
      getPathToken: (name, options) => call.json("GET", path`/api/v1/sources/${name}/path-token`, {}, options),
      listParked: (name, query, options) => call.pages(path`/api/v1/sources/${name}/parked`, query, options),
      getParked: (name, id, options) => call.json("GET", path`/api/v1/sources/${name}/parked/${id}`, {}, options),
      requeueParked: (name, body, options) => call.json("POST", path`/api/v1/sources/${name}/parked/requeue`, { body }, options),
      purgeParked: (name, body, options) => call.json("POST", path`/api/v1/sources/${name}/parked/purge`, { body }, options),
    },
    stats: {
      getSeries: (query, options) => call.json("GET", "/api/v1/stats/series", { query }, options),
      get: (query, options) => call.json("GET", "/api/v1/stats", { query }, options),
    },
    subscriptions: {
      recover: (id, body, options) => call.json("POST", path`/api/v1/subscriptions/${id}/recover`, { body, isKeyed: true }, options),
      list: (query, options) => call.pages("/api/v1/subscriptions", query, options),
      create: (body, options) => call.json("POST", "/api/v1/subscriptions", { body, isKeyed: true }, options),
      get: (id, options) => call.json("GET", path`/api/v1/subscriptions/${id}`, {}, options),
      put: (id, body, options) => call.json("PUT", path`/api/v1/subscriptions/${id}`, { body }, options),
      update: (id, body, options) => call.json("PATCH", path`/api/v1/subscriptions/${id}`, { body }, options),
      delete: (id, options) => call.json("DELETE", path`/api/v1/subscriptions/${id}`, {}, options),
      plan: (id, body, options) => call.json("POST", path`/api/v1/subscriptions/${id}/plan`, { body }, options),
      pause: (id, options) => call.json("POST", path`/api/v1/subscriptions/${id}/pause`, {}, options),
      resume: (id, body, options) => call.json("POST", path`/api/v1/subscriptions/${id}/resume`, { body }, options),
      getStats: (id, options) => call.json("GET", path`/api/v1/subscriptions/${id}/stats`, {}, options),
      test: (id, options) => call.json("POST", path`/api/v1/subscriptions/${id}/test`, {}, options),
      preview: (id, body, options) => call.json("POST", path`/api/v1/subscriptions/${id}/preview`, { body }, options),
      drain: (id, options) => call.json("POST", path`/api/v1/subscriptions/${id}/drain`, {}, options),
      rotateSecret: (id, body, options) => call.json("POST", path`/api/v1/subscriptions/${id}/rotate-secret`, { body }, options),
      confirmRotation: (id, body, options) => call.json("POST", path`/api/v1/subscriptions/${id}/rotate-secret/confirm`, { body }, options),
      endRotation: (id, options) => call.json("POST", path`/api/v1/subscriptions/${id}/rotate-secret/retire`, {}, options),
      getSecret: (id, options) => call.json("GET", path`/api/v1/subscriptions/${id}/secret`, {}, options),
      listHistory: (id, query, options) => call.pages(path`/api/v1/subscriptions/${id}/history`, query, options),
    },
    targets: {
      list: (query, options) => call.pages("/api/v1/targets", query, options),
      create: (body, options) => call.json("POST", "/api/v1/targets", { body, isKeyed: true }, options),
      get: (name, query, options) => call.json("GET", path`/api/v1/targets/${name}`, { query }, options),
      put: (name, body, options) => call.json("PUT", path`/api/v1/targets/${name}`, { body }, options),
      update: (name, body, query, options) => call.json("PATCH", path`/api/v1/targets/${name}`, { body, query }, options),
      delete: (name, query, options) => call.json("DELETE", path`/api/v1/targets/${name}`, { query }, options),
      plan: (name, body, options) => call.json("POST", path`/api/v1/targets/${name}/plan`, { body }, options),
      setMode: (name, body, query, options) => call.json("POST", path`/api/v1/targets/${name}/mode`, { body, query }, options),
    },
    templates: {
      preview: (body, options) => call.json("POST", "/api/v1/templates/preview", { body }, options),
    },
    tenants: {
      portalLink: (id, body, options) => call.json("POST", path`/api/v1/tenants/${id}/portal-link`, { body }, options),
      list: (query, options) => call.pages("/api/v1/tenants", query, options),
      create: (body, options) => call.json("POST", "/api/v1/tenants", { body, isKeyed: true }, options),
      get: (id, options) => call.json("GET", path`/api/v1/tenants/${id}`, {}, options),
      put: (id, body, options) => call.json("PUT", path`/api/v1/tenants/${id}`, { body }, options),
      update: (id, body, options) => call.json("PATCH", path`/api/v1/tenants/${id}`, { body }, options),
      delete: (id, options) => call.json("DELETE", path`/api/v1/tenants/${id}`, {}, options),
      plan: (id, body, options) => call.json("POST", path`/api/v1/tenants/${id}/plan`, { body }, options),
      erase: (id, body, options) => call.json("POST", path`/api/v1/tenants/${id}/erase`, { body }, options),
      getErasure: (id, options) => call.json("GET", path`/api/v1/tenants/${id}/erase`, {}, options),
    },
    validations: {
      list: (query, options) => call.pages("/validations", query, options),
      get: (endpoint, query, options) => call.json("GET", path`/validations/${endpoint}`, { query }, options),
      delete: (endpoint, query, options) => call.json("DELETE", path`/validations/${endpoint}`, { query }, options),
      put: (endpoint, body, options) => call.json("PUT", path`/validations/${endpoint}`, { bytes: body }, options),
      listVersions: (endpoint, query, options) => call.pages(path`/validations/${endpoint}/versions`, query, options),
      rollback: (endpoint, body, options) => call.json("POST", path`/validations/${endpoint}/rollback`, { body }, options),
      test: (endpoint, body, query, options) => call.json("POST", path`/validations/${endpoint}/test`, { bytes: body, query }, options),
    },
    webhooks: {
      send: (source, body, options) => call.json("POST", path`/webhook/${source}`, { bytes: body }, options),
      sendToPath: (source, pathName, body, options) => call.json("POST", path`/webhook/${source}` + "/" + pathBelow(pathName), { bytes: body }, options),
    },
  };
}
