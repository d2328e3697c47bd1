// Made by scripts/write-sdk-client.ts from the gateway's routes. Do not edit.

/** What went wrong (RFC 9457) */
export interface Problem {
  /** `urn:posthorn:error:` and the code */
  type: string;
  title: string;
  status: number;
  /** Stable; each is explained in docs/reference/errors.md */
  code: "bad_request" | "unreadable_body" | "ambiguous_length" | "unauthorized" | "bad_signature" | "forbidden" | "other_origin" | "insecure_sign_in" | "address_not_allowed" | "unknown_webhook" | "not_found" | "unknown_source" | "method_not_allowed" | "request_timeout" | "conflict" | "managed_by_config" | "subscription_quota" | "key_limit" | "illegal_transition" | "confirmation_required" | "newer_format" | "idempotency_key_reused" | "gone" | "precondition_failed" | "too_large" | "unsupported_encoding" | "unsupported_content_type" | "invalid_field" | "schema_mismatch" | "validation_failed" | "validation_not_found" | "invalid_validation" | "unknown_version" | "headers_too_large" | "too_many_requests" | "quota_exceeded" | "internal_error" | "broker_failed" | "smartsheet_failed" | "loop" | "unavailable" | "overloaded" | "store_full" | "shutting_down" | "source_paused" | "tenant_throttled" | "tenant_over_quota" | "tenant_inactive" | "config_invalid" | "data_dir_in_use" | "data_dir_not_writable" | "port_in_use" | "store_corrupt" | "store_unsafe";
  /** What was wrong, with which value, and what to do */
  detail: string;
  /** The field at fault */
  field?: string | undefined;
  request_id?: string | undefined;
  [member: string]: unknown;
}

export interface PublishInput {
  /** What happened: words parted by dots */
  event_type: string;
  /** The event itself; delivered byte for byte as it is written here */
  payload: Record<string, unknown>;
  /** Unique per tenant: publishing it again changes nothing. Made by the gateway when not given */
  event_id?: string | null | undefined;
  /** Version of the payload's schema. Default: `"1.0"` */
  event_version?: string | null | undefined;
  /** Which system says so. Default: `"api"` */
  source?: string | null | undefined;
  /** What it is called there */
  source_id?: string | null | undefined;
  /** Whose event it is. Only a key without a tenant may say; else it is the key's, or `default` */
  tenant_id?: string | number | null | undefined;
  /** Who caused it */
  user_id?: string | number | null | undefined;
  /** During which session */
  session_id?: string | null | undefined;
  /** When it happened; when it arrived, if not given */
  timestamp?: string | number | null | undefined;
  /** Taken, because producers write out their whole model; what counts is when the gateway has it on disk */
  published_at?: string | null | undefined;
  /** Which waiting deliveries go first. Default: `"normal"` */
  priority?: "critical" | "high" | "normal" | "low" | null | undefined;
  /** Events with the same key reach an ordered subscription in the order in which they were accepted */
  ordering_key?: string | null | undefined;
  /** Not delivered before this time (RFC 3339) */
  deliver_at?: string | null | undefined;
  /** What is undelivered at this time (RFC 3339) becomes a dead letter */
  expires_at?: string | null | undefined;
  /** More about the event, for filters and readers */
  metadata?: Record<string, unknown> | null | undefined;
}

export interface Published {
  event_id: string;
  deliveries: number;
  /** It was known already, and nothing has changed */
  duplicate: boolean;
}

export interface Readiness {
  version: string;
  status: "ok" | "degraded" | "overloaded" | "stopping";
  store: {
    driver: string;
    version: string;
    sync_mode: string;
  };
  queue: {
    driver: string;
  };
  disk: {
    status: "ok" | "low";
    free_bytes: number;
  };
  /** To brokers */
  connections: ({
    kind: string;
    name: string;
    /** `unused` until something takes from it or sends to it */
    state: "unused" | "connecting" | "connected" | "failed";
  })[];
}

export interface Status {
  /** `QUEUE` while it is down and deliveries wait */
  mode: "NORMAL" | "QUEUE";
  /** All open deliveries, and what waits in the queues that forwards fall back to */
  queue_length: number;
  last_error: string | null;
  health: "ok" | "error";
  /** Seconds for which the oldest open delivery has waited; null without one */
  oldest_open_s: number | null;
  /** `GET /api/v1/alerts` says which */
  active_alerts: number;
  targets: ({
    name: string;
    /** `QUEUE` while it is down and deliveries wait */
    mode: "NORMAL" | "QUEUE";
    since: string | null;
    reason: string | null;
    health: "ok" | "error";
    queue_length: number;
    /** In a row */
    failures: number;
    last_error: string | null;
    /** Attempts per second that it is held to; null for no limit */
    rate_per_s: number | null;
  })[];
  /** Only those with a secret or token that can be guessed, from a version that took it; and those whose queue cannot be taken from */
  sources: ({
    name: string;
    /** `error`: nobody can be verified, and every sender gets 401; or nothing can be taken from its queue */
    health: "ok" | "error";
    /** Which of its secrets do not count, and why; or what is wrong with its queue */
    reason: string;
  })[];
  /** To brokers; none with a key that is bound to a tenant */
  connections: ({
    kind: string;
    name: string;
    /** `unused` until something takes from it or sends to it */
    state: "unused" | "connecting" | "connected" | "failed";
    /** Why it is away, and what to do */
    reason: string | null;
    next_try_at: string | null;
  })[];
  /** Subscriptions that hold what they have until they are resumed */
  suspended: ({
    id: string;
    subscription: string;
    since: string | null;
    reason: string | null;
  })[];
  /** What comes from these waits: for n8n, their workflows are not active */
  missing_sources: {
    source: string;
    /** Whose target does not know the source, and is well otherwise */
    subscription: string;
    since: string;
    next_try_at: string;
    last_error: string;
  }[];
  retention: {
    /** How long events are kept; null for ever */
    days: number | null;
    oldest_event_at: string | null;
    /** About how many are to be deleted now */
    due_events: number | null;
    complete_until: string | null;
    /** For how long some of these have been due */
    behind_s: number | null;
    /** By the speed of the last run */
    remaining_s: number | null;
    running: boolean;
    last_run_at: string | null;
    last_result: string | null;
  };
}

export interface Session {
  /** The key that it stands for */
  key_id: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that it is bound to; null for all of them */
  tenant_id: string | null;
  /** Of the gateway */
  version: string;
  expires_at: string | null;
  /** How the page for partners looks; null for everybody else */
  portal: {
    name: string;
    /** A colour, `#rrggbb` */
    accent: string | null;
  } | null;
}

export interface PortalLink {
  url: string;
  tenant_id: string;
  access: "read" | "manage";
  expires_at: string;
}

/** An immutable fact */
export interface Event {
  event_id: string;
  event_type: string;
  event_version: string;
  source: string;
  source_id?: string | undefined;
  tenant_id: string;
  user_id?: string | undefined;
  session_id?: string | undefined;
  priority: "critical" | "high" | "normal" | "low";
  ordering_key: string | null;
  timestamp: string;
  deliver_at?: string | undefined;
  expires_at?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  status: "PENDING" | "COMPLETED" | "FAILED";
  /** Nobody had asked for it */
  unmatched: boolean;
  received_at: string;
  /** When it was on disk */
  published_at: string;
  content_type: string | null;
  /** Of the body, in bytes */
  size: number;
  /** Somebody had its body erased then */
  body_erased_at: string | null;
  /** How many values were replaced before it was stored */
  masked: number;
  /** The event that this one was edited from */
  replay_of?: string | undefined;
  schema_result: {
    valid: boolean;
    errors?: {
      path: string;
      message: string;
    }[] | undefined;
  } | null;
  headers?: Record<string, string | string[]> | undefined;
  delivery_count: number;
}

export interface EventWithDeliveries extends Event {
  /** Of a received webhook */
  request?: {
    method: string;
    path: string;
    query: string;
  } | undefined;
  deliveries: Delivery[];
  /** The body: JSON as it came in, other text as a string */
  payload?: unknown;
  /** A body that is no text */
  payload_base64?: string | undefined;
}

/** One event for one subscription */
export interface Delivery {
  id: string;
  event_id: string;
  event_type: string;
  tenant_id: string;
  subscription_id: string;
  /** As it is called now; null when it was deleted */
  subscription_name: string | null;
  status: "pending" | "sending" | "delivered" | "dead" | "cancelled";
  /** Why it waits; `unknown_kind`: this release does not know the kind of its destination; `queue_mode`: an operator said so; `throttled` is told only of a test */
  hold_reason: "paused" | "suspended" | "unknown_kind" | "destination_down" | "queue_mode" | "ordering_key" | "throttled" | null;
  /** One more with every replay */
  generation: number;
  attempt_count: number;
  next_attempt_at: string | null;
  last_error: string | null;
  dead_reason: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | null;
  created_at: string;
  completed_at: string | null;
}

export interface ExportedEvent extends Event {
  /** The body: JSON as it came in, other text as a string */
  payload?: unknown;
  /** A body that is no text */
  payload_base64?: string | undefined;
}

export interface StreamEvent extends Event {
  /** Of a received webhook */
  request?: {
    method: string;
    path: string;
    query: string;
  } | undefined;
  /** The body: JSON as it came in, other text as a string */
  payload?: unknown;
  /** A body that is no text */
  payload_base64?: string | undefined;
  /** With `body`: it is larger than 256 KiB; read the event for it */
  payload_omitted?: boolean | undefined;
}

export interface StreamAttempt extends Delivery {
  /** Null where the subscription was deleted */
  subscription_name: string | null;
  /** Of the event */
  source: string;
  attempt: {
    number: number;
    started_at: string;
    duration_ms: number;
    result: "success" | "failed" | "timeout" | "connection_error" | "blocked" | "error";
    response_code: number | null;
    error: string | null;
    trigger: "first" | "retry" | "manual" | "replay";
  };
}

export interface StreamReady {
  /** Where the stream begins */
  position: string;
}

export interface StreamGap {
  /** `deleted`: events that lay in between are gone, by retention or by hand; `unknown_position`: the id is of another store, or of one that was put back from a backup since, and the stream begins with what comes next */
  reason: "deleted" | "unknown_position";
  /** Nothing that came in since then is missing; null: as of now */
  complete_since: string | null;
}

export interface StreamDropped {
  reason: "too_slow" | "stalled" | "key_revoked" | "store_fault";
  detail: string;
}

export interface StreamEnd {
  /** `caught_up`: only with `follow=false` */
  reason: "shutting_down" | "caught_up";
}

export interface DeliveryWithAttempts extends Delivery {
  attempts: Attempt[];
}

export interface Attempt {
  number: number;
  started_at: string;
  duration_ms: number;
  result: "success" | "failed" | "timeout" | "connection_error" | "blocked" | "error";
  url: string | null;
  /** Which the name resolved to */
  address: string | null;
  request_headers: Record<string, string | string[]> | null;
  response_code: number | null;
  response_headers: Record<string, string | string[]> | null;
  /** Its first 8 KB */
  response_body: string | null;
  record?: Record<string, unknown> | null | undefined;
  error: string | null;
  trigger: "first" | "retry" | "manual" | "replay";
}

/** Work on many deliveries at once, as a job that survives restarts */
export interface Replay {
  id: string;
  kind: "dead_letters" | "events" | "recover" | "cancel" | "purge";
  status: "running" | "paused" | "completed" | "cancelled" | "failed";
  /** Null: of all tenants */
  tenant_id: string | null;
  filter: ReplayFilter;
  /** Deliveries that it found, counted when it began */
  total: number;
  /** False: there were more than could be counted in time */
  total_exact: boolean;
  done: number;
  /** Changed by somebody else meanwhile */
  skipped: number;
  /** Their subscription is gone */
  failed: number;
  /** Why it has the status `failed` */
  error: string | null;
  created_at: string;
  started_at: string;
  completed_at: string | null;
}

/** As it was asked for */
export interface ReplayFilter {
  /** Only deliveries for this subscription */
  subscription_id?: string | undefined;
  /** Only of this tenant (for keys that are bound to none) */
  tenant_id?: string | undefined;
  /** Exactly this type */
  event_type?: string | undefined;
  /** Only events from this source */
  source?: string | undefined;
  /** Why it is dead */
  reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
  /** Not what is being sent right now */
  status?: "pending" | undefined;
  /** Its dead letters, events that it never had, or both. Default: `"failed"` */
  include?: "failed" | "missing" | "all" | undefined;
  /** Received since then; for dead letters: dead since then */
  since?: string | undefined;
  /** Before then */
  until?: string | undefined;
}

/** What a replay would be about */
export interface ReplayPlan {
  kind: "dead_letters" | "events" | "recover" | "cancel" | "purge";
  filter: ReplayFilter;
  count: number;
  /** False: there are at least so many */
  exact: boolean;
}

/** One inbound HTTP request; secrets in its headers are masked */
export interface Request {
  id: string;
  source: string;
  received_at: string;
  remote_address: string;
  method: string;
  path: string;
  query: string;
  headers: Record<string, string | string[]>;
  size: number;
  outcome: "accepted" | "rejected" | "ignored";
  /** The code of the error; or `duplicate`, `filtered`, `invalid`, or what its kind says */
  cause: string | null;
  events: ({
    event_id: string | null;
    outcome: "accepted" | "rejected" | "ignored";
    /** The code of the error; or `duplicate`, `filtered`, `invalid`, or what its kind says */
    cause: string | null;
  })[];
  replayed_at: string | null;
  /** The id of the key */
  replayed_by: string | null;
  replay_event_ids: string[];
}

export interface Source {
  name: string;
  /** Who sends: says how a request is verified, answered, split and identified */
  kind: string;
  tenant_id: string;
  /** `paused` answers 503, `closed` 410 */
  status: "active" | "paused" | "closed";
  /** Those that count now, without what they are */
  secrets: ({
    id: string;
    current: boolean;
    /** Its last characters */
    hint: string;
    created_at: string;
    ends_at: string | null;
  })[];
  /** A header that must hold this token, else 401 */
  auth: {
    header: string;
    /** Shown masked */
    token: string;
  } | null;
  /** CIDRs that the sender's address must lie in, else 403 */
  allowed_ips: string[] | null;
  /** Larger bodies get 413. Without it: `limits.max_body_bytes`, or what the kind's provider may send */
  max_bytes: number;
  methods: ("POST" | "PUT" | "PATCH" | "DELETE" | "GET")[];
  /** Media types that are taken (`application/json`, `text/*`), else 415 */
  content_types: string[] | null;
  /** Seconds in which the sender must have its answer */
  answer_within: number | null;
  /** Null: as its kind says */
  event_type: string | null;
  /** `header:NAME` or `body:/json/pointer` */
  id_from: string | null;
  /** `header:NAME` or `body:/json/pointer` */
  ordering_key_from: string | null;
  /** `header:NAME` or `body:/json/pointer` */
  priority_from: string | null;
  /** Patterns of the event types that are let through, with the kind's name in front or without */
  only: string[] | null;
  /** What the sender's ids must be found in: a path, or the document itself; for kinds that know one */
  manifest: string | Record<string, unknown> | null;
  /** An equal signature is the same request sent again under another id, and ignored (`replayed`); for kinds whose signature covers no id. Two webhooks with the same bytes are then one */
  refuse_replays: boolean;
  /** JSON Pointers and `header:NAME`: their values are stored and delivered as `"***"`. The signature is verified before */
  mask: string[];
  /** Masked, but in the answer to create */
  path_token: string | null;
  /** Settings of the kind */
  options: Record<string, unknown>;
  /** Who may change it; `contact`: it is one of its tenant, and changed there */
  managed_by: "api" | "config" | "former_config" | "contact";
  created_at: string;
  updated_at: string;
  last_request_at: string | null;
}

export interface SourceInput {
  name: string;
  /** Who sends: says how a request is verified, answered, split and identified. Default: `"generic"` */
  kind?: string | undefined;
  /** Default: `"default"` */
  tenant_id?: string | undefined;
  /** `paused` answers 503, `closed` 410. Default: `"active"` */
  status?: "active" | "paused" | "closed" | undefined;
  /** What requests are verified with; all of them count, the first is current. Never shown */
  secrets?: string[] | undefined;
  /** A header that must hold this token, else 401 */
  auth?: {
    header: string;
    /** Shown masked */
    token: string;
  } | null | undefined;
  /** CIDRs that the sender's address must lie in, else 403 */
  allowed_ips?: string[] | null | undefined;
  /** Larger bodies get 413. Without it: `limits.max_body_bytes`, or what the kind's provider may send. Default: `2097152` */
  max_bytes?: number | undefined;
  /** Default: `["POST"]` */
  methods?: ("POST" | "PUT" | "PATCH" | "DELETE" | "GET")[] | undefined;
  /** Media types that are taken (`application/json`, `text/*`), else 415 */
  content_types?: string[] | null | undefined;
  /** Seconds in which the sender must have its answer */
  answer_within?: number | null | undefined;
  /** `{source}` stands for the source's name, `{type}` for the type that its kind finds; kinds that find one have the default `{type}`. Default: `"webhook.{source}"` */
  event_type?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  id_from?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  ordering_key_from?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  priority_from?: string | undefined;
  /** Patterns of the event types that are let through, with the kind's name in front or without */
  only?: string[] | null | undefined;
  /** What the sender's ids must be found in: a path, or the document itself; for kinds that know one */
  manifest?: string | Record<string, unknown> | null | undefined;
  /** An equal signature is the same request sent again under another id, and ignored (`replayed`); for kinds whose signature covers no id. Two webhooks with the same bytes are then one. Default: `false` */
  refuse_replays?: boolean | undefined;
  /** JSON Pointers and `header:NAME`: their values are stored and delivered as `"***"`. The signature is verified before. Default: `[]` */
  mask?: string[] | undefined;
  /** Webhooks come to `/webhook/NAME/TOKEN` only; `true` makes a token */
  path_token?: boolean | string | null | undefined;
  /** Settings of the kind. Default: `{}` */
  options?: Record<string, unknown> | undefined;
}

export interface Plan {
  /** Which of them PUT would do */
  act: "update" | "create" | "none";
  /** What would be different; all that is set of one that would be new */
  changes: {
    field: string;
    /** Null where it would be new */
    before: unknown;
    after: unknown;
  }[];
  secrets_changed: boolean;
}

export interface SourceChange {
  /** Who sends: says how a request is verified, answered, split and identified. Default: `"generic"` */
  kind?: string | undefined;
  /** `paused` answers 503, `closed` 410. Default: `"active"` */
  status?: "active" | "paused" | "closed" | undefined;
  /** What requests are verified with; all of them count, the first is current. Never shown */
  secrets?: string[] | undefined;
  /** A header that must hold this token, else 401 */
  auth?: {
    header: string;
    /** Shown masked */
    token: string;
  } | null | undefined;
  /** CIDRs that the sender's address must lie in, else 403 */
  allowed_ips?: string[] | null | undefined;
  /** Larger bodies get 413. Without it: `limits.max_body_bytes`, or what the kind's provider may send. Default: `2097152` */
  max_bytes?: number | undefined;
  /** Default: `["POST"]` */
  methods?: ("POST" | "PUT" | "PATCH" | "DELETE" | "GET")[] | undefined;
  /** Media types that are taken (`application/json`, `text/*`), else 415 */
  content_types?: string[] | null | undefined;
  /** Seconds in which the sender must have its answer */
  answer_within?: number | null | undefined;
  /** `{source}` stands for the source's name, `{type}` for the type that its kind finds; kinds that find one have the default `{type}`. Default: `"webhook.{source}"` */
  event_type?: string | null | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  id_from?: string | null | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  ordering_key_from?: string | null | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  priority_from?: string | null | undefined;
  /** Patterns of the event types that are let through, with the kind's name in front or without */
  only?: string[] | null | undefined;
  /** What the sender's ids must be found in: a path, or the document itself; for kinds that know one */
  manifest?: string | Record<string, unknown> | null | undefined;
  /** An equal signature is the same request sent again under another id, and ignored (`replayed`); for kinds whose signature covers no id. Two webhooks with the same bytes are then one. Default: `false` */
  refuse_replays?: boolean | undefined;
  /** JSON Pointers and `header:NAME`: their values are stored and delivered as `"***"`. The signature is verified before. Default: `[]` */
  mask?: string[] | undefined;
  /** Webhooks come to `/webhook/NAME/TOKEN` only; `true` makes a token */
  path_token?: boolean | string | null | undefined;
  /** Settings of the kind. Default: `{}` */
  options?: Record<string, unknown> | undefined;
}

export interface SourceWithSecret extends Source {
  secret: string;
}

/** Who wants which events, and where they go */
export interface Subscription {
  id: string;
  /** A name for people; unique per tenant */
  name: string;
  tenant_id: string;
  kind: "http" | "email" | "sms" | "batch" | "amqp" | "azure-service-bus" | "azure-storage-queue";
  /** Of kinds whose settings do not stand beside it */
  destination?: Record<string, unknown> | undefined;
  /** Topic patterns: `*` is one word, `#` any number of words; a lone `*` means everything. None for the `fallback` of another subscription, and for nothing else */
  events: string[];
  /** Patterns of the names of sources whose events are meant; null for all */
  sources: string[] | null;
  /** Which of these events: conditions on `data`, `headers` and so on, as an object or as JSON text */
  event_filter: Record<string, unknown> | string | null;
  status: "active" | "inactive" | "suspended";
  /** Sign with a key pair too (`v1a` of Standard Webhooks); the public key is shown */
  ed25519: boolean;
  /** A named policy, or the waits in seconds between one attempt and the next */
  retry_policy?: "standard" | "dairy" | "proxy" | "smartsheet" | {
    delays_s: number[];
  } | undefined;
  /** Retries after the first try */
  retry_count?: number | undefined;
  /** Seconds between tries, with `retry_count` */
  retry_interval?: number | undefined;
  /** Seconds per attempt */
  timeout: number;
  /** Attempts per minute; null for no limit */
  rate_limit: number | null;
  /** Attempts in flight at once */
  concurrency: number;
  /** Strict first-in-first-out for each ordering key */
  ordered: boolean;
  /** What the followers of a dead letter do in an ordered subscription */
  on_dead_head: "block" | "skip";
  /** Older deliveries become dead letters (`expired`) */
  max_age_s: number | null;
  /** A preset (`n8n`), or the name of a target that it shares with others; else it is its own */
  target: string | null;
  /** Seconds between health checks */
  health_interval_s: number;
  /** Failures in a row that lead to QUEUE */
  failures_to_open: number;
  /** Successful health checks in a row that lead back to NORMAL, once all that waits was tried */
  successes_to_close: number;
  /** Suspended when more deliveries than this die in a row; null for never. 10, or null with a health check or `mode: forward` */
  suspend_after_dead: number | null;
  /** Suspended after so many seconds in QUEUE; null for never. 259200 (72 h), or null with a health check or `mode: forward` */
  suspend_after_s: number | null;
  /** Suspended because it was out of reach, it goes on when its health check finds it well */
  resume_when_healthy: boolean;
  /** Names and values for people and programs to find it by */
  labels: Record<string, string>;
  /** `forward`: whoever sends a webhook waits for the first attempt; sub-path, query and method are handed on */
  mode: "queue" | "forward";
  /** With `mode: forward` and a health check: the name of a subscription that leads to a queue. While the target is in QUEUE, and when a forward fails that somebody waits for, the event goes there instead */
  fallback: string | null;
  /** With `fallback`: after so many seconds of good health the target is in NORMAL again although the queue was not seen empty; never where it is `ordered` */
  drain_within_s: number;
  description: string | null;
  /** Where deliveries are sent; `{source}` in its path or query stands for the event's source */
  url?: string | undefined;
  /** `auto`: raw for received webhooks, an envelope for published events; `cloudevents`: 1.0, structured JSON */
  format?: "auto" | "envelope" | "raw" | "cloudevents" | undefined;
  signature_header?: string | undefined;
  /** More answers that count as failures to retry */
  retry_on?: {
    statuses?: number[] | undefined;
    body_contains?: string | undefined;
  } | null | undefined;
  /** Sent with every attempt, but to no other origin; their values are shown to nobody: `***`, which sent back stands for what is stored */
  headers?: Record<string, string> | undefined;
  /** Answers 2xx and `{"status":"ok"}` while the destination is well; asked every minute */
  health_url?: string | null | undefined;
  /** CIDRs that the destination's address must lie in; never opens a private network */
  allowed_ips?: string[] | null | undefined;
  /** How to log in there: `basic` (`username`, `password`), `bearer` (`token`), `oauth2` for client credentials (`token_url`, `client_id`, `client_secret`; perhaps `scope`, `audience`, `client_auth`: `header` or `body`), `mtls` (`cert` and `key` as PEM), or `ca` alone; with each of them `ca`, PEM of the authorities to trust instead of the usual */
  auth?: DestinationAuth | null | undefined;
  /** With `forward`: headers of the request that are handed on; `*` for the usual ones, the default */
  forward_headers?: string[] | null | undefined;
  /** A message for a chat instead of the event: `url` is a webhook of it */
  preset?: "slack" | "teams" | "discord" | null | undefined;
  template?: RequestTemplate | null | undefined;
  /** `cloudevents`: nothing is sent before the destination has said by OPTIONS that it wants deliveries of this gateway, and how many a minute */
  handshake?: "cloudevents" | null | undefined;
  /** Let `url` lead back to this gateway; what goes round is refused after 8 times */
  allow_own_url?: boolean | undefined;
  /** Why nothing is sent: this release does not know its kind */
  held_reason?: string | undefined;
  /** With `handshake` only: what the destination has said since the last change or start */
  handshake_result?: {
    /** `pending`: not answered yet; it is asked again before the next attempt */
    status: "pending" | "accepted" | "refused";
    answered_at: string | null;
    error: string | null;
  } | undefined;
  ed25519_public_key: string | null;
  /** In the answer to a change only: what will not be as it seems */
  warnings?: string[] | undefined;
  /** Who may change it; `contact`: it is one of its tenant, and changed there */
  managed_by: "api" | "config" | "former_config" | "contact";
  /** The key that made it */
  created_by: string | null;
  created_at: string;
  updated_at: string;
  stats: {
    /** Attempts */
    delivery_count: number;
    success_count: number;
    failure_count: number;
    last_delivery: string | null;
    open_count: number;
    dead_count: number;
    /** Null without attempts */
    success_rate_1h: number | null;
    /** Null without attempts */
    success_rate_24h: number | null;
    /** Of the attempts of the last 24 hours */
    latency_p50_ms: number | null;
    /** Of the attempts of the last 24 hours */
    latency_p99_ms: number | null;
  };
}

export interface DestinationAuth {
  type: "basic" | "bearer" | "oauth2" | "mtls" | "ca";
  username?: string | undefined;
  password?: string | undefined;
  token?: string | undefined;
  token_url?: string | undefined;
  client_id?: string | undefined;
  client_secret?: string | undefined;
  client_auth?: "header" | "body" | undefined;
  scope?: string | undefined;
  audience?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  ca?: string | undefined;
}

/** Liquid templates for what is sent; without one, the event itself */
export interface RequestTemplate {
  /** The body; values are escaped as `content_type` says */
  body?: string | undefined;
  /** Of the body: JSON, HTML, or else text. `application/json` when not given */
  content_type?: string | undefined;
  /** More headers. They are shown: what is secret belongs into `headers` */
  headers?: Record<string, string> | undefined;
  /** The whole URL, with the origin of `url`; values may stand in its path and query */
  url?: string | undefined;
}

export interface SubscriptionInput {
  /** A name for people; unique per tenant */
  name: string;
  /** Default: `"default"` */
  tenant_id?: string | undefined;
  /** The kind of destination. Default: `"http"` */
  kind?: string | undefined;
  /** The settings of its kind; those of `http` stand beside the others instead */
  destination?: Record<string, unknown> | undefined;
  /** Topic patterns: `*` is one word, `#` any number of words; a lone `*` means everything. None for the `fallback` of another subscription, and for nothing else */
  events: string[];
  /** Patterns of the names of sources whose events are meant; null for all */
  sources?: string[] | null | undefined;
  /** Which of these events: conditions on `data`, `headers` and so on, as an object or as JSON text */
  event_filter?: Record<string, unknown> | string | null | undefined;
  /** `inactive` holds deliveries until it is `active` again. Default: `"active"` */
  status?: "active" | "inactive" | undefined;
  /** `whsec_` and base64 of 24 to 64 bytes, or a text of 16 to 128 printable characters that the receiver has already; generated when not given; shown only in the answer */
  secret?: string | undefined;
  /** Sign with a key pair too (`v1a` of Standard Webhooks); the public key is shown. Default: `false` */
  ed25519?: boolean | undefined;
  /** A named policy, or the waits in seconds between one attempt and the next */
  retry_policy?: "standard" | "dairy" | "proxy" | "smartsheet" | {
    delays_s: number[];
  } | undefined;
  /** Retries after the first try */
  retry_count?: number | undefined;
  /** Seconds between tries, with `retry_count` */
  retry_interval?: number | undefined;
  /** Seconds per attempt. Default: `30` */
  timeout?: number | undefined;
  /** Attempts per minute; null for no limit */
  rate_limit?: number | null | undefined;
  /** Attempts in flight at once. Default: `32` */
  concurrency?: number | undefined;
  /** Strict first-in-first-out for each ordering key. Default: `false` */
  ordered?: boolean | undefined;
  /** What the followers of a dead letter do in an ordered subscription. Default: `"block"` */
  on_dead_head?: "block" | "skip" | undefined;
  /** Older deliveries become dead letters (`expired`) */
  max_age_s?: number | null | undefined;
  /** A preset (`n8n`), or the name of a target that it shares with others; else it is its own */
  target?: string | null | undefined;
  /** Seconds between health checks. Default: `60` */
  health_interval_s?: number | undefined;
  /** Failures in a row that lead to QUEUE. Default: `3` */
  failures_to_open?: number | undefined;
  /** Successful health checks in a row that lead back to NORMAL, once all that waits was tried. Default: `3` */
  successes_to_close?: number | undefined;
  /** Suspended when more deliveries than this die in a row; null for never. 10, or null with a health check or `mode: forward` */
  suspend_after_dead?: number | null | undefined;
  /** Suspended after so many seconds in QUEUE; null for never. 259200 (72 h), or null with a health check or `mode: forward` */
  suspend_after_s?: number | null | undefined;
  /** Suspended because it was out of reach, it goes on when its health check finds it well. Default: `true` */
  resume_when_healthy?: boolean | undefined;
  /** Names and values for people and programs to find it by. Default: `{}` */
  labels?: Record<string, string> | undefined;
  /** `forward`: whoever sends a webhook waits for the first attempt; sub-path, query and method are handed on. Default: `"queue"` */
  mode?: "queue" | "forward" | undefined;
  /** With `mode: forward` and a health check: the name of a subscription that leads to a queue. While the target is in QUEUE, and when a forward fails that somebody waits for, the event goes there instead */
  fallback?: string | null | undefined;
  /** With `fallback`: after so many seconds of good health the target is in NORMAL again although the queue was not seen empty; never where it is `ordered`. Default: `600` */
  drain_within_s?: number | undefined;
  description?: string | undefined;
  /** Where deliveries are sent; `{source}` in its path or query stands for the event's source */
  url?: string | undefined;
  /** `auto`: raw for received webhooks, an envelope for published events; `cloudevents`: 1.0, structured JSON. Default: `"auto"` */
  format?: "auto" | "envelope" | "raw" | "cloudevents" | undefined;
  /** Default: `"X-Webhook-Signature"` */
  signature_header?: string | undefined;
  /** More answers that count as failures to retry */
  retry_on?: {
    statuses?: number[] | undefined;
    body_contains?: string | undefined;
  } | undefined;
  /** Sent with every attempt, but to no other origin; their values are shown to nobody: `***`, which sent back stands for what is stored. Default: `{}` */
  headers?: Record<string, string> | null | undefined;
  /** Answers 2xx and `{"status":"ok"}` while the destination is well; asked every minute */
  health_url?: string | null | undefined;
  /** CIDRs that the destination's address must lie in; never opens a private network */
  allowed_ips?: string[] | null | undefined;
  /** How to log in there: `basic` (`username`, `password`), `bearer` (`token`), `oauth2` for client credentials (`token_url`, `client_id`, `client_secret`; perhaps `scope`, `audience`, `client_auth`: `header` or `body`), `mtls` (`cert` and `key` as PEM), or `ca` alone; with each of them `ca`, PEM of the authorities to trust instead of the usual */
  auth?: DestinationAuth | null | undefined;
  /** With `forward`: headers of the request that are handed on; `*` for the usual ones, the default */
  forward_headers?: string[] | null | undefined;
  /** A message for a chat instead of the event: `url` is a webhook of it */
  preset?: "slack" | "teams" | "discord" | null | undefined;
  template?: RequestTemplate | null | undefined;
  /** `cloudevents`: nothing is sent before the destination has said by OPTIONS that it wants deliveries of this gateway, and how many a minute */
  handshake?: "cloudevents" | null | undefined;
  /** Let `url` lead back to this gateway; what goes round is refused after 8 times. Default: `false` */
  allow_own_url?: boolean | undefined;
}

export interface HttpDestination {
  /** Where deliveries are sent; `{source}` in its path or query stands for the event's source */
  url: string;
  /** `auto`: raw for received webhooks, an envelope for published events; `cloudevents`: 1.0, structured JSON. Default: `"auto"` */
  format?: "auto" | "envelope" | "raw" | "cloudevents" | undefined;
  /** Default: `"X-Webhook-Signature"` */
  signature_header?: string | undefined;
  /** More answers that count as failures to retry */
  retry_on?: {
    statuses?: number[] | undefined;
    body_contains?: string | undefined;
  } | undefined;
  /** Sent with every attempt, but to no other origin; their values are shown to nobody: `***`, which sent back stands for what is stored. Default: `{}` */
  headers?: Record<string, string> | null | undefined;
  /** Answers 2xx and `{"status":"ok"}` while the destination is well; asked every minute */
  health_url?: string | null | undefined;
  /** CIDRs that the destination's address must lie in; never opens a private network */
  allowed_ips?: string[] | null | undefined;
  /** How to log in there: `basic` (`username`, `password`), `bearer` (`token`), `oauth2` for client credentials (`token_url`, `client_id`, `client_secret`; perhaps `scope`, `audience`, `client_auth`: `header` or `body`), `mtls` (`cert` and `key` as PEM), or `ca` alone; with each of them `ca`, PEM of the authorities to trust instead of the usual */
  auth?: DestinationAuth | null | undefined;
  /** With `forward`: headers of the request that are handed on; `*` for the usual ones, the default */
  forward_headers?: string[] | null | undefined;
  /** A message for a chat instead of the event: `url` is a webhook of it */
  preset?: "slack" | "teams" | "discord" | null | undefined;
  template?: RequestTemplate | null | undefined;
  /** `cloudevents`: nothing is sent before the destination has said by OPTIONS that it wants deliveries of this gateway, and how many a minute */
  handshake?: "cloudevents" | null | undefined;
  /** Let `url` lead back to this gateway; what goes round is refused after 8 times. Default: `false` */
  allow_own_url?: boolean | undefined;
}

export interface EmailDestination {
  /** Who gets it: addresses as `name@example.com` or `Name <name@example.com>`; each may be a template that gives one */
  to?: string | string[] | null | undefined;
  /** Who gets a copy */
  cc?: string | string[] | null | undefined;
  /** Who gets a copy that the others do not see */
  bcc?: string | string[] | null | undefined;
  /** Who gets the answers */
  reply_to?: string | null | undefined;
  /** One line; a template */
  subject?: string | null | undefined;
  /** What it says in plain text; a template */
  text?: string | null | undefined;
  /** The same as HTML; a template, in which values are escaped */
  html?: string | null | undefined;
  /** `payload`: `to`, `subject`, `text` and `html` are taken from the event. Only for keys that are bound to no tenant */
  fields_from?: "payload" | null | undefined;
  /** A URL (`https:` or `mailto:`) to be taken off the list by; a template */
  list_unsubscribe?: string | null | undefined;
}

export interface SmsDestination {
  /** Who sends the message: `twilio` or `generic-http` */
  gateway: "twilio" | "generic-http";
  /** The number that gets it; a template that gives one, or a number */
  to?: string | null | undefined;
  /** What it says; a template */
  text?: string | null | undefined;
  /** Whom it is from: a number, or a name of up to 11 characters */
  from?: string | null | undefined;
  /** `payload`: `to` and `text` are taken from the event. Only for keys that are bound to no tenant */
  fields_from?: "payload" | null | undefined;
  /** Of numbers without `+` and a country code; two letters, as `DE` */
  default_country?: string | null | undefined;
  /** A text that takes more messages than this is not sent. Default: `6` */
  max_segments?: number | undefined;
  /** Twilio: the account */
  account_sid?: string | null | undefined;
  /** Twilio: its secret */
  auth_token?: string | null | undefined;
  /** Twilio: a messaging service instead of `from` */
  messaging_service_sid?: string | null | undefined;
  /** `generic-http`: where messages are sent; a template. `twilio`: another origin than `https://api.twilio.com` */
  url?: string | null | undefined;
  /** `generic-http`. Default: `"POST"` */
  method?: "POST" | "PUT" | "GET" | undefined;
  /** `generic-http`: sent with every message; shown to nobody: `***` */
  headers?: Record<string, string> | null | undefined;
  /** `generic-http`: of `body`, and how values are escaped in it. Default: `"application/json"` */
  content_type?: "application/json" | "application/x-www-form-urlencoded" | "text/xml" | "text/plain" | undefined;
  /** `generic-http`: a template, in which `message.to`, `message.from`, `message.text` and `message.id` stand for the message; without it, an object or a form of these */
  body?: string | null | undefined;
  /** `generic-http`: what an answer must be like beyond its status */
  success?: {
    /** The only answers that count as taken; all 2xx when not given */
    statuses?: number[] | undefined;
    /** A JSON Pointer into the answer: what stands there must fit */
    pointer?: string | undefined;
    equals?: string | number | boolean | null | undefined;
    /** A text in it; without `pointer`, anywhere in the answer */
    contains?: string | undefined;
  } | null | undefined;
}

export interface BatchDestination {
  /** Where batches are posted to */
  url?: string | undefined;
  /** Or a file, by its absolute path inside of `batch_dir`, that rows are appended to; for operators */
  path?: string | undefined;
  /** `ndjson`: a row for each line; `clickhouse`: the same rows as an INSERT through its HTTP interface. Default: `"ndjson"` */
  format?: "ndjson" | "clickhouse" | undefined;
  /** With `clickhouse`: where rows are inserted, `table` or `database.table` */
  table?: string | undefined;
  /** With `clickhouse`: settings of the INSERT, for example `async_insert: 1`. Default: `{}` */
  settings?: Record<string, string | number | boolean> | undefined;
  /** What a row is: the event with its data, or its payload alone. Default: `"event"` */
  rows?: "event" | "payload" | undefined;
  /** Rows that a batch has at most. Default: `500` */
  max_rows?: number | undefined;
  /** Bytes of the events' bodies in a batch at most; one that is larger goes alone. Default: `1048576` */
  max_bytes?: number | undefined;
  /** Seconds that a batch waits for more rows. Default: `1` */
  linger_s?: number | undefined;
  /** Compress what is posted. Default: `false` */
  gzip?: boolean | undefined;
  /** With `path`: size that a file ends at. Default: `67108864` */
  rotate_bytes?: number | undefined;
  /** With `path`: age, in seconds, that a file ends at. Default: `3600` */
  rotate_s?: number | undefined;
  /** More answers that count as failures to retry */
  retry_on?: {
    statuses?: number[] | undefined;
    body_contains?: string | undefined;
  } | undefined;
  /** Sent with every attempt, but to no other origin; their values are shown to nobody: `***`, which sent back stands for what is stored. Default: `{}` */
  headers?: Record<string, string> | null | undefined;
  /** CIDRs that the destination's address must lie in; never opens a private network */
  allowed_ips?: string[] | null | undefined;
  /** Let `url` lead back to this gateway; what goes round is refused after 8 times. Default: `false` */
  allow_own_url?: boolean | undefined;
  /** How to log in there: `basic` (`username`, `password`), `bearer` (`token`), `oauth2` for client credentials (`token_url`, `client_id`, `client_secret`; perhaps `scope`, `audience`, `client_auth`: `header` or `body`), `mtls` (`cert` and `key` as PEM), or `ca` alone; with each of them `ca`, PEM of the authorities to trust instead of the usual */
  auth?: DestinationAuth | null | undefined;
}

export interface AmqpDestination {
  /** The name of the connection to the broker. Default: `"default"` */
  connection?: string | undefined;
  /** `raw`: the event's bytes; `message`: the whole event, for another gateway; `event`: the Event of a bus; `cloudevents`: 1.0, structured JSON. Default: `"raw"` */
  format?: "raw" | "message" | "event" | "cloudevents" | undefined;
  /** With `message`: headers of the request that go along; `*` for the usual ones, the default */
  forward_headers?: string[] | null | undefined;
  /** With `message`: what credentials among the headers are encrypted with; the far gateway has it too. The gateway's own when it is left out */
  message_key?: string | undefined;
  /** An exchange that messages are published to */
  exchange?: string | undefined;
  /** Or a queue that they are put into */
  queue?: string | undefined;
  /** With an exchange; `{event_type}` (the default), `{tenant_id}`, `{source}` and `{priority}` stand for the event's */
  routing_key?: string | undefined;
}

export interface AzureServiceBusDestination {
  /** The name of the connection to the broker. Default: `"default"` */
  connection?: string | undefined;
  /** `raw`: the event's bytes; `message`: the whole event, for another gateway; `event`: the Event of a bus; `cloudevents`: 1.0, structured JSON. Default: `"raw"` */
  format?: "raw" | "message" | "event" | "cloudevents" | undefined;
  /** With `message`: headers of the request that go along; `*` for the usual ones, the default */
  forward_headers?: string[] | null | undefined;
  /** With `message`: what credentials among the headers are encrypted with; the far gateway has it too. The gateway's own when it is left out */
  message_key?: string | undefined;
  /** The queue, or the topic, that messages are put into */
  queue: string;
  /** With `message`: where bodies lie that are too large for the queue */
  claim_check?: {
    /** The name of a connection of the kind azure-storage-queue. Default: `"default"` */
    connection?: string | undefined;
    /** Of Blob storage; it is made when it is missing */
    container: string;
  } | null | undefined;
}

export interface AzureStorageQueueDestination {
  /** The name of the connection to the broker. Default: `"default"` */
  connection?: string | undefined;
  /** `raw`: the event's bytes; `message`: the whole event, for another gateway; `event`: the Event of a bus; `cloudevents`: 1.0, structured JSON. Default: `"raw"` */
  format?: "raw" | "message" | "event" | "cloudevents" | undefined;
  /** With `message`: headers of the request that go along; `*` for the usual ones, the default */
  forward_headers?: string[] | null | undefined;
  /** With `message`: what credentials among the headers are encrypted with; the far gateway has it too. The gateway's own when it is left out */
  message_key?: string | undefined;
  /** The queue that messages are put into */
  queue: string;
  /** With `message`: where bodies lie that are too large for the queue */
  claim_check?: {
    /** The name of a connection of the kind azure-storage-queue. Default: `"default"` */
    connection?: string | undefined;
    /** Of Blob storage; it is made when it is missing */
    container: string;
  } | null | undefined;
}

export interface SubscriptionWithSecret extends Subscription {
  /** Shown here, and by `/secret` */
  secret: string;
}

export interface SubscriptionChange {
  /** A name for people; unique per tenant */
  name?: string | undefined;
  /** The kind of destination. Default: `"http"` */
  kind?: string | undefined;
  /** The settings of its kind; those of `http` stand beside the others instead */
  destination?: Record<string, unknown> | undefined;
  /** Topic patterns: `*` is one word, `#` any number of words; a lone `*` means everything. None for the `fallback` of another subscription, and for nothing else */
  events?: string[] | undefined;
  /** Patterns of the names of sources whose events are meant; null for all */
  sources?: string[] | null | undefined;
  /** Which of these events: conditions on `data`, `headers` and so on, as an object or as JSON text */
  event_filter?: Record<string, unknown> | string | null | undefined;
  /** `inactive` holds deliveries until it is `active` again. Default: `"active"` */
  status?: "active" | "inactive" | undefined;
  /** `whsec_` and base64 of 24 to 64 bytes, or a text of 16 to 128 printable characters that the receiver has already; generated when not given; shown only in the answer */
  secret?: string | undefined;
  /** Sign with a key pair too (`v1a` of Standard Webhooks); the public key is shown. Default: `false` */
  ed25519?: boolean | undefined;
  /** A named policy, or the waits in seconds between one attempt and the next */
  retry_policy?: "standard" | "dairy" | "proxy" | "smartsheet" | {
    delays_s: number[];
  } | undefined;
  /** Retries after the first try */
  retry_count?: number | undefined;
  /** Seconds between tries, with `retry_count` */
  retry_interval?: number | undefined;
  /** Seconds per attempt. Default: `30` */
  timeout?: number | undefined;
  /** Attempts per minute; null for no limit */
  rate_limit?: number | null | undefined;
  /** Attempts in flight at once. Default: `32` */
  concurrency?: number | undefined;
  /** Strict first-in-first-out for each ordering key. Default: `false` */
  ordered?: boolean | undefined;
  /** What the followers of a dead letter do in an ordered subscription. Default: `"block"` */
  on_dead_head?: "block" | "skip" | undefined;
  /** Older deliveries become dead letters (`expired`) */
  max_age_s?: number | null | undefined;
  /** A preset (`n8n`), or the name of a target that it shares with others; else it is its own */
  target?: string | null | undefined;
  /** Seconds between health checks. Default: `60` */
  health_interval_s?: number | undefined;
  /** Failures in a row that lead to QUEUE. Default: `3` */
  failures_to_open?: number | undefined;
  /** Successful health checks in a row that lead back to NORMAL, once all that waits was tried. Default: `3` */
  successes_to_close?: number | undefined;
  /** Suspended when more deliveries than this die in a row; null for never. 10, or null with a health check or `mode: forward` */
  suspend_after_dead?: number | null | undefined;
  /** Suspended after so many seconds in QUEUE; null for never. 259200 (72 h), or null with a health check or `mode: forward` */
  suspend_after_s?: number | null | undefined;
  /** Suspended because it was out of reach, it goes on when its health check finds it well. Default: `true` */
  resume_when_healthy?: boolean | undefined;
  /** Names and values for people and programs to find it by. Default: `{}` */
  labels?: Record<string, string> | undefined;
  /** `forward`: whoever sends a webhook waits for the first attempt; sub-path, query and method are handed on. Default: `"queue"` */
  mode?: "queue" | "forward" | undefined;
  /** With `mode: forward` and a health check: the name of a subscription that leads to a queue. While the target is in QUEUE, and when a forward fails that somebody waits for, the event goes there instead */
  fallback?: string | null | undefined;
  /** With `fallback`: after so many seconds of good health the target is in NORMAL again although the queue was not seen empty; never where it is `ordered`. Default: `600` */
  drain_within_s?: number | undefined;
  description?: string | undefined;
  /** Where deliveries are sent; `{source}` in its path or query stands for the event's source */
  url?: string | undefined;
  /** `auto`: raw for received webhooks, an envelope for published events; `cloudevents`: 1.0, structured JSON. Default: `"auto"` */
  format?: "auto" | "envelope" | "raw" | "cloudevents" | undefined;
  /** Default: `"X-Webhook-Signature"` */
  signature_header?: string | undefined;
  /** More answers that count as failures to retry */
  retry_on?: {
    statuses?: number[] | undefined;
    body_contains?: string | undefined;
  } | undefined;
  /** Sent with every attempt, but to no other origin; their values are shown to nobody: `***`, which sent back stands for what is stored. Default: `{}` */
  headers?: Record<string, string> | null | undefined;
  /** Answers 2xx and `{"status":"ok"}` while the destination is well; asked every minute */
  health_url?: string | null | undefined;
  /** CIDRs that the destination's address must lie in; never opens a private network */
  allowed_ips?: string[] | null | undefined;
  /** How to log in there: `basic` (`username`, `password`), `bearer` (`token`), `oauth2` for client credentials (`token_url`, `client_id`, `client_secret`; perhaps `scope`, `audience`, `client_auth`: `header` or `body`), `mtls` (`cert` and `key` as PEM), or `ca` alone; with each of them `ca`, PEM of the authorities to trust instead of the usual */
  auth?: DestinationAuth | null | undefined;
  /** With `forward`: headers of the request that are handed on; `*` for the usual ones, the default */
  forward_headers?: string[] | null | undefined;
  /** A message for a chat instead of the event: `url` is a webhook of it */
  preset?: "slack" | "teams" | "discord" | null | undefined;
  template?: RequestTemplate | null | undefined;
  /** `cloudevents`: nothing is sent before the destination has said by OPTIONS that it wants deliveries of this gateway, and how many a minute */
  handshake?: "cloudevents" | null | undefined;
  /** Let `url` lead back to this gateway; what goes round is refused after 8 times. Default: `false` */
  allow_own_url?: boolean | undefined;
}

export interface ResumedSubscription extends Subscription {
  skipped_deliveries: number;
}

export interface ParkedMessage {
  /** As the broker finds it again: a number, its own id, or a hash of the body */
  id: string;
  message_id: string | null;
  /** As whoever parked it says; RabbitMQ's own: rejected, expired … */
  reason: string | null;
  description: string | null;
  /** Where it came from and goes back to; null: nothing tells */
  queue: string | null;
  subject: string | null;
  content_type: string | null;
  size: number;
  parked_at: string | null;
}

export interface SubscriptionStatistics {
  subscription_id: string;
  /** Attempts */
  delivery_count: number;
  success_count: number;
  failure_count: number;
  last_delivery: string | null;
  open_count: number;
  dead_count: number;
  last_1h: StatisticsWindow;
  last_24h: StatisticsWindow;
  /** What a latency may be off by, as a share of it */
  latency_max_error: number;
}

/** What attempts came to */
export interface StatisticsWindow {
  attempt_count: number;
  success_count: number;
  failure_count: number;
  /** Null without attempts */
  success_rate: number | null;
  latency_p50_ms: number | null;
  latency_p99_ms: number | null;
  /** Seconds that each of the series stands for */
  bucket_s: number;
  /** The latest last */
  series: ({
    at: string;
    attempt_count: number;
    success_count: number;
    failure_count: number;
    /** Null without attempts */
    success_rate: number | null;
    latency_p50_ms: number | null;
    latency_p99_ms: number | null;
  })[];
}

export interface StatisticsSeries {
  window: "last_15m" | "last_1h" | "last_24h" | "last_7d";
  attempt_count: number;
  success_count: number;
  failure_count: number;
  /** Null without attempts */
  success_rate: number | null;
  latency_p50_ms: number | null;
  latency_p99_ms: number | null;
  /** Events that were accepted; null for one tenant or subscription */
  event_count: number | null;
  /** Seconds that each of the series stands for */
  bucket_s: number;
  /** The latest last */
  series: ({
    at: string;
    attempt_count: number;
    success_count: number;
    failure_count: number;
    /** Null without attempts */
    success_rate: number | null;
    latency_p50_ms: number | null;
    latency_p99_ms: number | null;
    /** Events that were accepted; null for one tenant or subscription */
    event_count: number | null;
  })[];
}

export interface Statistics {
  /** Null: of all tenants */
  tenant_id: string | null;
  events: {
    accepted: number;
    unmatched: number;
    duplicates: number;
  };
  deliveries: {
    created: number;
    open: number;
    delivered: number;
    dead: number;
    cancelled: number;
    /** Dead now; `dead` counts those that were replayed since too */
    dead_letters: number;
  };
  attempts: {
    total: number;
    succeeded: number;
    failed: number;
  };
  subscriptions: {
    active: number;
    inactive: number;
    suspended: number;
  };
  last_1h: StatisticsWindow;
  last_24h: StatisticsWindow;
  /** What a latency may be off by, as a share of it */
  latency_max_error: number;
}

export interface TestAttempt extends Attempt {
  delivery_id: string;
  event_id: string;
}

export interface RequestPreview {
  method: string;
  headers: {
    name: string;
    value: string;
  }[];
  /** Its body, byte for byte */
  body_base64: string;
}

/** What subscriptions send to */
export interface Target {
  /** Its own, or that of the subscription that it belongs to */
  name: string;
  tenant_id: string;
  /** What is known of such a target, for all subscriptions that send to it */
  preset: "n8n" | null;
  /** Where it is; a preset finds its health check there */
  url: string | null;
  /** Null: a delivery finds out whether it is back */
  health_url: string | null;
  /** Seconds between health checks */
  health_interval_s: number;
  /** Failures in a row that lead to QUEUE */
  failures_to_open: number;
  /** Successful health checks in a row that lead back to NORMAL, once all that waits was tried */
  successes_to_close: number;
  /** How many are tried at once in QUEUE */
  batch_size: number;
  /** Seconds between rounds in QUEUE */
  idle_wait_s: number;
  /** Larger bodies are not sent: they become dead letters (`too_large`) */
  max_bytes: number | null;
  description: string | null;
  /** Several may send to it; else it is a subscription's own */
  shared: boolean;
  /** Which send to it */
  subscriptions: string[];
  /** `QUEUE`: deliveries wait until it is back */
  mode: "NORMAL" | "QUEUE";
  /** What an operator said */
  forced: "NORMAL" | "QUEUE" | null;
  since: string | null;
  /** Why it came into its mode; null when it was never in another */
  reason: string | null;
  health: "ok" | "error";
  checked_at: string | null;
  /** Open deliveries */
  queue_length: number;
  /** In a row */
  failures: number;
  last_error: string | null;
  /** Who may change it; `contact`: it is one of its tenant, and changed there */
  managed_by: "api" | "config" | "former_config" | "contact";
}

export interface TargetInput {
  /** What subscriptions name in `target`; unique per tenant */
  name: string;
  /** Default: `"default"` */
  tenant_id?: string | undefined;
  /** What is known of such a target, for all subscriptions that send to it */
  preset?: "n8n" | undefined;
  /** Where it is; a preset finds its health check there */
  url?: string | undefined;
  /** Answers 2xx and `{"status":"ok"}` while it is well */
  health_url?: string | undefined;
  /** Seconds between health checks. Default: `60` */
  health_interval_s?: number | undefined;
  /** Failures in a row that lead to QUEUE. Default: `3` */
  failures_to_open?: number | undefined;
  /** Successful health checks in a row that lead back to NORMAL, once all that waits was tried. Default: `3` */
  successes_to_close?: number | undefined;
  /** How many are tried at once in QUEUE. Default: `32` */
  batch_size?: number | undefined;
  /** Seconds between rounds in QUEUE. Default: `30` */
  idle_wait_s?: number | undefined;
  /** Larger bodies are not sent: they become dead letters (`too_large`) */
  max_bytes?: number | undefined;
  description?: string | undefined;
}

export interface TargetChange {
  /** What is known of such a target, for all subscriptions that send to it */
  preset?: "n8n" | null | undefined;
  /** Where it is; a preset finds its health check there */
  url?: string | null | undefined;
  /** Answers 2xx and `{"status":"ok"}` while it is well */
  health_url?: string | null | undefined;
  /** Seconds between health checks. Default: `60` */
  health_interval_s?: number | null | undefined;
  /** Failures in a row that lead to QUEUE. Default: `3` */
  failures_to_open?: number | null | undefined;
  /** Successful health checks in a row that lead back to NORMAL, once all that waits was tried. Default: `3` */
  successes_to_close?: number | null | undefined;
  /** How many are tried at once in QUEUE. Default: `32` */
  batch_size?: number | null | undefined;
  /** Seconds between rounds in QUEUE. Default: `30` */
  idle_wait_s?: number | null | undefined;
  /** Larger bodies are not sent: they become dead letters (`too_large`) */
  max_bytes?: number | null | undefined;
  description?: string | null | undefined;
}

export interface Tenant {
  id: string;
  /** A name for people */
  name: string;
  /** Who is told when something is wrong with its subscriptions: a contact by e-mail */
  contact_email: string | null;
  /** Who else is told, and what */
  contacts: ({
    email?: string | undefined;
    phone?: string | undefined;
    url?: string | undefined;
    about: string[];
  })[];
  quotas: {
    /** How many it may have; null for no limit */
    subscriptions: number | null;
    /** How many events are taken in; null for no limit */
    events_per_minute: number | null;
    /** New events are refused while this many deliveries are open; null for no limit */
    open_deliveries: number | null;
    /** New events are refused once the bodies of its events have this size; null for no limit */
    stored_bytes: number | null;
  };
  retention: {
    /** Days for which its events are kept; 0 keeps them; null for the gateway's settings */
    days: number | null;
    /** The same for what destinations answered; null for `days` */
    answers_days: number | null;
    /** The same for events with a dead letter, from its death; null for `days` */
    dead_letters_days: number | null;
    /** The same for requests that made no event; null for `days` */
    refused_requests_days: number | null;
  };
  /** `inactive` answers new events with 503, so that their senders keep them */
  status: "active" | "inactive";
  usage: {
    subscriptions: number;
    open_deliveries: number;
    stored_bytes: number;
  };
  /** Who may change it; `contact`: it is one of its tenant, and changed there */
  managed_by: "api" | "config" | "former_config" | "contact";
  created_at: string;
  updated_at: string;
}

export interface TenantInput {
  id: string;
  /** A name for people */
  name?: string | undefined;
  /** Who is told when something is wrong with its subscriptions: a contact by e-mail */
  contact_email?: string | null | undefined;
  /** More of them, each with one of `email`, `phone` and `url`, and what it is told (`about`). Default: `[]` */
  contacts?: ({
    /** An address */
    email?: string | undefined;
    /** A number with its country code, for messages of the gateway's SMS settings */
    phone?: string | undefined;
    /** Where events are posted to */
    url?: string | undefined;
    /** What it is told: its subscriptions that are suspended or failing, secrets that are rotated, alerts of its tenant. Default: `["suspended","failing","rotation"]` */
    about?: ("suspended" | "failing" | "rotation" | "alerts")[] | undefined;
  })[] | undefined;
  quotas?: {
    /** How many it may have; null for no limit */
    subscriptions?: number | null | undefined;
    /** How many events are taken in; null for no limit */
    events_per_minute?: number | null | undefined;
    /** New events are refused while this many deliveries are open; null for no limit */
    open_deliveries?: number | null | undefined;
    /** New events are refused once the bodies of its events have this size; null for no limit */
    stored_bytes?: number | null | undefined;
  } | undefined;
  retention?: {
    /** Days for which its events are kept; 0 keeps them; null for the gateway's settings */
    days?: number | null | undefined;
    /** The same for what destinations answered; null for `days` */
    answers_days?: number | null | undefined;
    /** The same for events with a dead letter, from its death; null for `days` */
    dead_letters_days?: number | null | undefined;
    /** The same for requests that made no event; null for `days` */
    refused_requests_days?: number | null | undefined;
  } | undefined;
  /** `inactive` answers new events with 503, so that their senders keep them. Default: `"active"` */
  status?: "active" | "inactive" | undefined;
}

export interface TenantSettings {
  /** A name for people */
  name?: string | undefined;
  /** Who is told when something is wrong with its subscriptions: a contact by e-mail */
  contact_email?: string | null | undefined;
  /** More of them, each with one of `email`, `phone` and `url`, and what it is told (`about`). Default: `[]` */
  contacts?: ({
    /** An address */
    email?: string | undefined;
    /** A number with its country code, for messages of the gateway's SMS settings */
    phone?: string | undefined;
    /** Where events are posted to */
    url?: string | undefined;
    /** What it is told: its subscriptions that are suspended or failing, secrets that are rotated, alerts of its tenant. Default: `["suspended","failing","rotation"]` */
    about?: ("suspended" | "failing" | "rotation" | "alerts")[] | undefined;
  })[] | undefined;
  quotas?: {
    /** How many it may have; null for no limit */
    subscriptions?: number | null | undefined;
    /** How many events are taken in; null for no limit */
    events_per_minute?: number | null | undefined;
    /** New events are refused while this many deliveries are open; null for no limit */
    open_deliveries?: number | null | undefined;
    /** New events are refused once the bodies of its events have this size; null for no limit */
    stored_bytes?: number | null | undefined;
  } | undefined;
  retention?: {
    /** Days for which its events are kept; 0 keeps them; null for the gateway's settings */
    days?: number | null | undefined;
    /** The same for what destinations answered; null for `days` */
    answers_days?: number | null | undefined;
    /** The same for events with a dead letter, from its death; null for `days` */
    dead_letters_days?: number | null | undefined;
    /** The same for requests that made no event; null for `days` */
    refused_requests_days?: number | null | undefined;
  } | undefined;
  /** `inactive` answers new events with 503, so that their senders keep them. Default: `"active"` */
  status?: "active" | "inactive" | undefined;
}

/** How far the erasure of a tenant is; it survives restarts */
export interface TenantErasure {
  tenant_id: string;
  status: "running" | "completed";
  /** What is being erased */
  stage: "records" | "events" | "requests" | "ids" | "forms" | "versions" | "names" | "rest" | "audit" | "done";
  /** Events that there were when it began */
  total: number;
  /** Those that are gone */
  events: number;
  /** Gone with them */
  deliveries: number;
  /** Of their bodies */
  bytes: number;
  /** Logged requests that are gone */
  requests: number;
  /** Subscriptions, keys, sources and other configuration that is gone */
  records: number;
  /** Entries of the audit log of which only the fact is left */
  audit_entries: number;
  started_at: string;
  completed_at: string | null;
}

export interface Key {
  id: string;
  /** What the key is for */
  name: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that it is bound to; null for all of them */
  tenant_id: string | null;
  expires_at: string | null;
  /** How the key begins */
  prefix: string | null;
  status: "active" | "expired" | "revoked";
  created_at: string;
  revoked_at: string | null;
}

export interface KeyWithSecret extends Key {
  key: string;
}

export interface EventType {
  /** The event type itself, such as `order.created`; no pattern */
  name: string;
  /** What happened when this event is published */
  description: string | null;
  /** Which system publishes it */
  producer: string | null;
  /** Who takes it */
  consumers: string[];
  /** A `deprecated` one is still taken; its consumers are told by the catalogue */
  status: "active" | "deprecated";
  deprecated_at: string | null;
  /** The event type to use instead of a deprecated one */
  replaced_by: string | null;
  /** `false` takes events that do not fit their schema, and records the mismatch */
  enforce: boolean;
  /** JSON Pointers into the payload: their values are stored and delivered as `"***"`, after the schema was checked */
  mask: string[];
  versions: {
    version: string;
    schema: Record<string, unknown>;
    example: unknown;
    created_at: string;
  }[];
  /** Who may change it; `contact`: it is one of its tenant, and changed there */
  managed_by: "api" | "config" | "former_config" | "contact";
  created_at: string;
  updated_at: string;
}

export interface EventTypeInput {
  /** The event type itself, such as `order.created`; no pattern */
  name: string;
  /** What happened when this event is published */
  description?: string | undefined;
  /** Which system publishes it */
  producer?: string | undefined;
  /** Who takes it. Default: `[]` */
  consumers?: string[] | undefined;
  /** A `deprecated` one is still taken; its consumers are told by the catalogue. Default: `"active"` */
  status?: "active" | "deprecated" | undefined;
  /** Since when (RFC 3339); when it was said, if not given */
  deprecated_at?: string | undefined;
  /** The event type to use instead of a deprecated one */
  replaced_by?: string | undefined;
  /** `false` takes events that do not fit their schema, and records the mismatch. Default: `true` */
  enforce?: boolean | undefined;
  /** JSON Pointers into the payload: their values are stored and delivered as `"***"`, after the schema was checked. Default: `[]` */
  mask?: string[] | undefined;
  /** Schemas by version; an event's `event_version` picks one. Default: `[]` */
  versions?: {
    version: string;
    /** JSON Schema, draft 2020-12, 2019-09, 07, 06 or 04; at most 64 KB, no remote `$ref` */
    schema: Record<string, unknown>;
    /** A payload that fits the schema */
    example?: unknown;
  }[] | undefined;
}

export interface EventTypeChange {
  /** What happened when this event is published */
  description?: string | undefined;
  /** Which system publishes it */
  producer?: string | undefined;
  /** Who takes it. Default: `[]` */
  consumers?: string[] | undefined;
  /** A `deprecated` one is still taken; its consumers are told by the catalogue. Default: `"active"` */
  status?: "active" | "deprecated" | undefined;
  /** Since when (RFC 3339); when it was said, if not given */
  deprecated_at?: string | undefined;
  /** The event type to use instead of a deprecated one */
  replaced_by?: string | undefined;
  /** `false` takes events that do not fit their schema, and records the mismatch. Default: `true` */
  enforce?: boolean | undefined;
  /** JSON Pointers into the payload: their values are stored and delivered as `"***"`, after the schema was checked. Default: `[]` */
  mask?: string[] | undefined;
}

export interface EventTypeVersionContent {
  /** JSON Schema, draft 2020-12, 2019-09, 07, 06 or 04; at most 64 KB, no remote `$ref` */
  schema: Record<string, unknown>;
  /** A payload that fits the schema */
  example?: unknown;
}

export interface RotationWithSecret extends Rotation {
  secret: string;
}

export interface Rotation {
  id: string;
  /** Until then both secrets sign */
  overlap_ends_at: string | null;
  secrets: ({
    state: "current" | "next" | "previous";
    created_at: string;
    expires_at: string | null;
  })[];
}

export interface Secrets {
  id: string;
  /** The current one */
  secret: string;
  overlap_ends_at: string | null;
  /** `automatic`: the gateway rotates at `secret_rotation_days`, because an active subscription of the tenant names `webhook.secret_rotating`; `manual`: only its owner does; `overdue`: the same, and it is older than that */
  rotation: "automatic" | "manual" | "overdue";
  secrets: ({
    secret: string;
    state: "current" | "next" | "previous";
    created_at: string;
    expires_at: string | null;
  })[];
  ed25519: {
    public_key: string;
    created_at: string;
  } | null;
}

export interface Job {
  name: string;
  description: string;
  every_s: number;
  status: "waiting" | "running";
  next_run_at: string | null;
  /** The last 50 */
  runs: ({
    number: number;
    trigger: "schedule" | "manual";
    started_at: string;
    duration_ms: number | null;
    result: "running" | "success" | "failed" | "interrupted";
    summary: Record<string, unknown> | null;
    error: string | null;
  })[];
}

/** Who did what */
export interface AuditEntry {
  /** 1, 2, 3 …, without a gap */
  seq: number;
  at: string;
  /** `key:ID`, `config`, `gateway` or `local:USER` */
  actor: string;
  /** Method and route, or the command */
  via: string | null;
  /** Where the request came from */
  address: string | null;
  act: string;
  /** What it is about */
  kind: string;
  id: string;
  /** Whose it is */
  tenant_id: string | null;
  /** What was different before; secrets are masked */
  before: Record<string, unknown> | null;
  /** What is different now; secrets are masked */
  after: Record<string, unknown> | null;
  /** What else is known: why, how many */
  details: Record<string, unknown> | null;
  /** What it said was erased with its tenant */
  erased: boolean;
  /** SHA-256 over the hash before it and this entry */
  hash: string;
}

export interface Alert {
  id: string;
  rule: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  /** Null for one of the whole gateway */
  tenant_id: string | null;
  status: "active" | "cleared";
  severity: "info" | "warning" | "critical";
  summary: string;
  action_required: string;
  /** Of the worst of its causes */
  value: number;
  threshold: number;
  unit: "percent" | "seconds" | "days" | "MiB" | "count";
  /** How many causes it has */
  count: number;
  /** The first 20, the worst first */
  causes: ({
    /** What it goes by, for `mute` */
    cause: string;
    /** Whose it is, in alerts of the whole gateway */
    tenant_id: string | null;
    name: string;
    value: number;
    detail: string | null;
  })[];
  fired_at: string;
  cleared_at: string | null;
  acknowledged: {
    at: string;
    /** The id of a key */
    by: string;
    note: string | null;
  } | null;
  /** Nothing is told of it now */
  muted: boolean;
  mutes: ({
    /** Null: the rule, for its tenant or for the gateway */
    cause: string | null;
    until: string | null;
    at: string;
    /** The id of a key */
    by: string;
    note: string | null;
  })[];
  /** The last 10 messages, the latest first, with what became of their deliveries */
  told: ({
    event_type: "alert.fired" | "alert.cleared";
    /** Of the event that told of it; its deliveries say who got it */
    event_id: string;
    at: string;
    open: number;
    delivered: number;
    /** Channels that could not be reached */
    dead: number;
  })[];
}

export interface AlertRule {
  rule: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  description: string;
  enabled: boolean;
  severity: "info" | "warning" | "critical";
  unit: "percent" | "seconds" | "days" | "MiB" | "count";
  /** On which side of the threshold a value is bad */
  bad: "above" | "below";
  threshold: number;
  /** How far on the other side it is good again */
  margin: number;
  window_s: number | null;
  min_attempts: number | null;
  /** Bad evaluations in a row */
  fires_after: number;
  /** Good evaluations in a row */
  clears_after: number;
  /** Least time between two messages that it fired */
  cool_down_s: number;
  /** At the last evaluation; null when nothing was measured */
  worst_value: number | null;
  /** How many values there were */
  measured: number;
  /** How many of them are bad */
  bad_now: number;
  /** The id of its alert for the whole gateway */
  active_alert: string | null;
}

export interface Validation {
  endpoint: string;
  /** One sequence for both formats of an endpoint */
  version: number;
  /** `json`: a JSON Schema, rules or both; `xsd`: an XML Schema */
  format: "json" | "xsd";
  size: number;
  created_at: string;
  /** The id of a key, or `folder` */
  created_by: string;
}

export interface ValidationVersion {
  /** One sequence for both formats of an endpoint */
  version: number;
  /** `json`: a JSON Schema, rules or both; `xsd`: an XML Schema */
  format: "json" | "xsd";
  size: number;
  created_at: string;
  /** The id of a key, or `folder` */
  created_by: string;
  /** Whether this version ended the one before */
  deleted: boolean;
  /** The version that it brought back */
  restored_from: number | null;
  in_force: boolean;
}

export interface ValidationTryOut {
  valid: boolean;
  endpoint: string;
  /** Whose validation it was: the endpoint's own or `default`; null where there is none */
  validation: string | null;
  /** At most 100 */
  errors: ({
    /** JSON Pointer; in XML an XPath */
    path: string;
    message: string;
    /** In XML */
    line?: number | undefined;
  })[];
}

/** Format `envelope`, which published events have by default */
export interface Envelope {
  /** The id of the delivery */
  webhook_id: string;
  /** The event type */
  event: string;
  event_id: string;
  timestamp: string;
  /** The payload: JSON as it came in, other text as a string */
  data?: unknown;
  /** A body that is no text */
  data_base64?: string | undefined;
}

/** Format `cloudevents`: CloudEvents 1.0 in structured JSON */
export interface CloudEvent {
  specversion: "1.0";
  id: string;
  source: string;
  type: string;
  time: string;
  datacontenttype?: string | undefined;
  data?: unknown;
  data_base64?: string | undefined;
}

export interface WebhookFailing {
  /** The id of the subscription */
  webhook_id: string;
  reason: string;
  action_required: string;
  name: string;
  /** Of its URL; the rest of which may hold a token */
  url_host: string;
  /** Dead deliveries since the last success */
  dead_in_a_row: number;
  /** Seconds since it could be reached */
  down_for_s: number;
  last_error: string | null;
  /** More dead deliveries in a row than this suspend it */
  suspended_after_dead: number;
  /** So do so many seconds without reaching it */
  suspended_after_down_s: number;
}

export interface WebhookSuspended {
  /** The id of the subscription */
  webhook_id: string;
  reason: string;
  action_required: string;
  name: string;
  /** Of its URL; the rest of which may hold a token */
  url_host: string;
  /** Dead deliveries since the last success */
  dead_in_a_row: number;
  /** Seconds since it could be reached */
  down_for_s: number;
  last_error: string | null;
}

export interface WebhookResumed {
  /** The id of the subscription */
  webhook_id: string;
  previous_status: "inactive" | "suspended";
  /** What became of the deliveries that were held */
  held: "deliver" | "skip";
  skipped_deliveries: number;
  name: string;
  /** Of its URL; the rest of which may hold a token */
  url_host: string;
}

export interface WebhookSecretRotating {
  /** The id of the subscription */
  webhook_id: string;
  name: string;
  trigger: "manual" | "automatic";
  rotated_at: string;
  /** Until then both secrets sign */
  overlap_ends_at: string;
  signature_header: string;
  action_required: string;
}

export interface WebhookDeliveryDead {
  delivery_id: string;
  event_id: string;
  event_type: string;
  /** The id of the subscription */
  webhook_id: string;
  /** The same */
  subscription_id: string;
  /** Of the subscription */
  name: string;
  reason: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | null;
  /** Null when it died without an attempt */
  last_error: string | null;
  /** The same, or the reason */
  error: string | null;
  attempts: number;
}

export interface GatewayModeChanged {
  /** Its name; that of the subscription when it is the subscription's own */
  target: string;
  /** The id of that subscription; null when several share it */
  webhook_id: string | null;
  /** `QUEUE`: deliveries wait, and are tried from time to time */
  mode: "NORMAL" | "QUEUE";
  previous_mode: "NORMAL" | "QUEUE";
  since: string;
  reason: string | null;
  /** An operator said so */
  forced: boolean;
  /** In a row */
  failures: number;
  /** Of its URL; the rest of which may hold a token */
  url_host: string | null;
}

export interface SourceDisabled {
  source: string;
  status: "paused" | "closed" | "disabled";
  reason: string;
}

export interface AlertFired {
  alert_id: string;
  rule: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  /** The same */
  code: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  severity: "info" | "warning" | "critical";
  /** In one line, for a chat or a phone */
  summary: string;
  description: string;
  /** The worst of its causes */
  subject: string | null;
  /** With `validation_broken`: whose validation it is */
  endpoint: string | null;
  /** What is known of that cause */
  reason: string | null;
  /** How many causes it has */
  count: number;
  /** The first 20, the worst first */
  causes: ({
    /** What it goes by, for `mute` */
    cause: string;
    /** Whose it is, in alerts of the whole gateway */
    tenant_id: string | null;
    name: string;
    value: number;
    detail: string | null;
  })[];
  value: number;
  threshold: number;
  unit: "percent" | "seconds" | "days" | "MiB" | "count";
  since: string;
  acknowledged: boolean;
  cleared_at: string | null;
  action_required: string;
}

export interface AlertCleared {
  alert_id: string;
  rule: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  /** The same */
  code: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  severity: "info" | "warning" | "critical";
  summary: string;
  description: string;
  /** The worst of its causes */
  subject: string | null;
  /** With `validation_broken`: whose validation it is */
  endpoint: string | null;
  /** What is known of that cause */
  reason: string | null;
  /** How many causes it has */
  count: number;
  /** The first 20, the worst first */
  causes: ({
    /** What it goes by, for `mute` */
    cause: string;
    /** Whose it is, in alerts of the whole gateway */
    tenant_id: string | null;
    name: string;
    value: number;
    detail: string | null;
  })[];
  value: number;
  threshold: number;
  unit: "percent" | "seconds" | "days" | "MiB" | "count";
  since: string;
  acknowledged: boolean;
  cleared_at: string;
  action_required: string | null;
}

export interface TestEvent {
  test: true;
  timestamp: string;
}

export type WebhooksSendAnswer = {
  status: "queued";
  event_id: string;
  deliveries: number;
} | {
  status: "queued";
  event_ids: string[];
  deliveries: number;
} | {
  status: "forwarded" | "duplicate";
  event_id: string;
} | {
  status: "ignored";
  cause: string;
};

export interface WebhooksSendAnswer2 {
  status: "queued";
  event_id: string;
  deliveries: number;
}

export type WebhooksSendToPathAnswer = {
  status: "queued";
  event_id: string;
  deliveries: number;
} | {
  status: "queued";
  event_ids: string[];
  deliveries: number;
} | {
  status: "forwarded" | "duplicate";
  event_id: string;
} | {
  status: "ignored";
  cause: string;
};

export interface WebhooksSendToPathAnswer2 {
  status: "queued";
  event_id: string;
  deliveries: number;
}

export type EventsPublishBody = PublishInput | PublishInput[];

export type EventsPublishAnswer = Published | {
  events: (Published | Problem)[];
};

/** Search events: what to ask for */
export interface EventsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  /** A type, or a pattern: `*` is one word, `#` any number of them */
  event_type?: string | undefined;
  /** The source's name */
  source?: string | undefined;
  /** For keys that are bound to no tenant */
  tenant_id?: string | undefined;
  /** Received at this time or later */
  since?: string | undefined;
  /** Received before this time */
  until?: string | undefined;
  /** What became of its deliveries */
  status?: "PENDING" | "COMPLETED" | "FAILED" | undefined;
  /** Whether no subscription wanted it */
  unmatched?: boolean | undefined;
  /** An id, or the beginning of one and `*` */
  id?: string | undefined;
  /** The ordering key */
  ordering_key?: string | undefined;
  /** A member of the metadata: `name`, or `name=value`; may be given several times */
  label?: string | string[] | undefined;
  /** Members of a JSON body, as `event_filter` has them under `data`: `{"order":{"total":{"$gt":100}}}` */
  data?: string | undefined;
  /** Somewhere in the body, large letters and small ones being the same */
  text?: string | undefined;
}

export interface EventsListPage {
  data: Event[];
  /** For `cursor`; null on the last page */
  next_cursor: string | null;
  /** All since then was searched; null when all was */
  searched_until: string | null;
  /** Bodies too large for a search by `text` or `data` */
  skipped_bodies?: number | undefined;
}

export interface GatewayGetOpenapiAnswer {
  openapi: string;
  paths: Record<string, unknown>;
  [member: string]: unknown;
}

export interface GatewayGetHealthAnswer {
  status: "ok";
}

export interface GatewayGetLivezAnswer {
  status: "ok";
}

export interface SessionCreateBody {
  /** An API key with the scope `read` */
  key?: string | undefined;
  /** From the link that is printed at the first start */
  token?: string | undefined;
}

export interface TenantsPortalLinkBody {
  /** `read`: see everything; `manage`: also change subscriptions, test and replay. Default: `"manage"` */
  access?: "read" | "manage" | undefined;
  /** How long it works. Default: `3600` */
  expires_in_s?: number | undefined;
}

/** Get an event with its body and deliveries: what to ask for */
export interface EventsGetQuery {
  /** JSON and text as they are (`true`), or byte for byte in `payload_base64` (`base64`). Default: `"true"` */
  body?: "true" | "base64" | undefined;
}

/** Erase the body of an event: what to ask for */
export interface EventsEraseBodyQuery {
  /** Open deliveries become dead letters. Default: `false` */
  force?: boolean | undefined;
}

export interface EventsEraseBodyAnswer {
  event_id: string;
  ended_deliveries: number;
}

/** Export events with their bodies, as NDJSON: what to ask for */
export interface EventsExportQuery {
  /** A type, or a pattern: `*` is one word, `#` any number of them */
  event_type?: string | undefined;
  /** The source's name */
  source?: string | undefined;
  /** For keys that are bound to no tenant */
  tenant_id?: string | undefined;
  /** Received at this time or later */
  since?: string | undefined;
  /** Received before this time */
  until?: string | undefined;
  /** What became of its deliveries */
  status?: "PENDING" | "COMPLETED" | "FAILED" | undefined;
  /** Whether no subscription wanted it */
  unmatched?: boolean | undefined;
  /** An id, or the beginning of one and `*` */
  id?: string | undefined;
  /** The ordering key */
  ordering_key?: string | undefined;
  /** A member of the metadata: `name`, or `name=value`; may be given several times */
  label?: string | string[] | undefined;
  /** Members of a JSON body, as `event_filter` has them under `data`: `{"order":{"total":{"$gt":100}}}` */
  data?: string | undefined;
  /** Somewhere in the body, large letters and small ones being the same */
  text?: string | undefined;
}

/** Follow events, attempts, modes and alerts live: what to ask for */
export interface StreamQuery {
  /** Which frames, with commas between them: event, attempt, mode, alert; all of them by default */
  types?: string | undefined;
  /** A type, or a pattern: `*` is one word, `#` any number of them */
  event_type?: string | undefined;
  /** The source's name */
  source?: string | undefined;
  /** For keys that are bound to no tenant */
  tenant_id?: string | undefined;
  /** Only its attempts, and events that have a delivery for it */
  subscription_id?: string | undefined;
  /** Only attempts whose delivery has this status when the frame is made */
  status?: "pending" | "sending" | "delivered" | "dead" | "cancelled" | undefined;
  /** Events with their bodies, up to 256 KiB of each: JSON and text as they are (`true`), or byte for byte (`base64`). Default: `"false"` */
  body?: "true" | "false" | "base64" | undefined;
  /** False: ends when all that is there now was sent. Default: `true` */
  follow?: boolean | undefined;
  /** Without a last id: begins with the events that came in since then, and with attempts from now on */
  since?: string | undefined;
  /** For clients that cannot send the header `Last-Event-ID` */
  last_event_id?: string | undefined;
}

/** List deliveries: what to ask for */
export interface DeliveriesListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  subscription_id?: string | undefined;
  tenant_id?: string | undefined;
  status?: "pending" | "sending" | "delivered" | "dead" | "cancelled" | undefined;
}

/** List dead letters, the latest first: what to ask for */
export interface DeadLettersListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  /** Only deliveries for this subscription */
  subscription_id?: string | undefined;
  /** Only of this tenant (for keys that are bound to none) */
  tenant_id?: string | undefined;
  /** Why it is dead */
  reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
  /** Exactly this type */
  event_type?: string | undefined;
  /** Dead since then */
  since?: string | undefined;
  /** Dead before then */
  until?: string | undefined;
}

export interface DeadLettersReplayBody {
  /** Only this one, at once */
  id?: string | undefined;
  filter?: {
    /** Only deliveries for this subscription */
    subscription_id?: string | undefined;
    /** Only of this tenant (for keys that are bound to none) */
    tenant_id?: string | undefined;
    /** Why it is dead */
    reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
    /** Exactly this type */
    event_type?: string | undefined;
    /** Dead since then */
    since?: string | undefined;
    /** Dead before then */
    until?: string | undefined;
  } | undefined;
  /** Whatever there is */
  all?: true | undefined;
  /** Only count; nothing is done. Default: `false` */
  plan?: boolean | undefined;
}

export type DeadLettersReplayAnswer = Delivery | Replay;

export interface ReplaysCreateBody {
  /** What is replayed, or cancelled */
  kind: "dead_letters" | "events" | "recover" | "cancel";
  filter?: {
    /** Only deliveries for this subscription */
    subscription_id?: string | undefined;
    /** Only of this tenant (for keys that are bound to none) */
    tenant_id?: string | undefined;
    /** Exactly this type */
    event_type?: string | undefined;
    /** Only events from this source */
    source?: string | undefined;
    /** Why it is dead */
    reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
    /** Not what is being sent right now */
    status?: "pending" | undefined;
    /** Its dead letters, events that it never had, or both. Default: `"failed"` */
    include?: "failed" | "missing" | "all" | undefined;
    /** Received since then; for dead letters: dead since then */
    since?: string | undefined;
    /** Before then */
    until?: string | undefined;
  } | undefined;
  /** Only count; nothing is done. Default: `false` */
  plan?: boolean | undefined;
}

/** List replays, the latest first: what to ask for */
export interface ReplaysListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  tenant_id?: string | undefined;
  status?: "running" | "paused" | "completed" | "cancelled" | "failed" | undefined;
}

export interface SubscriptionsRecoverBody {
  /** Events received since then */
  since: string;
  /** And before then */
  until?: string | undefined;
  /** Its dead letters, events that it never had, or both. Default: `"failed"` */
  include?: "failed" | "missing" | "all" | undefined;
  /** Only count; nothing is done. Default: `false` */
  plan?: boolean | undefined;
}

export interface DeliveriesCancelManyBody {
  filter: {
    /** Only deliveries for this subscription */
    subscription_id?: string | undefined;
    /** Only of this tenant (for keys that are bound to none) */
    tenant_id?: string | undefined;
    /** Exactly this type */
    event_type?: string | undefined;
    /** Not what is being sent right now */
    status?: "pending" | undefined;
    /** Received since then */
    since?: string | undefined;
    /** Received before then */
    until?: string | undefined;
  };
  /** Only count; nothing is done. Default: `false` */
  plan?: boolean | undefined;
}

export interface DeadLettersPurgeBody {
  filter?: {
    /** Only deliveries for this subscription */
    subscription_id?: string | undefined;
    /** Only of this tenant (for keys that are bound to none) */
    tenant_id?: string | undefined;
    /** Why it is dead */
    reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
    /** Exactly this type */
    event_type?: string | undefined;
    /** Dead since then */
    since?: string | undefined;
    /** Dead before then */
    until?: string | undefined;
  } | undefined;
  /** Whatever there is */
  all?: true | undefined;
  /** The `count` that was answered without it, or the word `purge` */
  confirm?: number | "purge" | undefined;
}

/** List the rejected requests of a source: what to ask for */
export interface SourcesListRequestsQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  outcome?: "accepted" | "rejected" | "ignored" | undefined;
  /** `bad_signature`, `filtered`, … */
  cause?: string | undefined;
}

/** List the requests that were refused or ignored, of all sources: what to ask for */
export interface RequestsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  outcome?: "accepted" | "rejected" | "ignored" | undefined;
  /** `bad_signature`, `filtered`, … */
  cause?: string | undefined;
  /** The source's name */
  source?: string | undefined;
  /** For keys that are bound to no tenant */
  tenant_id?: string | undefined;
  /** Received at this time or later */
  since?: string | undefined;
  /** Received before this time */
  until?: string | undefined;
}

export interface RequestsReplayAnswer extends Request {
  result: {
    outcome: "accepted" | "ignored";
    /** The code of the error; or `duplicate`, `filtered`, `invalid`, or what its kind says */
    cause: string | null;
  };
}

/** List sources: what to ask for */
export interface SourcesListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  tenant_id?: string | undefined;
  kind?: string | undefined;
  status?: "active" | "paused" | "closed" | undefined;
}

export interface SourcesPutBody {
  name?: string | undefined;
  /** Who sends: says how a request is verified, answered, split and identified. Default: `"generic"` */
  kind?: string | undefined;
  /** Default: `"default"` */
  tenant_id?: string | undefined;
  /** `paused` answers 503, `closed` 410. Default: `"active"` */
  status?: "active" | "paused" | "closed" | undefined;
  /** What requests are verified with; all of them count, the first is current. Never shown */
  secrets?: string[] | undefined;
  /** A header that must hold this token, else 401 */
  auth?: {
    header: string;
    /** Shown masked */
    token: string;
  } | null | undefined;
  /** CIDRs that the sender's address must lie in, else 403 */
  allowed_ips?: string[] | null | undefined;
  /** Larger bodies get 413. Without it: `limits.max_body_bytes`, or what the kind's provider may send. Default: `2097152` */
  max_bytes?: number | undefined;
  /** Default: `["POST"]` */
  methods?: ("POST" | "PUT" | "PATCH" | "DELETE" | "GET")[] | undefined;
  /** Media types that are taken (`application/json`, `text/*`), else 415 */
  content_types?: string[] | null | undefined;
  /** Seconds in which the sender must have its answer */
  answer_within?: number | null | undefined;
  /** `{source}` stands for the source's name, `{type}` for the type that its kind finds; kinds that find one have the default `{type}`. Default: `"webhook.{source}"` */
  event_type?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  id_from?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  ordering_key_from?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  priority_from?: string | undefined;
  /** Patterns of the event types that are let through, with the kind's name in front or without */
  only?: string[] | null | undefined;
  /** What the sender's ids must be found in: a path, or the document itself; for kinds that know one */
  manifest?: string | Record<string, unknown> | null | undefined;
  /** An equal signature is the same request sent again under another id, and ignored (`replayed`); for kinds whose signature covers no id. Two webhooks with the same bytes are then one. Default: `false` */
  refuse_replays?: boolean | undefined;
  /** JSON Pointers and `header:NAME`: their values are stored and delivered as `"***"`. The signature is verified before. Default: `[]` */
  mask?: string[] | undefined;
  /** Webhooks come to `/webhook/NAME/TOKEN` only; `true` makes a token */
  path_token?: boolean | string | null | undefined;
  /** Settings of the kind. Default: `{}` */
  options?: Record<string, unknown> | undefined;
}

export interface SourcesDeleteAnswer {
  name: string;
}

export interface SourcesPlanBody {
  name?: string | undefined;
  /** Who sends: says how a request is verified, answered, split and identified. Default: `"generic"` */
  kind?: string | undefined;
  /** Default: `"default"` */
  tenant_id?: string | undefined;
  /** `paused` answers 503, `closed` 410. Default: `"active"` */
  status?: "active" | "paused" | "closed" | undefined;
  /** What requests are verified with; all of them count, the first is current. Never shown */
  secrets?: string[] | undefined;
  /** A header that must hold this token, else 401 */
  auth?: {
    header: string;
    /** Shown masked */
    token: string;
  } | null | undefined;
  /** CIDRs that the sender's address must lie in, else 403 */
  allowed_ips?: string[] | null | undefined;
  /** Larger bodies get 413. Without it: `limits.max_body_bytes`, or what the kind's provider may send. Default: `2097152` */
  max_bytes?: number | undefined;
  /** Default: `["POST"]` */
  methods?: ("POST" | "PUT" | "PATCH" | "DELETE" | "GET")[] | undefined;
  /** Media types that are taken (`application/json`, `text/*`), else 415 */
  content_types?: string[] | null | undefined;
  /** Seconds in which the sender must have its answer */
  answer_within?: number | null | undefined;
  /** `{source}` stands for the source's name, `{type}` for the type that its kind finds; kinds that find one have the default `{type}`. Default: `"webhook.{source}"` */
  event_type?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  id_from?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  ordering_key_from?: string | undefined;
  /** `header:NAME` or `body:/json/pointer` */
  priority_from?: string | undefined;
  /** Patterns of the event types that are let through, with the kind's name in front or without */
  only?: string[] | null | undefined;
  /** What the sender's ids must be found in: a path, or the document itself; for kinds that know one */
  manifest?: string | Record<string, unknown> | null | undefined;
  /** An equal signature is the same request sent again under another id, and ignored (`replayed`); for kinds whose signature covers no id. Two webhooks with the same bytes are then one. Default: `false` */
  refuse_replays?: boolean | undefined;
  /** JSON Pointers and `header:NAME`: their values are stored and delivered as `"***"`. The signature is verified before. Default: `[]` */
  mask?: string[] | undefined;
  /** Webhooks come to `/webhook/NAME/TOKEN` only; `true` makes a token */
  path_token?: boolean | string | null | undefined;
  /** Settings of the kind. Default: `{}` */
  options?: Record<string, unknown> | undefined;
}

export interface SourcesRotateSecretBody {
  /** As the sender has it; made when not given */
  secret?: string | undefined;
  /** Seconds in which those before it count too; 0 ends them at once. Default: `1209600` */
  overlap_s?: number | undefined;
}

export interface SourcesGetPathTokenAnswer {
  name: string;
  path_token: string;
  path: string;
}

/** List subscriptions: what to ask for */
export interface SubscriptionsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  cursor?: string | undefined;
  tenant_id?: string | undefined;
  /** `name` or `name=value` */
  label?: string | undefined;
}

export interface SubscriptionsDeleteAnswer {
  id: string;
  cancelled_deliveries: number;
  /** The replay that cancels the rest, when there are many */
  job_id: string | null;
}

export interface SubscriptionsResumeBody {
  /** What becomes of the deliveries that were held: they are sent, or cancelled. Default: `"deliver"` */
  held?: "deliver" | "skip" | undefined;
}

/** List the parked messages of a source: what to ask for */
export interface SourcesListParkedQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  /** Only those that were parked for this */
  reason?: string | undefined;
}

export interface SourcesListParkedPage {
  data: ParkedMessage[];
  next_cursor: string | null;
  count: number | null;
  limits: {
    /** How many can be looked at, counted from the oldest */
    looks_at: number;
    /** Whether a list goes on with `next_cursor` */
    can_page: boolean;
    /** There is no peek: a look takes messages and gives them back */
    counts_looks: boolean;
    /** Whether a message that is requeued has the id that it had */
    keeps_id: boolean;
  };
}

export interface SourcesGetParkedAnswer extends ParkedMessage {
  properties: Record<string, unknown>;
  body?: string | undefined;
  body_base64?: string | undefined;
}

export interface SourcesRequeueParkedBody {
  /** Only those that were parked for this */
  reason?: string | undefined;
  /** Only these, by `id` of the list */
  ids?: string[] | undefined;
}

export interface SourcesRequeueParkedAnswer {
  requeued: number;
  without_origin: number;
  complete: boolean;
}

export interface SourcesPurgeParkedBody {
  /** Only those that were parked for this */
  reason?: string | undefined;
  /** Only these, by `id` of the list */
  ids?: string[] | undefined;
  /** How many there are; nothing is deleted else */
  count?: number | undefined;
}

export interface SourcesPurgeParkedAnswer {
  purged: number;
  complete: boolean;
}

/** Show what came in and went out over time: what to ask for */
export interface StatsGetSeriesQuery {
  /** Only of this tenant */
  tenant_id?: string | undefined;
  /** Default: `"last_1h"` */
  window?: "last_15m" | "last_1h" | "last_24h" | "last_7d" | undefined;
  /** Only of this subscription */
  subscription_id?: string | undefined;
}

/** Get what the gateway, or one tenant, received and delivered: what to ask for */
export interface StatsGetQuery {
  /** Only of this tenant */
  tenant_id?: string | undefined;
}

export interface SubscriptionsPreviewBody {
  /** An event that was received */
  event_id: string;
}

export interface FiltersTestBody {
  /** As `event_filter` of a subscription */
  filter: Record<string, unknown> | string;
  event?: {
    event_type?: string | undefined;
    source?: string | undefined;
    tenant_id?: string | undefined;
    priority?: "critical" | "high" | "normal" | "low" | undefined;
    headers?: Record<string, unknown> | undefined;
    query?: Record<string, unknown> | string | undefined;
    metadata?: Record<string, unknown> | undefined;
    /** The body; leave it out for one that is not JSON */
    data?: unknown;
  } | undefined;
  /** An event that was received */
  event_id?: string | undefined;
}

export interface FiltersTestAnswer {
  match: boolean;
  failed?: {
    path: string;
    operator: string;
    expected: unknown;
    /** Left out when there is nothing at that place */
    found?: unknown;
  } | undefined;
}

export interface TemplatesPreviewBody {
  /** The templates of a subscription */
  subscription_id?: string | undefined;
  /** Of the `settings`; `http` when not given */
  kind?: string | undefined;
  /** Those settings of a destination that hold templates, as a subscription has them */
  settings?: Record<string, unknown> | undefined;
  templates?: ({
    name?: string | undefined;
    text: string;
    /** Where it lands; `text` when not given */
    place?: "text" | "html" | "json" | "url" | "header" | undefined;
  })[] | undefined;
  /** Patterns: fields must be in the schemas of these event types. The event's own type when not given */
  events?: string[] | undefined;
  event?: {
    event_type?: string | undefined;
    source?: string | undefined;
    tenant_id?: string | undefined;
    priority?: "critical" | "high" | "normal" | "low" | undefined;
    headers?: Record<string, unknown> | undefined;
    query?: Record<string, unknown> | string | undefined;
    metadata?: Record<string, unknown> | undefined;
    /** The body; leave it out for one that is not JSON */
    data?: unknown;
  } | undefined;
  /** An event that was received */
  event_id?: string | undefined;
}

export interface TemplatesPreviewAnswer {
  /** For which a subscription with these templates would be refused */
  problems: {
    field: string;
    message: string;
  }[];
  rendered: {
    name: string;
    text: string;
  }[] | null;
  /** For which the delivery would be a dead letter */
  fault: string | null;
}

/** List targets: what to ask for */
export interface TargetsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  cursor?: string | undefined;
  tenant_id?: string | undefined;
}

/** Get a target: what to ask for */
export interface TargetsGetQuery {
  tenant_id?: string | undefined;
}

export interface TargetsPutBody {
  name?: string | undefined;
  /** Default: `"default"` */
  tenant_id?: string | undefined;
  /** What is known of such a target, for all subscriptions that send to it */
  preset?: "n8n" | undefined;
  /** Where it is; a preset finds its health check there */
  url?: string | undefined;
  /** Answers 2xx and `{"status":"ok"}` while it is well */
  health_url?: string | undefined;
  /** Seconds between health checks. Default: `60` */
  health_interval_s?: number | undefined;
  /** Failures in a row that lead to QUEUE. Default: `3` */
  failures_to_open?: number | undefined;
  /** Successful health checks in a row that lead back to NORMAL, once all that waits was tried. Default: `3` */
  successes_to_close?: number | undefined;
  /** How many are tried at once in QUEUE. Default: `32` */
  batch_size?: number | undefined;
  /** Seconds between rounds in QUEUE. Default: `30` */
  idle_wait_s?: number | undefined;
  /** Larger bodies are not sent: they become dead letters (`too_large`) */
  max_bytes?: number | undefined;
  description?: string | undefined;
}

/** Update a target: what to ask for */
export interface TargetsUpdateQuery {
  tenant_id?: string | undefined;
}

/** Delete a target that no subscription uses: what to ask for */
export interface TargetsDeleteQuery {
  tenant_id?: string | undefined;
}

export interface TargetsDeleteAnswer {
  name: string;
}

export interface TargetsPlanBody {
  name?: string | undefined;
  /** Default: `"default"` */
  tenant_id?: string | undefined;
  /** What is known of such a target, for all subscriptions that send to it */
  preset?: "n8n" | undefined;
  /** Where it is; a preset finds its health check there */
  url?: string | undefined;
  /** Answers 2xx and `{"status":"ok"}` while it is well */
  health_url?: string | undefined;
  /** Seconds between health checks. Default: `60` */
  health_interval_s?: number | undefined;
  /** Failures in a row that lead to QUEUE. Default: `3` */
  failures_to_open?: number | undefined;
  /** Successful health checks in a row that lead back to NORMAL, once all that waits was tried. Default: `3` */
  successes_to_close?: number | undefined;
  /** How many are tried at once in QUEUE. Default: `32` */
  batch_size?: number | undefined;
  /** Seconds between rounds in QUEUE. Default: `30` */
  idle_wait_s?: number | undefined;
  /** Larger bodies are not sent: they become dead letters (`too_large`) */
  max_bytes?: number | undefined;
  description?: string | undefined;
}

export interface TargetsSetModeBody {
  /** A mode stays, whatever happens, until `auto` lets the target's health decide again */
  mode: "NORMAL" | "QUEUE" | "auto";
}

/** Set the mode of a target: what to ask for */
export interface TargetsSetModeQuery {
  tenant_id?: string | undefined;
}

export interface SubscriptionsDrainAnswer {
  id: string;
  target: string;
  /** `QUEUE`: deliveries wait until it is back */
  mode: "NORMAL" | "QUEUE";
  waiting: number;
}

/** List tenants: what to ask for */
export interface TenantsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
}

export interface TenantsPutBody {
  id?: string | undefined;
  /** A name for people */
  name?: string | undefined;
  /** Who is told when something is wrong with its subscriptions: a contact by e-mail */
  contact_email?: string | null | undefined;
  /** More of them, each with one of `email`, `phone` and `url`, and what it is told (`about`). Default: `[]` */
  contacts?: ({
    /** An address */
    email?: string | undefined;
    /** A number with its country code, for messages of the gateway's SMS settings */
    phone?: string | undefined;
    /** Where events are posted to */
    url?: string | undefined;
    /** What it is told: its subscriptions that are suspended or failing, secrets that are rotated, alerts of its tenant. Default: `["suspended","failing","rotation"]` */
    about?: ("suspended" | "failing" | "rotation" | "alerts")[] | undefined;
  })[] | undefined;
  quotas?: {
    /** How many it may have; null for no limit */
    subscriptions?: number | null | undefined;
    /** How many events are taken in; null for no limit */
    events_per_minute?: number | null | undefined;
    /** New events are refused while this many deliveries are open; null for no limit */
    open_deliveries?: number | null | undefined;
    /** New events are refused once the bodies of its events have this size; null for no limit */
    stored_bytes?: number | null | undefined;
  } | undefined;
  retention?: {
    /** Days for which its events are kept; 0 keeps them; null for the gateway's settings */
    days?: number | null | undefined;
    /** The same for what destinations answered; null for `days` */
    answers_days?: number | null | undefined;
    /** The same for events with a dead letter, from its death; null for `days` */
    dead_letters_days?: number | null | undefined;
    /** The same for requests that made no event; null for `days` */
    refused_requests_days?: number | null | undefined;
  } | undefined;
  /** `inactive` answers new events with 503, so that their senders keep them. Default: `"active"` */
  status?: "active" | "inactive" | undefined;
}

export interface TenantsDeleteAnswer {
  id: string;
}

export interface TenantsPlanBody {
  id?: string | undefined;
  /** A name for people */
  name?: string | undefined;
  /** Who is told when something is wrong with its subscriptions: a contact by e-mail */
  contact_email?: string | null | undefined;
  /** More of them, each with one of `email`, `phone` and `url`, and what it is told (`about`). Default: `[]` */
  contacts?: ({
    /** An address */
    email?: string | undefined;
    /** A number with its country code, for messages of the gateway's SMS settings */
    phone?: string | undefined;
    /** Where events are posted to */
    url?: string | undefined;
    /** What it is told: its subscriptions that are suspended or failing, secrets that are rotated, alerts of its tenant. Default: `["suspended","failing","rotation"]` */
    about?: ("suspended" | "failing" | "rotation" | "alerts")[] | undefined;
  })[] | undefined;
  quotas?: {
    /** How many it may have; null for no limit */
    subscriptions?: number | null | undefined;
    /** How many events are taken in; null for no limit */
    events_per_minute?: number | null | undefined;
    /** New events are refused while this many deliveries are open; null for no limit */
    open_deliveries?: number | null | undefined;
    /** New events are refused once the bodies of its events have this size; null for no limit */
    stored_bytes?: number | null | undefined;
  } | undefined;
  retention?: {
    /** Days for which its events are kept; 0 keeps them; null for the gateway's settings */
    days?: number | null | undefined;
    /** The same for what destinations answered; null for `days` */
    answers_days?: number | null | undefined;
    /** The same for events with a dead letter, from its death; null for `days` */
    dead_letters_days?: number | null | undefined;
    /** The same for requests that made no event; null for `days` */
    refused_requests_days?: number | null | undefined;
  } | undefined;
  /** `inactive` answers new events with 503, so that their senders keep them. Default: `"active"` */
  status?: "active" | "inactive" | undefined;
}

export interface TenantsEraseBody {
  /** The id of the tenant; nothing is erased without it */
  confirm?: string | undefined;
}

/** List keys: what to ask for */
export interface KeysListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  tenant_id?: string | undefined;
}

export interface KeysCreateBody {
  /** What the key is for */
  name: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that it is bound to; null for all of them */
  tenant_id?: string | null | undefined;
  expires_at?: string | null | undefined;
}

export interface KeysPutBody {
  /** What the key is for */
  name: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that it is bound to; null for all of them */
  tenant_id?: string | null | undefined;
  expires_at?: string | null | undefined;
}

export interface KeysUpdateBody {
  /** What the key is for */
  name?: string | undefined;
  scopes?: ("admin" | "publish" | "read")[] | undefined;
  expires_at?: string | null | undefined;
}

export interface KeysPlanBody {
  /** What the key is for */
  name: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that it is bound to; null for all of them */
  tenant_id?: string | null | undefined;
  expires_at?: string | null | undefined;
}

/** List event types: what to ask for */
export interface EventTypesListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  status?: "active" | "deprecated" | undefined;
}

export interface EventTypesPutBody {
  name?: string | undefined;
  /** What happened when this event is published */
  description?: string | undefined;
  /** Which system publishes it */
  producer?: string | undefined;
  /** Who takes it. Default: `[]` */
  consumers?: string[] | undefined;
  /** A `deprecated` one is still taken; its consumers are told by the catalogue. Default: `"active"` */
  status?: "active" | "deprecated" | undefined;
  /** Since when (RFC 3339); when it was said, if not given */
  deprecated_at?: string | undefined;
  /** The event type to use instead of a deprecated one */
  replaced_by?: string | undefined;
  /** `false` takes events that do not fit their schema, and records the mismatch. Default: `true` */
  enforce?: boolean | undefined;
  /** JSON Pointers into the payload: their values are stored and delivered as `"***"`, after the schema was checked. Default: `[]` */
  mask?: string[] | undefined;
  /** Schemas by version; an event's `event_version` picks one. Default: `[]` */
  versions?: {
    version: string;
    /** JSON Schema, draft 2020-12, 2019-09, 07, 06 or 04; at most 64 KB, no remote `$ref` */
    schema: Record<string, unknown>;
    /** A payload that fits the schema */
    example?: unknown;
  }[] | undefined;
}

export interface EventTypesPlanBody {
  name?: string | undefined;
  /** What happened when this event is published */
  description?: string | undefined;
  /** Which system publishes it */
  producer?: string | undefined;
  /** Who takes it. Default: `[]` */
  consumers?: string[] | undefined;
  /** A `deprecated` one is still taken; its consumers are told by the catalogue. Default: `"active"` */
  status?: "active" | "deprecated" | undefined;
  /** Since when (RFC 3339); when it was said, if not given */
  deprecated_at?: string | undefined;
  /** The event type to use instead of a deprecated one */
  replaced_by?: string | undefined;
  /** `false` takes events that do not fit their schema, and records the mismatch. Default: `true` */
  enforce?: boolean | undefined;
  /** JSON Pointers into the payload: their values are stored and delivered as `"***"`, after the schema was checked. Default: `[]` */
  mask?: string[] | undefined;
  /** Schemas by version; an event's `event_version` picks one. Default: `[]` */
  versions?: {
    version: string;
    /** JSON Schema, draft 2020-12, 2019-09, 07, 06 or 04; at most 64 KB, no remote `$ref` */
    schema: Record<string, unknown>;
    /** A payload that fits the schema */
    example?: unknown;
  }[] | undefined;
}

export interface EventTypesExportAnswer {
  openapi: string;
  info: Record<string, unknown>;
  jsonSchemaDialect: string;
  webhooks: Record<string, unknown>;
  [member: string]: unknown;
}

/** Import event types from OpenAPI webhooks: what to ask for */
export interface EventTypesImportQuery {
  /** Only tell what would change. Default: `false` */
  dry_run?: boolean | undefined;
}

export interface EventTypesImportAnswer {
  dry_run: boolean;
  created: string[];
  updated: string[];
  unchanged: string[];
}

export interface SubscriptionsRotateSecretBody {
  /** `whsec_` and base64 of 24 to 64 bytes, or a text of 16 to 128 printable characters that the receiver has already; generated when not given; shown only in the answer */
  secret?: string | undefined;
  /** Seconds in which both secrets sign; 0 retires the old one at once. Default: `1209600` */
  overlap_s?: number | undefined;
  /** Give up a rotation that is under way for this one. Default: `false` */
  force?: boolean | undefined;
}

export interface SubscriptionsConfirmRotationBody {
  /** End the overlap at once. Default: `false` */
  retire?: boolean | undefined;
}

export interface JobsListAnswer {
  data: Job[];
}

export interface JobsRunAnswer {
  name: string;
  run: number;
}

/** List who did what, the latest first: what to ask for */
export interface AuditListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  /** `key:ID`, `config`, `gateway` or `local:USER` */
  actor?: string | undefined;
  /** `subscription.update` */
  act?: string | undefined;
  /** Of the thing: `subscription`, `source`, `key` … */
  kind?: string | undefined;
  /** Of the thing, with `kind` */
  id?: string | undefined;
  /** Whose the thing is */
  tenant_id?: string | undefined;
  /** At this time or later */
  since?: string | undefined;
  /** Before this time */
  until?: string | undefined;
}

export interface AuditVerifyAnswer {
  valid: boolean;
  entries: number;
  first_wrong: {
    seq: number;
    reason: string;
  } | null;
  head: {
    seq: number;
    hash: string;
    /** Milliseconds since 1970 */
    at: number;
    /** Ed25519, in base64 */
    signature: string;
  } | null;
  /** What the head is checked with */
  public_key: string;
}

/** List the status changes of a subscription, the latest first: what to ask for */
export interface SubscriptionsListHistoryQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
}

export interface SubscriptionsListHistoryItem {
  at: string;
  /** Null for a new one */
  from: string | null;
  to: string | null;
  actor: string;
  act: string;
  /** Why the gateway did it by itself */
  reason: string | null;
  /** Of the entry in the audit log */
  audit_seq: number;
}

/** List alerts: what to ask for */
export interface AlertsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
  /** The alerts of this tenant, instead of those of the whole gateway */
  tenant_id?: string | undefined;
  status?: "active" | "cleared" | undefined;
  rule?: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue" | undefined;
  severity?: "info" | "warning" | "critical" | undefined;
  acknowledged?: boolean | undefined;
}

/** List alert rules: what to ask for */
export interface AlertsListRulesQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
}

export interface AlertsAcknowledgeBody {
  /** For people */
  note?: string | undefined;
}

export interface AlertsMuteBody {
  /** For so long; else until it is unmuted */
  for_s?: number | undefined;
  /** Only this one of its causes, by its `cause`; else the rule, for the tenant or for the gateway */
  cause?: string | undefined;
  /** For people */
  note?: string | undefined;
}

export interface AlertsUnmuteBody {
  /** Only this one of its causes, by its `cause`; else the rule, for the tenant or for the gateway */
  cause?: string | undefined;
}

/** List validations: what to ask for */
export interface ValidationsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
}

/** Get a validation: what to ask for */
export interface ValidationsGetQuery {
  format?: "json" | "xsd" | undefined;
  version?: number | undefined;
}

/** Delete a validation: what to ask for */
export interface ValidationsDeleteQuery {
  format?: "json" | "xsd" | undefined;
}

export interface ValidationsPutAnswer {
  status: "validation_updated";
  endpoint: string;
}

/** List the versions of a validation: what to ask for */
export interface ValidationsListVersionsQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the page before */
  cursor?: string | undefined;
}

export interface ValidationsRollbackBody {
  version: number;
}

export interface ValidationsRollbackAnswer {
  status: "validation_updated";
  endpoint: string;
  /** One sequence for both formats of an endpoint */
  version: number;
  /** One sequence for both formats of an endpoint */
  restored_from: number;
}

/** List Smartsheet's webhooks: what to ask for */
export interface SmartsheetListWebhooksQuery {
  /** A source of the kind `smartsheet`; may be left out where there is one */
  source?: string | undefined;
}

export interface SmartsheetListWebhooksAnswer {
  source: string;
  callback_url: string;
  webhooks: ({
    webhook_id: string;
    name: string | null;
    sheet_id: string;
    sheet_name: string | null;
    callback_url: string | null;
    state: "active" | "disabled" | "duplicate" | "unlisted" | "ended" | "stale" | "gone" | "foreign";
    status: string | null;
    reason: string | null;
    last_callback_at: string | null;
  })[];
  missing: {
    sheet_id: string;
    sheet_name: string;
  }[];
}

export interface SmartsheetRegisterWebhooksBody {
  /** A source of the kind `smartsheet`; may be left out where there is one */
  source?: string | undefined;
  /** Only these of the manifest */
  sheet_ids?: string[] | undefined;
}

export interface SmartsheetRegisterWebhooksAnswer {
  source: string;
  callback_url: string;
  sheets: ({
    sheet_id: string;
    sheet_name: string;
    outcome: "created" | "enabled" | "unchanged" | "failed";
    webhook_id: string | null;
    status: string | null;
    error: string | null;
  })[];
}

export interface SmartsheetCleanupWebhooksBody {
  /** A source of the kind `smartsheet`; may be left out where there is one */
  source?: string | undefined;
  /** Only tell what would be removed. Default: `false` */
  dry_run?: boolean | undefined;
}

export interface SmartsheetCleanupWebhooksAnswer {
  source: string;
  callback_url: string;
  dry_run: boolean;
  webhooks: ({
    webhook_id: string;
    sheet_id: string;
    state: "active" | "disabled" | "duplicate" | "unlisted" | "ended" | "stale" | "gone" | "foreign";
    outcome: "removed" | "would_remove" | "kept" | "failed";
    error: string | null;
  })[];
}

export interface EventsReplayBody {
  /** Only this one; it need not have had the event before */
  subscription_id?: string | undefined;
  /** What is sent instead of its body, as a new event; any JSON, kept as it is written */
  payload?: unknown;
}

export interface EventsReplayAnswer {
  event_id: string;
  replay_of: string;
  delivery_count: number;
}

export interface EventsReplayAnswer2 {
  event_id: string;
  deliveries: Delivery[];
}

/** Test a validation: what to ask for */
export interface ValidationsTestQuery {
  /** An earlier one instead of the present */
  version?: number | undefined;
  /** The body is `{validation, payload, content_type?}`: a document that is not in force, and what is checked by it. XML stands in it as text. Default: `false` */
  envelope?: boolean | undefined;
}

/** The data of each frame of the live stream, by its `event`. */
export interface StreamFrames {
  event: StreamEvent;
  attempt: StreamAttempt;
  mode: StreamEvent;
  alert: StreamEvent;
  ready: StreamReady;
  gap: StreamGap;
  dropped: StreamDropped;
  end: StreamEnd;
}
