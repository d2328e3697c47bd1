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
  DeadLettersListGroupsAnswer,
  DeadLettersListGroupsQuery,
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
  RequestWithBody,
  RequestsListQuery,
  RequestsReplayAnswer,
  ResumedSubscription,
  Rotation,
  RotationWithSecret,
  Secrets,
  Session,
  SessionCreateBody,
  SignInWays,
  SmartsheetCleanupWebhooksAnswer,
  SmartsheetCleanupWebhooksBody,
  SmartsheetListWebhooksAnswer,
  SmartsheetListWebhooksQuery,
  SmartsheetRegisterWebhooksAnswer,
  SmartsheetRegisterWebhooksBody,
  Source,
  SourceChange,
  SourceInput,
  SourceKindsListAnswer,
  SourceQueuesListAnswer,
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
  TenantsListPortalLinksAnswer,
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
  sessions: SessionsResource;
  signIn: SignInResource;
  smartsheet: SmartsheetResource;
  sourceKinds: SourceKindsResource;
  sourceQueues: SourceQueuesResource;
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
  /** List alerts. A key that is bound to a tenant sees the alerts of that tenant. Other keys see the alerts of the whole gateway, or with `tenant_id` the alerts of one tenant. The last 20 cleared alerts of each rule are kept. */
  list(query?: AlertsListQuery, options?: RequestOptions): Pages<Alert>;
  /** List alert rules. Only for keys that are not bound to a tenant. */
  listRules(query?: AlertsListRulesQuery, options?: RequestOptions): Pages<AlertRule>;
  /** Get an alert */
  get(id: string, options?: RequestOptions): Promise<Alert>;
  /** Acknowledge an alert. Marks that somebody is working on the alert. New causes send no more messages; the end of the alert does. */
  acknowledge(id: string, body?: AlertsAcknowledgeBody, options?: RequestOptions): Promise<Alert>;
  /** Mute an alert. Stops messages of this rule, for the tenant of the alert or for the gateway. With `cause`, only that cause is ignored; it must be one that the alert has. Problems that still exist when the mute ends are reported then. */
  mute(id: string, body?: AlertsMuteBody, options?: RequestOptions): Promise<Alert>;
  /** Unmute an alert. Ends all mutes of the rule, or with `cause` only that of one cause. */
  unmute(id: string, body?: AlertsUnmuteBody, options?: RequestOptions): Promise<Alert>;
}

export interface AuditResource {
  /** List the audit log, latest first. A key that is bound to a tenant sees only entries of that tenant. */
  list(query?: AuditListQuery, options?: RequestOptions): Pages<AuditEntry>;
  /** Export the audit log with its hashes, as NDJSON. The first line is the signed head; each further line is an entry. `posthorn verify-audit FILE` checks it offline. Only for keys that are not bound to a tenant. */
  export(options?: RequestOptions): AsyncIterable<unknown>;
  /** Verify the audit log from its first entry. Only for keys that are not bound to a tenant. */
  verify(options?: RequestOptions): Promise<AuditVerifyAnswer>;
}

export interface DeadLettersResource {
  /** List dead letters, latest first */
  list(query?: DeadLettersListQuery, options?: RequestOptions): Pages<Delivery>;
  /** List the dead letters by subscription and cause */
  listGroups(query?: DeadLettersListGroupsQuery, options?: RequestOptions): Promise<DeadLettersListGroupsAnswer>;
  /** Replay one dead letter, or many as a job. Replays one dead letter by `id` at once, or many by `filter` or `all` as a job. The answer is then the job instead of the delivery. With `plan`, dead letters are only counted. */
  replay(body: DeadLettersReplayBody, options?: CreateOptions): Promise<ReplayPlan | DeadLettersReplayAnswer>;
  /** Purge dead letters permanently, after confirmation. Without `confirm` the answer is 409 with the `count` of dead letters that would be purged. One dead letter is purged by `id`, at once and without `confirm`. */
  purge(body: DeadLettersPurgeBody, options?: CreateOptions): Promise<Delivery | Replay>;
}

export interface DeliveriesResource {
  /** List deliveries. A page takes at most 50 ms. `next_cursor` continues where it ended, even after a page with fewer deliveries than `limit`. */
  list(query?: DeliveriesListQuery, options?: RequestOptions): Pages<Delivery>;
  /** Get a delivery with its attempts */
  get(id: string, options?: RequestOptions): Promise<DeliveryWithAttempts>;
  /** Retry a delivery now. A pending delivery is attempted at once. A delivery that has ended is opened again. */
  retry(id: string, options?: RequestOptions): Promise<Delivery>;
  /** Cancel a delivery */
  cancel(id: string, options?: RequestOptions): Promise<Delivery>;
  /** Cancel many open deliveries, as a job */
  cancelMany(body: DeliveriesCancelManyBody, options?: CreateOptions): Promise<ReplayPlan | Replay>;
}

export interface EventTypesResource {
  /** List event types */
  list(query?: EventTypesListQuery, options?: RequestOptions): Pages<EventType>;
  /** Create an event type. Only for keys that are not bound to a tenant. */
  create(body: EventTypeInput, options?: CreateOptions): Promise<EventType>;
  /** Get an event type */
  get(name: string, options?: RequestOptions): Promise<EventType>;
  /** Create or replace an event type. Only for keys that are not bound to a tenant. */
  put(name: string, body: EventTypesPutBody, options?: ChangeOptions): Promise<EventType>;
  /** Update an event type. Only for keys that are not bound to a tenant. */
  update(name: string, body: EventTypeChange, options?: ChangeOptions): Promise<EventType>;
  /** Delete an event type. Only for keys that are not bound to a tenant. */
  delete(name: string, options?: ChangeOptions): Promise<void>;
  /** Show what replacing an event type would change. Checks the same as PUT, but saves nothing. For secrets, the answer says only whether they would change. Only for keys that are not bound to a tenant. */
  plan(name: string, body: EventTypesPlanBody, options?: RequestOptions): Promise<Plan>;
  /** Export event types as OpenAPI webhooks */
  export(options?: RequestOptions): Promise<EventTypesExportAnswer>;
  /** Import event types from OpenAPI webhooks. Imports all event types, or none if one is invalid. The document may have at most 32 MiB. Only for keys that are not bound to a tenant. */
  import(body: Record<string, unknown>, query?: EventTypesImportQuery, options?: RequestOptions): Promise<EventTypesImportAnswer>;
  /** Create or replace a version of an event type. Only for keys that are not bound to a tenant. */
  putVersion(name: string, version: string, body: EventTypeVersionContent, options?: ChangeOptions): Promise<EventType>;
  /** Delete a version of an event type. Only for keys that are not bound to a tenant. */
  deleteVersion(name: string, version: string, options?: ChangeOptions): Promise<EventType>;
}

export interface EventsResource {
  /** Search events. An event must match all filters. A page takes at most 50 ms. `searched_until` says how far the search got, and `next_cursor` continues from there, even after a page with fewer events than `limit`. */
  list(query?: EventsListQuery, options?: RequestOptions): Pages<Event, EventsListPage>;
  /** Get an event with its body and deliveries */
  get(id: string, query?: EventsGetQuery, options?: RequestOptions): Promise<EventWithDeliveries>;
  /** Erase the body of an event. Erases the body, the responses of destinations, and the bodies of duplicate requests. Is rejected while deliveries are open, unless `force` is set: then they become dead letters (`erased`). This cannot be undone. */
  eraseBody(id: string, query?: EventsEraseBodyQuery, options?: RequestOptions): Promise<EventsEraseBodyAnswer>;
  /** Export events with their bodies, as NDJSON. Takes the same filters as the list. When the gateway stops, the export ends early, without a final line break. */
  export(query?: EventsExportQuery, options?: RequestOptions): AsyncIterable<ExportedEvent>;
  /** Replay an event, unchanged or edited. With a `payload`, a new event is created and routed like any other, or only to the subscriptions that you name. Its `replay_of` is the id of this event, and its body is delivered byte for byte as you wrote it. */
  replay(id: string, body?: EventsReplayBody, options?: RequestOptions): Promise<EventsReplayAnswer | EventsReplayAnswer2>;
}

export interface FiltersResource {
  /** Test a filter on an event. Tests the filter on an event that you describe, or on a stored event. Nothing is stored. */
  test(body: FiltersTestBody, options?: RequestOptions): Promise<FiltersTestAnswer>;
}

export interface GatewayResource {
  /** Get this API's OpenAPI document */
  getOpenapi(options?: RequestOptions): Promise<GatewayGetOpenapiAnswer>;
  /** Check that the gateway is running */
  getHealth(options?: RequestOptions): Promise<GatewayGetHealthAnswer>;
  /** Check that the gateway is running, for an orchestrator */
  getLivez(options?: RequestOptions): Promise<GatewayGetLivezAnswer>;
  /** Check whether the gateway accepts requests. Ready means that the gateway accepts requests. A degraded gateway (low disk space, or a broker that cannot be reached) still answers 200. */
  getReadyz(options?: RequestOptions): Promise<Readiness>;
  /** Get the status: modes, queues and targets. A key that is bound to a tenant gets the status of that tenant only. */
  getStatus(options?: RequestOptions): Promise<Status>;
  /** Get metrics for Prometheus. Only for keys that are not bound to a tenant. */
  getMetrics(options?: RequestOptions): Promise<string>;
}

export interface JobsResource {
  /** List jobs. Only for keys that are not bound to a tenant. */
  list(options?: RequestOptions): Promise<JobsListAnswer>;
  /** Run a job now. Only for keys that are not bound to a tenant. */
  run(name: string, options?: RequestOptions): Promise<JobsRunAnswer>;
}

export interface KeysResource {
  /** List keys */
  list(query?: KeysListQuery, options?: RequestOptions): Pages<Key>;
  /** Create a key. A key that is bound to a tenant can create keys only for that tenant. A key that expires cannot create a key that expires later. A tenant has at most `limits.max_keys_per_tenant` active keys. */
  create(body: KeysCreateBody, options?: CreateOptions): Promise<Key | KeyWithSecret>;
  /** Get a key */
  get(id: string, options?: RequestOptions): Promise<Key>;
  /** Create a key with a chosen id, or replace its settings. The key itself and its tenant cannot be changed. */
  put(id: string, body: KeysPutBody, options?: ChangeOptions): Promise<Key | KeyWithSecret>;
  /** Update the name, scopes or expiry of a key */
  update(id: string, body: KeysUpdateBody, options?: ChangeOptions): Promise<Key>;
  /** Revoke a key. Takes effect immediately. */
  delete(id: string, options?: ChangeOptions): Promise<Key>;
  /** Show what replacing a key would change. Checks the same as PUT, but saves nothing. For secrets, the answer says only whether they would change. */
  plan(id: string, body: KeysPlanBody, options?: RequestOptions): Promise<Plan>;
}

export interface ReplaysResource {
  /** Create a replay of many deliveries, or count them first. New deliveries go first: only a few replayed deliveries of each subscription are sent at a time. With a key or portal link of a tenant, a job leaves out the subscriptions that the caller may not change (`can.change`). */
  create(body: ReplaysCreateBody, options?: CreateOptions): Promise<ReplayPlan | Replay>;
  /** List replays, latest first */
  list(query?: ReplaysListQuery, options?: RequestOptions): Pages<Replay>;
  /** Get a replay and its progress */
  get(id: string, options?: RequestOptions): Promise<Replay>;
  /** Pause a replay */
  pause(id: string, options?: RequestOptions): Promise<Replay>;
  /** Resume a paused replay */
  resume(id: string, options?: RequestOptions): Promise<Replay>;
  /** Cancel a replay; finished work is kept */
  cancel(id: string, options?: RequestOptions): Promise<Replay>;
}

export interface RequestsResource {
  /** List the rejected and ignored requests of all sources */
  list(query?: RequestsListQuery, options?: RequestOptions): Pages<Request>;
  /** Get a request */
  get(id: string, options?: RequestOptions): Promise<RequestWithBody>;
  /** Replay a rejected or ignored request. For use after the configuration was corrected. The stored body is processed as if it came in now, except that the sender is not verified again. If it is rejected again, the answer is that error. */
  replay(id: string, options?: RequestOptions): Promise<RequestsReplayAnswer>;
}

export interface SessionResource {
  /** Create a dashboard session. Exchanges a key, or the token of a one-time sign-in link, for a cookie that stands for the key. When the key expires or is revoked, the session ends. Requests with the cookie that change something must come from the gateway's own pages. Programs need no session: they send the key itself. */
  create(body: SessionCreateBody, options?: RequestOptions): Promise<Session>;
  /** Show who is signed in and what they may do */
  get(options?: RequestOptions): Promise<Session>;
  /** End the dashboard session */
  delete(options?: RequestOptions): Promise<void>;
}

export interface SessionsResource {
  /** End all sessions of a user or key. For a user who has left, or a cookie that was lost. Ends all sessions of a user or key, and the portal links that they made; a live stream within 15 seconds. They can sign in again: to keep them out, remove their group or revoke the key. Keys that a user made stay valid. Only for keys that are not bound to a tenant. */
  delete(key_id: string, options?: RequestOptions): Promise<void>;
}

export interface SignInResource {
  /** Show the ways to sign in to the dashboard */
  get(options?: RequestOptions): Promise<SignInWays>;
}

export interface SmartsheetResource {
  /** List Smartsheet's webhooks. Lists all webhooks that the access token can see, each with its state for the source. Only for keys that are not bound to a tenant. */
  listWebhooks(query?: SmartsheetListWebhooksQuery, options?: RequestOptions): Promise<SmartsheetListWebhooksAnswer>;
  /** Register the sheets of a manifest at Smartsheet. For each sheet: creates a webhook unless there is one, stores its secret, enables it, and reports the result. Needs POSTHORN_PUBLIC_URL, because Smartsheet sends its challenge to that URL. Only for keys that are not bound to a tenant. */
  registerWebhooks(body?: SmartsheetRegisterWebhooksBody, options?: RequestOptions): Promise<SmartsheetRegisterWebhooksAnswer>;
  /** Delete Smartsheet's webhooks that are not needed. Removes duplicates and webhooks that were registered here but are useless: they call another address, their sheet has left the manifest, or they have ended. Webhooks of others stay. Only for keys that are not bound to a tenant. */
  cleanupWebhooks(body?: SmartsheetCleanupWebhooksBody, options?: RequestOptions): Promise<SmartsheetCleanupWebhooksAnswer>;
}

export interface SourceKindsResource {
  /** List the kinds of sources */
  list(options?: RequestOptions): Promise<SourceKindsListAnswer>;
}

export interface SourceQueuesResource {
  /** List the queues that sources take from. Only for keys that are not bound to a tenant. */
  list(options?: RequestOptions): Promise<SourceQueuesListAnswer>;
}

export interface SourcesResource {
  /** List the rejected requests of a source */
  listRequests(name: string, query?: SourcesListRequestsQuery, options?: RequestOptions): Pages<Request>;
  /** List sources */
  list(query?: SourcesListQuery, options?: RequestOptions): Pages<Source>;
  /** Create a source. Names are unique across all tenants, because webhooks are sent to `/webhook/NAME`. */
  create(body: SourceInput, options?: CreateOptions): Promise<Source>;
  /** Get a source */
  get(name: string, options?: RequestOptions): Promise<Source>;
  /** Create or replace a source. Secrets and the path token stay unchanged unless you send new ones. */
  put(name: string, body: SourcesPutBody, options?: ChangeOptions): Promise<Source>;
  /** Update a source */
  update(name: string, body: SourceChange, options?: ChangeOptions): Promise<Source>;
  /** Delete a source. Events and requests of the source are kept. While the `*` source is on, anybody can send to the name again: close the source instead. */
  delete(name: string, options?: ChangeOptions): Promise<SourcesDeleteAnswer>;
  /** Show what replacing a source would change. Checks the same as PUT, but saves nothing. For secrets, the answer says only whether they would change. */
  plan(name: string, body: SourcesPlanBody, options?: RequestOptions): Promise<Plan>;
  /** Pause a source: its senders get 503 and retry */
  pause(name: string, options?: ChangeOptions): Promise<Source>;
  /** Resume a source */
  resume(name: string, options?: ChangeOptions): Promise<Source>;
  /** Close a source: its senders get 410 */
  close(name: string, options?: ChangeOptions): Promise<Source>;
  /** Rotate the secret of a source. The new secret is the current one at once. Earlier secrets stay valid until the overlap ends. */
  rotateSecret(name: string, body?: SourcesRotateSecretBody, options?: RequestOptions): Promise<SourceWithSecret>;
  /** Delete a secret of a source at once */
  deleteSecret(name: string, id: string, options?: RequestOptions): Promise<Source>;
  /** Get the webhook path of a source. The gateway logs that the path was read. */
  getPathToken(name: string, options?: RequestOptions): Promise<SourcesGetPathTokenAnswer>;
  /** List the parked messages of a source. Messages are listed oldest first, without bodies. `limits` says what this broker cannot do. Only for keys that are not bound to a tenant. */
  listParked(name: string, query?: SourcesListParkedQuery, options?: RequestOptions): Pages<ParkedMessage, SourcesListParkedPage>;
  /** Get a parked message. Only for keys that are not bound to a tenant. */
  getParked(name: string, id: string, options?: RequestOptions): Promise<SourcesGetParkedAnswer>;
  /** Requeue parked messages. Each message is first put into the queue that it came from, then removed here. If this is interrupted, the message is in both queues; it is never lost. At most 500 in one call; `complete` is false when there may be more. Only for keys that are not bound to a tenant. */
  requeueParked(name: string, body: SourcesRequeueParkedBody, options?: RequestOptions): Promise<SourcesRequeueParkedAnswer>;
  /** Delete parked messages. `count` must be the number of messages that match. Otherwise the answer is 409 with the right number, and nothing is deleted. Only for keys that are not bound to a tenant. */
  purgeParked(name: string, body: SourcesPurgeParkedBody, options?: RequestOptions): Promise<SourcesPurgeParkedAnswer>;
}

export interface StatsResource {
  /** Get received events and attempts over time */
  getSeries(query?: StatsGetSeriesQuery, options?: RequestOptions): Promise<StatisticsSeries>;
  /** Get statistics of the gateway or of one tenant */
  get(query?: StatsGetQuery, options?: RequestOptions): Promise<Statistics>;
}

export interface SubscriptionsResource {
  /** Recover events that a subscription missed, as a job. For use after an outage of the destination. Replays its dead letters and, with `include`, also events that it never got. */
  recover(id: string, body: SubscriptionsRecoverBody, options?: CreateOptions): Promise<ReplayPlan | Replay>;
  /** List subscriptions */
  list(query?: SubscriptionsListQuery, options?: RequestOptions): Pages<Subscription>;
  /** Create a subscription. The body may also be another program's model of a webhook: an `id` is kept, `tenant_id` may be an integer, `description` null and `status` `suspended` (which becomes `inactive`); `created_at`, `updated_at` and `created_by` are ignored, and `warnings` says so. */
  create(body: SubscriptionInput, options?: CreateOptions): Promise<SubscriptionWithSecret>;
  /** Get a subscription */
  get(id: string, options?: RequestOptions): Promise<Subscription>;
  /** Create or replace a subscription. Replaces the subscription, or creates it with the id in the path; then the answer is 201 with its secret. */
  put(id: string, body: SubscriptionInput, options?: ChangeOptions): Promise<Subscription | SubscriptionWithSecret>;
  /** Update a subscription. The change affects deliveries whose next attempt has not started. */
  update(id: string, body: SubscriptionChange, options?: ChangeOptions): Promise<Subscription>;
  /** Delete a subscription */
  delete(id: string, options?: ChangeOptions): Promise<SubscriptionsDeleteAnswer>;
  /** Show what replacing a subscription would change. Checks the same as PUT, but saves nothing. For secrets, the answer says only whether they would change. */
  plan(id: string, body: SubscriptionInput, options?: RequestOptions): Promise<Plan>;
  /** Pause a subscription. Deliveries wait until the subscription is resumed; none is lost. */
  pause(id: string, options?: ChangeOptions): Promise<Subscription>;
  /** Resume a subscription, with or without its held deliveries */
  resume(id: string, body?: SubscriptionsResumeBody, options?: ChangeOptions): Promise<ResumedSubscription>;
  /** Get success rates and latencies of a subscription */
  getStats(id: string, options?: RequestOptions): Promise<SubscriptionStatistics>;
  /** Send a test event. Sends a `test.event` to this subscription only, whatever its event types and filter are, also while it is suspended. There is one attempt, and a failure does not count against the destination. */
  test(id: string, options?: RequestOptions): Promise<TestAttempt | Delivery>;
  /** Preview the request of an event. Shows the request of the first attempt, in the subscription's format and signed with its current secrets. Nothing is sent. Credentials for the destination are left out, and values of headers that the subscription sets are masked. */
  preview(id: string, body: SubscriptionsPreviewBody, options?: RequestOptions): Promise<RequestPreview>;
  /** Send waiting deliveries now, whatever the mode. Sends waiting deliveries in batches until none is left or one fails. Retries that are due later are sent now, too. */
  drain(id: string, options?: RequestOptions): Promise<SubscriptionsDrainAnswer>;
  /** Rotate the secret of a subscription. Deliveries are signed with both secrets until the overlap ends. The header with a single signature uses the old secret until the rotation is confirmed. */
  rotateSecret(id: string, body?: SubscriptionsRotateSecretBody, options?: RequestOptions): Promise<RotationWithSecret>;
  /** Confirm a rotation */
  confirmRotation(id: string, body?: SubscriptionsConfirmRotationBody, options?: RequestOptions): Promise<Rotation>;
  /** End the overlap of a rotation now */
  endRotation(id: string, options?: RequestOptions): Promise<Rotation>;
  /** Get the secrets of a subscription. Each call is logged. */
  getSecret(id: string, options?: RequestOptions): Promise<Secrets>;
  /** List the status changes of a subscription, latest first */
  listHistory(id: string, query?: SubscriptionsListHistoryQuery, options?: RequestOptions): Pages<SubscriptionsListHistoryItem>;
}

export interface TargetsResource {
  /** List targets */
  list(query?: TargetsListQuery, options?: RequestOptions): Pages<Target>;
  /** Create a target that subscriptions share. Subscriptions refer to the target by its name in `target`. */
  create(body: TargetInput, options?: CreateOptions): Promise<Target>;
  /** Get a target. `name` is the name of the target. For a target that belongs to one subscription, that subscription's id works, too. */
  get(name: string, query?: TargetsGetQuery, options?: RequestOptions): Promise<Target>;
  /** Create or replace a target */
  put(name: string, body: TargetsPutBody, options?: ChangeOptions): Promise<Target>;
  /** Update a target. Only the fields that you send are changed; null removes a setting. */
  update(name: string, body: TargetChange, query?: TargetsUpdateQuery, options?: ChangeOptions): Promise<Target>;
  /** Delete a target that no subscription uses */
  delete(name: string, query?: TargetsDeleteQuery, options?: ChangeOptions): Promise<TargetsDeleteAnswer>;
  /** Show what replacing a target would change. Checks the same as PUT, but saves nothing. For secrets, the answer says only whether they would change. */
  plan(name: string, body: TargetsPlanBody, options?: RequestOptions): Promise<Plan>;
  /** Set the mode of a target. In `QUEUE` nothing is sent until the mode is `auto`, except by `drain`. In `NORMAL` everything is sent, however often attempts fail. */
  setMode(name: string, body: TargetsSetModeBody, query?: TargetsSetModeQuery, options?: RequestOptions): Promise<Target>;
}

export interface TemplatesResource {
  /** Preview templates with an event. Renders the templates of a subscription, of settings that are not saved yet, or any others. The event is one that you describe, or a stored one. Nothing is stored or sent. */
  preview(body: TemplatesPreviewBody, options?: RequestOptions): Promise<TemplatesPreviewAnswer>;
}

export interface TenantsResource {
  /** Create a portal link for a tenant. Anybody with the link sees the events, subscriptions and deliveries of this tenant only, and the catalogue. It cannot publish events, nor erase or edit them. The link works until it expires or is revoked, the key that created it is revoked, or the tenant is deleted or erased. It never allows more than that key. Sites in `portal.frame_origins` may show the page in a frame. Only for keys that are not bound to a tenant. */
  portalLink(id: string, body?: TenantsPortalLinkBody, options?: RequestOptions): Promise<PortalLink>;
  /** List the portal links of a tenant. Only for keys that are not bound to a tenant. */
  listPortalLinks(id: string, options?: RequestOptions): Promise<TenantsListPortalLinksAnswer>;
  /** Revoke a portal link. The link ends at once; a live stream that was opened with it within 15 seconds. Only for keys that are not bound to a tenant. */
  deletePortalLink(id: string, link: string, options?: RequestOptions): Promise<void>;
  /** List tenants. Only for keys that are not bound to a tenant. */
  list(query?: TenantsListQuery, options?: RequestOptions): Pages<Tenant>;
  /** Create a tenant. Only for keys that are not bound to a tenant. */
  create(body: TenantInput, options?: CreateOptions): Promise<Tenant>;
  /** Get a tenant. Only for keys that are not bound to a tenant. */
  get(id: string, options?: RequestOptions): Promise<Tenant>;
  /** Create or replace a tenant. Only for keys that are not bound to a tenant. */
  put(id: string, body: TenantsPutBody, options?: ChangeOptions): Promise<Tenant>;
  /** Update a tenant. Only for keys that are not bound to a tenant. */
  update(id: string, body: TenantSettings, options?: ChangeOptions): Promise<Tenant>;
  /** Delete a tenant. Only a tenant without subscriptions and active keys can be deleted. Its events stay in the log. Only for keys that are not bound to a tenant. */
  delete(id: string, options?: ChangeOptions): Promise<TenantsDeleteAnswer>;
  /** Show what replacing a tenant would change. Checks the same as PUT, but saves nothing. For secrets, the answer says only whether they would change. Only for keys that are not bound to a tenant. */
  plan(id: string, body: TenantsPlanBody, options?: RequestOptions): Promise<Plan>;
  /** Erase a tenant and all its data. The tenant becomes inactive at once. Its configuration, events and requests are erased, and the content of its audit log entries. Repeated calls return the running erasure. The tenant `default` cannot be erased. Only for keys that are not bound to a tenant. */
  erase(id: string, body: TenantsEraseBody, options?: RequestOptions): Promise<TenantErasure>;
  /** Get the progress of a tenant's erasure. Only for keys that are not bound to a tenant. */
  getErasure(id: string, options?: RequestOptions): Promise<TenantErasure>;
}

export interface ValidationsResource {
  /** List validations. Only for keys that are not bound to a tenant. */
  list(query?: ValidationsListQuery, options?: RequestOptions): Pages<Validation>;
  /** Get a validation. The document exactly as it was uploaded: JSON, or XML when the endpoint has an XML Schema and you ask for it. Only for keys that are not bound to a tenant. */
  get(endpoint: string, query?: ValidationsGetQuery, options?: RequestOptions): Promise<Record<string, unknown>>;
  /** Delete a validation. Deletes both formats, or the one that you name. The deletion is a version, too, so it can be rolled back. Only for keys that are not bound to a tenant. */
  delete(endpoint: string, query?: ValidationsDeleteQuery, options?: ChangeOptions): Promise<void>;
  /** Create or replace a validation. The document is compiled first and then takes effect at once. An invalid document is rejected, and the previous one stays. Only for keys that are not bound to a tenant. */
  put(endpoint: string, body: Payload, options?: ChangeOptions & UploadOptions): Promise<ValidationsPutAnswer>;
  /** List the versions of a validation. Only for keys that are not bound to a tenant. */
  listVersions(endpoint: string, query?: ValidationsListVersionsQuery, options?: RequestOptions): Pages<ValidationVersion>;
  /** Roll a validation back to an earlier version. Only for keys that are not bound to a tenant. */
  rollback(endpoint: string, body: ValidationsRollbackBody, options?: ChangeOptions): Promise<ValidationsRollbackAnswer>;
  /** Test a validation. Shows how a webhook would be validated. Nothing is stored. Only for keys that are not bound to a tenant. */
  test(endpoint: string, body: Payload, query?: ValidationsTestQuery, options?: UploadOptions): Promise<ValidationTryOut>;
}

export interface WebhooksResource {
  /** Send a webhook to a source. The body is kept byte for byte, whatever its content type; JSON and XML must be well-formed. The answer is sent after the event is on disk; if a subscription forwards it, after the first attempt or ten seconds. Methods other than POST are accepted if the source allows them. */
  send(source: string, body: Payload, options?: UploadOptions): Promise<WebhooksSendAnswer | WebhooksSendAnswer2>;
  /** Send a webhook to a path below a source. The body is kept byte for byte, whatever its content type; JSON and XML must be well-formed. The answer is sent after the event is on disk; if a subscription forwards it, after the first attempt or ten seconds. Methods other than POST are accepted if the source allows them. */
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
      listGroups: (query, options) => call.json("GET", "/api/v1/dead-letters/groups", { query }, options),
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
    sessions: {
      delete: (key_id, options) => call.json("DELETE", path`/api/v1/sessions/${key_id}`, {}, options),
    },
    signIn: {
      get: (options) => call.json("GET", "/api/v1/sign-in", {}, options),
    },
    smartsheet: {
      listWebhooks: (query, options) => call.json("GET", "/api/v1/smartsheet/webhooks", { query }, options),
      registerWebhooks: (body, options) => call.json("POST", "/api/v1/smartsheet/webhooks/register", { body }, options),
      cleanupWebhooks: (body, options) => call.json("POST", "/api/v1/smartsheet/webhooks/cleanup", { body }, options),
    },
    sourceKinds: {
      list: (options) => call.json("GET", "/api/v1/source-kinds", {}, options),
    },
    sourceQueues: {
      list: (options) => call.json("GET", "/api/v1/source-queues", {}, options),
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
      listPortalLinks: (id, options) => call.json("GET", path`/api/v1/tenants/${id}/portal-links`, {}, options),
      deletePortalLink: (id, link, options) => call.json("DELETE", path`/api/v1/tenants/${id}/portal-links/${link}`, {}, options),
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
