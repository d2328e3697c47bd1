// Made by scripts/write-sdk-client.ts from the gateway's routes. Do not edit.

/** What went wrong (RFC 9457) */
export interface Problem {
  /** `urn:posthorn:error:` followed by the code */
  type: string;
  title: string;
  status: number;
  /** A stable code; docs/reference/errors.md explains each */
  code: "bad_request" | "unreadable_body" | "ambiguous_length" | "unauthorized" | "bad_signature" | "forbidden" | "other_origin" | "insecure_sign_in" | "address_not_allowed" | "unknown_webhook" | "not_found" | "unknown_source" | "method_not_allowed" | "request_timeout" | "conflict" | "managed_by_config" | "subscription_quota" | "key_limit" | "illegal_transition" | "confirmation_required" | "newer_format" | "idempotency_key_reused" | "gone" | "precondition_failed" | "too_large" | "unsupported_encoding" | "unsupported_content_type" | "invalid_field" | "schema_mismatch" | "validation_failed" | "validation_not_found" | "invalid_validation" | "unknown_version" | "headers_too_large" | "too_many_requests" | "quota_exceeded" | "internal_error" | "broker_failed" | "smartsheet_failed" | "loop" | "unavailable" | "overloaded" | "store_full" | "shutting_down" | "source_paused" | "tenant_throttled" | "tenant_over_quota" | "tenant_inactive" | "config_invalid" | "data_dir_in_use" | "data_dir_not_writable" | "port_in_use" | "store_corrupt" | "store_unsafe";
  /** What was wrong, with which value, and what to do */
  detail: string;
  /** The invalid field */
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
  /** True when the event was already known; nothing has changed */
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
  /** Connections to brokers */
  connections: ({
    kind: string;
    name: string;
    /** `unused`: no source or subscription has used the connection yet */
    state: "unused" | "connecting" | "connected" | "failed";
  })[];
}

export interface Status {
  /** `QUEUE` while the destination is down and deliveries wait */
  mode: "NORMAL" | "QUEUE";
  /** All open deliveries, and the messages in the fallback queues of forwarding subscriptions */
  queue_length: number;
  last_error: string | null;
  health: "ok" | "error";
  /** The age of the oldest open delivery in seconds; null when none is open */
  oldest_open_s: number | null;
  /** `GET /api/v1/alerts` lists them */
  active_alerts: number;
  targets: ({
    name: string;
    /** `QUEUE` while the destination is down and deliveries wait */
    mode: "NORMAL" | "QUEUE";
    since: string | null;
    reason: string | null;
    health: "ok" | "error";
    queue_length: number;
    /** Failed attempts in a row */
    failures: number;
    last_error: string | null;
    /** The limit in attempts per second; null for no limit */
    rate_per_s: number | null;
  })[];
  /** Only sources with a problem: a secret or token that is too easy to guess, accepted by an older release; or a queue that cannot be read */
  sources: ({
    name: string;
    /** `error`: no sender can be verified, so all get 401; or no messages can be read from the source's queue */
    health: "ok" | "error";
    /** Which of its secrets are ignored, and why; or what is wrong with its queue */
    reason: string;
  })[];
  /** Connections to brokers; empty for keys that are bound to a tenant */
  connections: ({
    kind: string;
    name: string;
    /** `unused`: no source or subscription has used the connection yet */
    state: "unused" | "connecting" | "connected" | "failed";
    /** Why there is no connection, and what to do */
    reason: string | null;
    next_try_at: string | null;
  })[];
  /** Suspended subscriptions; their deliveries are held until they are resumed */
  suspended: ({
    id: string;
    subscription: string;
    since: string | null;
    reason: string | null;
  })[];
  /** Sources that a target does not know; their deliveries wait. With n8n, the workflows are not active */
  missing_sources: {
    source: string;
    /** The subscription whose target does not know the source but is otherwise healthy */
    subscription: string;
    since: string;
    next_try_at: string;
    last_error: string;
  }[];
  retention: {
    /** How many days events are kept; null when they are kept forever */
    days: number | null;
    oldest_event_at: string | null;
    /** About how many events are due to be deleted now */
    due_events: number | null;
    complete_until: string | null;
    /** How long the oldest of them has been due, in seconds */
    behind_s: number | null;
    /** Estimated seconds until all are deleted, at the speed of the last run */
    remaining_s: number | null;
    running: boolean;
    last_run_at: string | null;
    last_result: string | null;
  };
}

export interface Session {
  /** The id of the API key that the session stands for */
  key_id: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that the key is bound to; null for all tenants */
  tenant_id: string | null;
  /** The version of the gateway */
  version: string;
  expires_at: string | null;
  /** The look of the partner page; null for everybody except partners */
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

/** An event: an immutable fact */
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
  /** True when no subscription matched the event */
  unmatched: boolean;
  received_at: string;
  /** When the event was stored on disk */
  published_at: string;
  content_type: string | null;
  /** The size of the body in bytes */
  size: number;
  /** When the body was erased; null otherwise */
  body_erased_at: string | null;
  /** The number of values that were masked before the event was stored */
  masked: number;
  /** The id of the event that was edited to create this one */
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
  /** The request line of a received webhook */
  request?: {
    method: string;
    path: string;
    query: string;
  } | undefined;
  deliveries: Delivery[];
  /** The body: JSON exactly as received, other text as a string */
  payload?: unknown;
  /** A body that is not text */
  payload_base64?: string | undefined;
}

/** The delivery of one event to one subscription */
export interface Delivery {
  id: string;
  event_id: string;
  event_type: string;
  tenant_id: string;
  subscription_id: string;
  /** The current name of the subscription; null when it was deleted */
  subscription_name: string | null;
  status: "pending" | "sending" | "delivered" | "dead" | "cancelled";
  /** Why the delivery waits. `unknown_kind`: this release does not know the kind of destination. `queue_mode`: an operator set the target to `QUEUE`. `throttled` appears only for test deliveries */
  hold_reason: "paused" | "suspended" | "unknown_kind" | "destination_down" | "queue_mode" | "ordering_key" | "throttled" | null;
  /** 1 at first, and one more after each replay */
  generation: number;
  attempt_count: number;
  next_attempt_at: string | null;
  last_error: string | null;
  dead_reason: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | null;
  created_at: string;
  completed_at: string | null;
}

export interface ExportedEvent extends Event {
  /** The body: JSON exactly as received, other text as a string */
  payload?: unknown;
  /** A body that is not text */
  payload_base64?: string | undefined;
}

export interface StreamEvent extends Event {
  /** The request line of a received webhook */
  request?: {
    method: string;
    path: string;
    query: string;
  } | undefined;
  /** The body: JSON exactly as received, other text as a string */
  payload?: unknown;
  /** A body that is not text */
  payload_base64?: string | undefined;
  /** Set with `body` when the body is larger than 256 KiB; get the event to read it */
  payload_omitted?: boolean | undefined;
}

export interface StreamAttempt extends Delivery {
  /** Null when the subscription was deleted */
  subscription_name: string | null;
  /** The source of the event */
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
  /** The position at which the stream begins */
  position: string;
}

export interface StreamGap {
  /** `deleted`: events in between were deleted, by retention or by a user. `unknown_position`: the id belongs to another store, or the store was restored from a backup since; the stream begins with new events */
  reason: "deleted" | "unknown_position";
  /** Nothing received since this time is missing; null means now */
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
  /** The IP address that the host name resolved to */
  address: string | null;
  request_headers: Record<string, string | string[]> | null;
  response_code: number | null;
  response_headers: Record<string, string | string[]> | null;
  /** The first 8 KB of the response body */
  response_body: string | null;
  record?: Record<string, unknown> | null | undefined;
  error: string | null;
  trigger: "first" | "retry" | "manual" | "replay";
}

/** A job that replays, cancels or purges many deliveries. It continues after a restart */
export interface Replay {
  id: string;
  kind: "dead_letters" | "events" | "recover" | "cancel" | "purge";
  status: "running" | "paused" | "completed" | "cancelled" | "failed";
  /** Null for all tenants */
  tenant_id: string | null;
  filter: ReplayFilter;
  /** The number of deliveries found at the start */
  total: number;
  /** False when there were more than could be counted in time */
  total_exact: boolean;
  done: number;
  /** Deliveries that had changed in the meantime */
  skipped: number;
  /** Deliveries whose subscription was deleted */
  failed: number;
  /** Why the job failed; set with the status `failed` */
  error: string | null;
  created_at: string;
  started_at: string;
  completed_at: string | null;
}

/** The filter of the request */
export interface ReplayFilter {
  /** Only deliveries to this subscription */
  subscription_id?: string | undefined;
  /** Only deliveries of this tenant; for keys that are not bound to a tenant */
  tenant_id?: string | undefined;
  /** Only events of exactly this type */
  event_type?: string | undefined;
  /** Only events from this source */
  source?: string | undefined;
  /** Only deliveries that are dead for this reason */
  reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
  /** Only pending deliveries, not those being sent right now */
  status?: "pending" | undefined;
  /** Replay dead letters, events that the subscription never got, or both. Default: `"failed"` */
  include?: "failed" | "missing" | "all" | undefined;
  /** Received at this time or later; for dead letters: dead at this time or later */
  since?: string | undefined;
  /** Received, or dead, before this time */
  until?: string | undefined;
}

/** The number of deliveries that a replay would process */
export interface ReplayPlan {
  kind: "dead_letters" | "events" | "recover" | "cancel" | "purge";
  filter: ReplayFilter;
  count: number;
  /** False when `count` is only a lower bound */
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
  /** The error code; or `duplicate`, `filtered`, `invalid`, or a cause that the kind of source defines */
  cause: string | null;
  events: ({
    event_id: string | null;
    outcome: "accepted" | "rejected" | "ignored";
    /** The error code; or `duplicate`, `filtered`, `invalid`, or a cause that the kind of source defines */
    cause: string | null;
  })[];
  replayed_at: string | null;
  /** The id of the API key */
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
  /** The secrets that are valid now, without their values */
  secrets: ({
    id: string;
    current: boolean;
    /** The last characters of the secret */
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
  /** Null when the kind of source determines it */
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
  /** Masked, except in the answer to create */
  path_token: string | null;
  /** Settings of the kind */
  options: Record<string, unknown>;
  /** Where it can be changed; `contact`: it is a contact of its tenant, and is changed there */
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
  /** What PUT would do */
  act: "update" | "create" | "none";
  /** The fields that would change; for a new object, all fields that are set */
  changes: {
    field: string;
    /** Null when the field or the object would be new */
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

/** Which events are delivered, and to which destination */
export interface Subscription {
  id: string;
  /** A name for people; unique per tenant */
  name: string;
  tenant_id: string;
  kind: "http" | "email" | "sms" | "batch" | "amqp" | "azure-service-bus" | "azure-storage-queue";
  /** The settings of the destination, for kinds that have them here */
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
  /** Why nothing is sent: this release does not know the kind of destination */
  held_reason?: string | undefined;
  /** Only with `handshake`: the destination's answer since the last change of the subscription or start of the gateway */
  handshake_result?: {
    /** `pending`: the destination has not answered yet; it is asked again before the next attempt */
    status: "pending" | "accepted" | "refused";
    answered_at: string | null;
    error: string | null;
  } | undefined;
  ed25519_public_key: string | null;
  /** Only in answers to changes: settings that will not work as one might expect */
  warnings?: string[] | undefined;
  /** Where it can be changed; `contact`: it is a contact of its tenant, and is changed there */
  managed_by: "api" | "config" | "former_config" | "contact";
  /** The id of the key that created the subscription */
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
    /** From 0 to 1; null without attempts */
    success_rate_1h: number | null;
    /** From 0 to 1; null without attempts */
    success_rate_24h: number | null;
    /** Milliseconds, from the attempts of the last 24 hours */
    latency_p50_ms: number | null;
    /** Milliseconds, from the attempts of the last 24 hours */
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

export interface SubscriptionWithSecret extends Subscription {
  /** Shown only here and by `/secret` */
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
  /** Identifies the message at the broker: a number, the broker's id, or a hash of the body */
  id: string;
  message_id: string | null;
  /** Why the message was parked; RabbitMQ's own reasons are `rejected`, `expired` … */
  reason: string | null;
  description: string | null;
  /** The queue that the message came from and is requeued to; null when unknown */
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
  /** The largest relative error of a latency */
  latency_max_error: number;
}

/** Counters of attempts and their results */
export interface StatisticsWindow {
  attempt_count: number;
  success_count: number;
  failure_count: number;
  /** From 0 to 1; null without attempts */
  success_rate: number | null;
  latency_p50_ms: number | null;
  latency_p99_ms: number | null;
  /** The seconds that each entry of the series covers */
  bucket_s: number;
  /** Sorted by time, latest last */
  series: ({
    at: string;
    attempt_count: number;
    success_count: number;
    failure_count: number;
    /** From 0 to 1; null without attempts */
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
  /** From 0 to 1; null without attempts */
  success_rate: number | null;
  latency_p50_ms: number | null;
  latency_p99_ms: number | null;
  /** Accepted events; null when asked for one tenant or subscription */
  event_count: number | null;
  /** The seconds that each entry of the series covers */
  bucket_s: number;
  /** Sorted by time, latest last */
  series: ({
    at: string;
    attempt_count: number;
    success_count: number;
    failure_count: number;
    /** From 0 to 1; null without attempts */
    success_rate: number | null;
    latency_p50_ms: number | null;
    latency_p99_ms: number | null;
    /** Accepted events; null when asked for one tenant or subscription */
    event_count: number | null;
  })[];
}

export interface Statistics {
  /** Null for all tenants */
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
    /** Deliveries that are dead now; `dead` also counts those that were replayed since */
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
  /** The largest relative error of a latency */
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
  /** The body, byte for byte */
  body_base64: string;
}

/** A destination of subscriptions */
export interface Target {
  /** The name of the target, or of the subscription that it belongs to */
  name: string;
  tenant_id: string;
  /** What is known of such a target, for all subscriptions that send to it */
  preset: "n8n" | null;
  /** Where it is; a preset finds its health check there */
  url: string | null;
  /** Null when a delivery is used to find out whether the destination is back */
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
  /** True when several subscriptions may use the target; false when it belongs to one subscription */
  shared: boolean;
  /** The ids of the subscriptions that use the target */
  subscriptions: string[];
  /** `QUEUE`: deliveries wait until the destination is back */
  mode: "NORMAL" | "QUEUE";
  /** The mode that an operator has set */
  forced: "NORMAL" | "QUEUE" | null;
  since: string | null;
  /** Why the target is in its mode; null when the mode never changed */
  reason: string | null;
  health: "ok" | "error";
  checked_at: string | null;
  /** Open deliveries */
  queue_length: number;
  /** Failed attempts in a row */
  failures: number;
  last_error: string | null;
  /** Where it can be changed; `contact`: it is a contact of its tenant, and is changed there */
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
  /** Further contacts, and the events that each gets */
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
  /** Where it can be changed; `contact`: it is a contact of its tenant, and is changed there */
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

/** The progress of a tenant's erasure, which continues after a restart */
export interface TenantErasure {
  tenant_id: string;
  status: "running" | "completed";
  /** The kind of data that is being erased now */
  stage: "records" | "events" | "requests" | "ids" | "forms" | "versions" | "names" | "rest" | "audit" | "done";
  /** The number of events at the start */
  total: number;
  /** Erased events */
  events: number;
  /** Erased deliveries */
  deliveries: number;
  /** The size of the erased bodies in bytes */
  bytes: number;
  /** Erased requests */
  requests: number;
  /** Erased subscriptions, keys, sources and other configuration */
  records: number;
  /** Audit log entries whose content was erased; that they existed stays visible */
  audit_entries: number;
  started_at: string;
  completed_at: string | null;
}

export interface Key {
  id: string;
  /** What the key is for */
  name: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that the key is bound to; null for all tenants */
  tenant_id: string | null;
  expires_at: string | null;
  /** The first characters of the key */
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
  /** Where it can be changed; `contact`: it is a contact of its tenant, and is changed there */
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
  /** Until then deliveries are signed with both secrets */
  overlap_ends_at: string | null;
  secrets: ({
    state: "current" | "next" | "previous";
    created_at: string;
    expires_at: string | null;
  })[];
}

export interface Secrets {
  id: string;
  /** The current secret */
  secret: string;
  overlap_ends_at: string | null;
  /** `automatic`: the gateway rotates the secret after `secret_rotation_days`, because an active subscription of the tenant asks for `webhook.secret_rotating`. `manual`: only the owner rotates it. `overdue`: `manual`, and the secret is older than that */
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
  /** The last 50 runs */
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

/** One entry of the audit log: who did what, and when */
export interface AuditEntry {
  /** 1, 2, 3 …, without a gap */
  seq: number;
  at: string;
  /** `key:ID`, `config`, `gateway` or `local:USER` */
  actor: string;
  /** The method and route, or the command line command */
  via: string | null;
  /** The IP address that the request came from */
  address: string | null;
  act: string;
  /** The kind of object that was changed */
  kind: string;
  id: string;
  /** The tenant that owns the object */
  tenant_id: string | null;
  /** The changed fields before the change; secrets are masked */
  before: Record<string, unknown> | null;
  /** The changed fields after the change; secrets are masked */
  after: Record<string, unknown> | null;
  /** More facts, such as a reason or a number */
  details: Record<string, unknown> | null;
  /** True when the content of the entry was erased with its tenant */
  erased: boolean;
  /** SHA-256 of the previous entry's hash and this entry */
  hash: string;
}

export interface Alert {
  id: string;
  rule: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  /** Null for an alert of the whole gateway */
  tenant_id: string | null;
  status: "active" | "cleared";
  severity: "info" | "warning" | "critical";
  summary: string;
  action_required: string;
  /** The value of the worst cause */
  value: number;
  threshold: number;
  unit: "percent" | "seconds" | "days" | "MiB" | "count";
  /** The number of causes */
  count: number;
  /** The first 20 causes, worst first */
  causes: ({
    /** The name of the cause, for `mute` */
    cause: string;
    /** The tenant of the cause; set only in alerts of the whole gateway */
    tenant_id: string | null;
    name: string;
    value: number;
    detail: string | null;
  })[];
  fired_at: string;
  cleared_at: string | null;
  acknowledged: {
    at: string;
    /** The id of the API key */
    by: string;
    note: string | null;
  } | null;
  /** True while no messages are sent about this alert */
  muted: boolean;
  mutes: ({
    /** Null when the whole rule is muted, for its tenant or for the gateway */
    cause: string | null;
    until: string | null;
    at: string;
    /** The id of the API key */
    by: string;
    note: string | null;
  })[];
  /** The last 10 messages, latest first, with the results of their deliveries */
  told: ({
    event_type: "alert.fired" | "alert.cleared";
    /** The id of the alert event; its deliveries show who received it */
    event_id: string;
    at: string;
    open: number;
    delivered: number;
    /** The number of channels that could not be reached */
    dead: number;
  })[];
}

export interface AlertRule {
  rule: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  description: string;
  enabled: boolean;
  severity: "info" | "warning" | "critical";
  unit: "percent" | "seconds" | "days" | "MiB" | "count";
  /** Whether a value above or below the threshold is bad */
  bad: "above" | "below";
  threshold: number;
  /** How far beyond the threshold a value must be to count as good again */
  margin: number;
  window_s: number | null;
  min_attempts: number | null;
  /** The alert fires after this many bad evaluations in a row */
  fires_after: number;
  /** The alert clears after this many good evaluations in a row */
  clears_after: number;
  /** Minimum number of seconds between two messages that the alert fired */
  cool_down_s: number;
  /** The worst value at the last evaluation; null when nothing was measured */
  worst_value: number | null;
  /** The number of values measured */
  measured: number;
  /** The number of bad values */
  bad_now: number;
  /** The id of this rule's active alert for the whole gateway */
  active_alert: string | null;
}

export interface Validation {
  endpoint: string;
  /** Both formats of an endpoint share one sequence of numbers */
  version: number;
  /** `json`: a JSON Schema, rules or both; `xsd`: an XML Schema */
  format: "json" | "xsd";
  size: number;
  created_at: string;
  /** The id of the API key, or `folder` */
  created_by: string;
}

export interface ValidationVersion {
  /** Both formats of an endpoint share one sequence of numbers */
  version: number;
  /** `json`: a JSON Schema, rules or both; `xsd`: an XML Schema */
  format: "json" | "xsd";
  size: number;
  created_at: string;
  /** The id of the API key, or `folder` */
  created_by: string;
  /** Whether this version records that the validation was deleted */
  deleted: boolean;
  /** The version that was restored */
  restored_from: number | null;
  in_force: boolean;
}

export interface ValidationTryOut {
  valid: boolean;
  endpoint: string;
  /** Which validation was used: the endpoint's own or `default`; null when there is none */
  validation: string | null;
  /** At most 100 errors */
  errors: ({
    /** A JSON Pointer; for XML, an XPath */
    path: string;
    message: string;
    /** In XML */
    line?: number | undefined;
  })[];
}

/** Format `envelope`, the default for published events */
export interface Envelope {
  /** The id of the delivery */
  webhook_id: string;
  /** The event type */
  event: string;
  event_id: string;
  timestamp: string;
  /** The payload: JSON exactly as received, other text as a string */
  data?: unknown;
  /** The payload when it is not text */
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
  /** The host of the destination's URL; other parts of the URL may contain a token */
  url_host: string;
  /** Dead deliveries since the last success */
  dead_in_a_row: number;
  /** Seconds since the destination was last reached */
  down_for_s: number;
  last_error: string | null;
  /** The subscription is suspended after more dead deliveries in a row than this */
  suspended_after_dead: number;
  /** The subscription is suspended when the destination was not reached for this many seconds */
  suspended_after_down_s: number;
}

export interface WebhookSuspended {
  /** The id of the subscription */
  webhook_id: string;
  reason: string;
  action_required: string;
  name: string;
  /** The host of the destination's URL; other parts of the URL may contain a token */
  url_host: string;
  /** Dead deliveries since the last success */
  dead_in_a_row: number;
  /** Seconds since the destination was last reached */
  down_for_s: number;
  last_error: string | null;
}

export interface WebhookResumed {
  /** The id of the subscription */
  webhook_id: string;
  previous_status: "inactive" | "suspended";
  /** Whether held deliveries are sent or skipped */
  held: "deliver" | "skip";
  skipped_deliveries: number;
  name: string;
  /** The host of the destination's URL; other parts of the URL may contain a token */
  url_host: string;
}

export interface WebhookSecretRotating {
  /** The id of the subscription */
  webhook_id: string;
  name: string;
  trigger: "manual" | "automatic";
  rotated_at: string;
  /** Until then deliveries are signed with both secrets */
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
  /** The same as `webhook_id` */
  subscription_id: string;
  /** The name of the subscription */
  name: string;
  reason: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | null;
  /** The error of the last attempt; null when there was no attempt */
  last_error: string | null;
  /** The same as `last_error`, or the reason without an attempt */
  error: string | null;
  attempts: number;
}

export interface GatewayModeChanged {
  /** The name of the target; for a target that belongs to one subscription, the subscription's name */
  target: string;
  /** The id of that subscription; null for a shared target */
  webhook_id: string | null;
  /** `QUEUE`: deliveries wait, and the destination is tried from time to time */
  mode: "NORMAL" | "QUEUE";
  previous_mode: "NORMAL" | "QUEUE";
  since: string;
  reason: string | null;
  /** True when an operator set the mode */
  forced: boolean;
  /** Failed attempts in a row */
  failures: number;
  /** The host of the destination's URL; other parts of the URL may contain a token */
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
  /** The same as `rule` */
  code: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  severity: "info" | "warning" | "critical";
  /** One line for a chat or a phone */
  summary: string;
  description: string;
  /** The worst cause */
  subject: string | null;
  /** Set with `validation_broken`: the endpoint of the validation */
  endpoint: string | null;
  /** Details about that cause */
  reason: string | null;
  /** The number of causes */
  count: number;
  /** The first 20 causes, worst first */
  causes: ({
    /** The name of the cause, for `mute` */
    cause: string;
    /** The tenant of the cause; set only in alerts of the whole gateway */
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
  /** The same as `rule` */
  code: "success_rate" | "latency_p99" | "retry_rate" | "dead_letters" | "subscription_suspended" | "subscription_failing" | "target_queue" | "source_disabled" | "parked_messages" | "validation_broken" | "key_queue_blocked" | "disk_low" | "oldest_delivery" | "certificate_expiring" | "secret_overdue";
  severity: "info" | "warning" | "critical";
  summary: string;
  description: string;
  /** The worst cause */
  subject: string | null;
  /** Set with `validation_broken`: the endpoint of the validation */
  endpoint: string | null;
  /** Details about that cause */
  reason: string | null;
  /** The number of causes */
  count: number;
  /** The first 20 causes, worst first */
  causes: ({
    /** The name of the cause, for `mute` */
    cause: string;
    /** The tenant of the cause; set only in alerts of the whole gateway */
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
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  /** An event type, or a pattern: `*` matches one word, `#` any number of words */
  event_type?: string | undefined;
  /** The source's name */
  source?: string | undefined;
  /** Only events of this tenant; for keys that are not bound to a tenant */
  tenant_id?: string | undefined;
  /** Received at this time or later */
  since?: string | undefined;
  /** Received before this time */
  until?: string | undefined;
  /** The state of the event's deliveries */
  status?: "PENDING" | "COMPLETED" | "FAILED" | undefined;
  /** True: only events that no subscription matched; false: only events that one did */
  unmatched?: boolean | undefined;
  /** An event id, or the beginning of one followed by `*` */
  id?: string | undefined;
  /** The ordering key */
  ordering_key?: string | undefined;
  /** A member of the metadata: `name` or `name=value`; can be repeated */
  label?: string | string[] | undefined;
  /** Conditions on a JSON body, as under `data` of an `event_filter`: `{"order":{"total":{"$gt":100}}}` */
  data?: string | undefined;
  /** Text that occurs anywhere in the body; upper and lower case are the same */
  text?: string | undefined;
}

export interface EventsListPage {
  data: Event[];
  /** The `cursor` of the next page; null on the last page */
  next_cursor: string | null;
  /** Events back to this time were searched; null when all events were searched */
  searched_until: string | null;
  /** The number of bodies that were too large to search by `text` or `data` */
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
  /** How many seconds the link works. Default: `3600` */
  expires_in_s?: number | undefined;
}

/** Get an event with its body and deliveries: what to ask for */
export interface EventsGetQuery {
  /** `true`: show the body as JSON or text; `base64`: byte for byte in `payload_base64`. Default: `"true"` */
  body?: "true" | "base64" | undefined;
}

/** Erase the body of an event: what to ask for */
export interface EventsEraseBodyQuery {
  /** Erase even if deliveries are open; these become dead letters. Default: `false` */
  force?: boolean | undefined;
}

export interface EventsEraseBodyAnswer {
  event_id: string;
  ended_deliveries: number;
}

/** Export events with their bodies, as NDJSON: what to ask for */
export interface EventsExportQuery {
  /** An event type, or a pattern: `*` matches one word, `#` any number of words */
  event_type?: string | undefined;
  /** The source's name */
  source?: string | undefined;
  /** Only events of this tenant; for keys that are not bound to a tenant */
  tenant_id?: string | undefined;
  /** Received at this time or later */
  since?: string | undefined;
  /** Received before this time */
  until?: string | undefined;
  /** The state of the event's deliveries */
  status?: "PENDING" | "COMPLETED" | "FAILED" | undefined;
  /** True: only events that no subscription matched; false: only events that one did */
  unmatched?: boolean | undefined;
  /** An event id, or the beginning of one followed by `*` */
  id?: string | undefined;
  /** The ordering key */
  ordering_key?: string | undefined;
  /** A member of the metadata: `name` or `name=value`; can be repeated */
  label?: string | string[] | undefined;
  /** Conditions on a JSON body, as under `data` of an `event_filter`: `{"order":{"total":{"$gt":100}}}` */
  data?: string | undefined;
  /** Text that occurs anywhere in the body; upper and lower case are the same */
  text?: string | undefined;
}

/** Follow events, attempts, modes and alerts live: what to ask for */
export interface StreamQuery {
  /** The frames to send, separated by commas: event, attempt, mode, alert; all by default */
  types?: string | undefined;
  /** An event type, or a pattern: `*` matches one word, `#` any number of words */
  event_type?: string | undefined;
  /** The source's name */
  source?: string | undefined;
  /** Only events of this tenant; for keys that are not bound to a tenant */
  tenant_id?: string | undefined;
  /** Only attempts of this subscription, and events that have a delivery to it */
  subscription_id?: string | undefined;
  /** Only attempts whose delivery has this status when the frame is created */
  status?: "pending" | "sending" | "delivered" | "dead" | "cancelled" | undefined;
  /** Include bodies of up to 256 KiB. `true`: as JSON or text; `base64`: byte for byte. Default: `"false"` */
  body?: "true" | "false" | "base64" | undefined;
  /** False: the stream ends when everything up to now was sent. Default: `true` */
  follow?: boolean | undefined;
  /** Used only without a last id: begins with events received since this time, and with attempts from now on */
  since?: string | undefined;
  /** The same as the header `Last-Event-ID`, for clients that cannot send it */
  last_event_id?: string | undefined;
}

/** List deliveries: what to ask for */
export interface DeliveriesListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  subscription_id?: string | undefined;
  tenant_id?: string | undefined;
  status?: "pending" | "sending" | "delivered" | "dead" | "cancelled" | undefined;
}

/** List dead letters, latest first: what to ask for */
export interface DeadLettersListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  /** Only deliveries to this subscription */
  subscription_id?: string | undefined;
  /** Only deliveries of this tenant; for keys that are not bound to a tenant */
  tenant_id?: string | undefined;
  /** Only deliveries that are dead for this reason */
  reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
  /** Only events of exactly this type */
  event_type?: string | undefined;
  /** Dead at this time or later */
  since?: string | undefined;
  /** Dead before this time */
  until?: string | undefined;
}

export interface DeadLettersReplayBody {
  /** Only this delivery, at once */
  id?: string | undefined;
  filter?: {
    /** Only deliveries to this subscription */
    subscription_id?: string | undefined;
    /** Only deliveries of this tenant; for keys that are not bound to a tenant */
    tenant_id?: string | undefined;
    /** Only deliveries that are dead for this reason */
    reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
    /** Only events of exactly this type */
    event_type?: string | undefined;
    /** Dead at this time or later */
    since?: string | undefined;
    /** Dead before this time */
    until?: string | undefined;
  } | undefined;
  /** Select everything, instead of a filter */
  all?: true | undefined;
  /** Only count the deliveries; nothing is changed. Default: `false` */
  plan?: boolean | undefined;
}

export type DeadLettersReplayAnswer = Delivery | Replay;

export interface ReplaysCreateBody {
  /** What the job does: replay dead letters or events, recover a subscription, or cancel deliveries */
  kind: "dead_letters" | "events" | "recover" | "cancel";
  filter?: {
    /** Only deliveries to this subscription */
    subscription_id?: string | undefined;
    /** Only deliveries of this tenant; for keys that are not bound to a tenant */
    tenant_id?: string | undefined;
    /** Only events of exactly this type */
    event_type?: string | undefined;
    /** Only events from this source */
    source?: string | undefined;
    /** Only deliveries that are dead for this reason */
    reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
    /** Only pending deliveries, not those being sent right now */
    status?: "pending" | undefined;
    /** Replay dead letters, events that the subscription never got, or both. Default: `"failed"` */
    include?: "failed" | "missing" | "all" | undefined;
    /** Received at this time or later; for dead letters: dead at this time or later */
    since?: string | undefined;
    /** Received, or dead, before this time */
    until?: string | undefined;
  } | undefined;
  /** Only count the deliveries; nothing is changed. Default: `false` */
  plan?: boolean | undefined;
}

/** List replays, latest first: what to ask for */
export interface ReplaysListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  tenant_id?: string | undefined;
  status?: "running" | "paused" | "completed" | "cancelled" | "failed" | undefined;
}

export interface SubscriptionsRecoverBody {
  /** Only events received at this time or later */
  since: string;
  /** Only events received before this time */
  until?: string | undefined;
  /** Replay dead letters, events that the subscription never got, or both. Default: `"failed"` */
  include?: "failed" | "missing" | "all" | undefined;
  /** Only count the deliveries; nothing is changed. Default: `false` */
  plan?: boolean | undefined;
}

export interface DeliveriesCancelManyBody {
  filter: {
    /** Only deliveries to this subscription */
    subscription_id?: string | undefined;
    /** Only deliveries of this tenant; for keys that are not bound to a tenant */
    tenant_id?: string | undefined;
    /** Only events of exactly this type */
    event_type?: string | undefined;
    /** Only pending deliveries, not those being sent right now */
    status?: "pending" | undefined;
    /** Received at this time or later */
    since?: string | undefined;
    /** Received before this time */
    until?: string | undefined;
  };
  /** Only count the deliveries; nothing is changed. Default: `false` */
  plan?: boolean | undefined;
}

export interface DeadLettersPurgeBody {
  filter?: {
    /** Only deliveries to this subscription */
    subscription_id?: string | undefined;
    /** Only deliveries of this tenant; for keys that are not bound to a tenant */
    tenant_id?: string | undefined;
    /** Only deliveries that are dead for this reason */
    reason?: "refused" | "retries_exhausted" | "gone" | "expired" | "held_too_long" | "poison" | "blocked" | "too_large" | "erased" | undefined;
    /** Only events of exactly this type */
    event_type?: string | undefined;
    /** Dead at this time or later */
    since?: string | undefined;
    /** Dead before this time */
    until?: string | undefined;
  } | undefined;
  /** Select everything, instead of a filter */
  all?: true | undefined;
  /** The `count` from the answer to a request without `confirm`, or the word `purge` */
  confirm?: number | "purge" | undefined;
}

/** List the rejected requests of a source: what to ask for */
export interface SourcesListRequestsQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  outcome?: "accepted" | "rejected" | "ignored" | undefined;
  /** `bad_signature`, `filtered`, … */
  cause?: string | undefined;
}

/** List the rejected and ignored requests of all sources: what to ask for */
export interface RequestsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  outcome?: "accepted" | "rejected" | "ignored" | undefined;
  /** `bad_signature`, `filtered`, … */
  cause?: string | undefined;
  /** The source's name */
  source?: string | undefined;
  /** Only events of this tenant; for keys that are not bound to a tenant */
  tenant_id?: string | undefined;
  /** Received at this time or later */
  since?: string | undefined;
  /** Received before this time */
  until?: string | undefined;
}

export interface RequestsReplayAnswer extends Request {
  result: {
    outcome: "accepted" | "ignored";
    /** The error code; or `duplicate`, `filtered`, `invalid`, or a cause that the kind of source defines */
    cause: string | null;
  };
}

/** List sources: what to ask for */
export interface SourcesListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
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
  /** The secret that the sender uses; generated if you leave it out */
  secret?: string | undefined;
  /** How many seconds earlier secrets stay valid; 0 ends them at once. Default: `1209600` */
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
  /** The id of the job that cancels the remaining deliveries when there are many */
  job_id: string | null;
}

export interface SubscriptionsResumeBody {
  /** Whether held deliveries are sent or cancelled. Default: `"deliver"` */
  held?: "deliver" | "skip" | undefined;
}

/** List the parked messages of a source: what to ask for */
export interface SourcesListParkedQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  /** Only messages that were parked for this reason */
  reason?: string | undefined;
}

export interface SourcesListParkedPage {
  data: ParkedMessage[];
  next_cursor: string | null;
  count: number | null;
  limits: {
    /** How many messages can be listed, starting with the oldest */
    looks_at: number;
    /** Whether the list has further pages (`next_cursor`) */
    can_page: boolean;
    /** True when the broker has no peek: listing receives messages and returns them, which counts as a delivery */
    counts_looks: boolean;
    /** Whether a requeued message keeps its id */
    keeps_id: boolean;
  };
}

export interface SourcesGetParkedAnswer extends ParkedMessage {
  properties: Record<string, unknown>;
  body?: string | undefined;
  body_base64?: string | undefined;
}

export interface SourcesRequeueParkedBody {
  /** Only messages that were parked for this reason */
  reason?: string | undefined;
  /** Only the messages with these ids from the list */
  ids?: string[] | undefined;
}

export interface SourcesRequeueParkedAnswer {
  requeued: number;
  without_origin: number;
  complete: boolean;
}

export interface SourcesPurgeParkedBody {
  /** Only messages that were parked for this reason */
  reason?: string | undefined;
  /** Only the messages with these ids from the list */
  ids?: string[] | undefined;
  /** The number of messages to delete; if it is wrong, nothing is deleted */
  count?: number | undefined;
}

export interface SourcesPurgeParkedAnswer {
  purged: number;
  complete: boolean;
}

/** Get received events and attempts over time: what to ask for */
export interface StatsGetSeriesQuery {
  /** Only figures of this tenant */
  tenant_id?: string | undefined;
  /** Default: `"last_1h"` */
  window?: "last_15m" | "last_1h" | "last_24h" | "last_7d" | undefined;
  /** Only figures of this subscription */
  subscription_id?: string | undefined;
}

/** Get statistics of the gateway or of one tenant: what to ask for */
export interface StatsGetQuery {
  /** Only figures of this tenant */
  tenant_id?: string | undefined;
}

export interface SubscriptionsPreviewBody {
  /** The id of a stored event */
  event_id: string;
}

export interface FiltersTestBody {
  /** The same as `event_filter` of a subscription */
  filter: Record<string, unknown> | string;
  event?: {
    event_type?: string | undefined;
    source?: string | undefined;
    tenant_id?: string | undefined;
    priority?: "critical" | "high" | "normal" | "low" | undefined;
    headers?: Record<string, unknown> | undefined;
    query?: Record<string, unknown> | string | undefined;
    metadata?: Record<string, unknown> | undefined;
    /** The JSON body; leave it out if the body is not JSON */
    data?: unknown;
  } | undefined;
  /** The id of a stored event */
  event_id?: string | undefined;
}

export interface FiltersTestAnswer {
  match: boolean;
  failed?: {
    path: string;
    operator: string;
    expected: unknown;
    /** The value at that path; missing when the event has none */
    found?: unknown;
  } | undefined;
}

export interface TemplatesPreviewBody {
  /** Render the templates of this subscription */
  subscription_id?: string | undefined;
  /** The kind of destination of `settings`; `http` by default */
  kind?: string | undefined;
  /** Settings of a destination that contain templates, as in a subscription */
  settings?: Record<string, unknown> | undefined;
  templates?: ({
    name?: string | undefined;
    text: string;
    /** Where the text is used, which determines escaping; `text` by default */
    place?: "text" | "html" | "json" | "url" | "header" | undefined;
  })[] | undefined;
  /** Patterns of event types; templates may use only fields of their schemas. By default the type of the event */
  events?: string[] | undefined;
  event?: {
    event_type?: string | undefined;
    source?: string | undefined;
    tenant_id?: string | undefined;
    priority?: "critical" | "high" | "normal" | "low" | undefined;
    headers?: Record<string, unknown> | undefined;
    query?: Record<string, unknown> | string | undefined;
    metadata?: Record<string, unknown> | undefined;
    /** The JSON body; leave it out if the body is not JSON */
    data?: unknown;
  } | undefined;
  /** The id of a stored event */
  event_id?: string | undefined;
}

export interface TemplatesPreviewAnswer {
  /** Problems for which a subscription with these templates would be rejected */
  problems: {
    field: string;
    message: string;
  }[];
  rendered: {
    name: string;
    text: string;
  }[] | null;
  /** The problem for which the delivery would become a dead letter */
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
  /** A mode that is set stays until `auto`, which lets the target's health decide again */
  mode: "NORMAL" | "QUEUE" | "auto";
}

/** Set the mode of a target: what to ask for */
export interface TargetsSetModeQuery {
  tenant_id?: string | undefined;
}

export interface SubscriptionsDrainAnswer {
  id: string;
  target: string;
  /** `QUEUE`: deliveries wait until the destination is back */
  mode: "NORMAL" | "QUEUE";
  waiting: number;
}

/** List tenants: what to ask for */
export interface TenantsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
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
  /** The id of the tenant, as confirmation; nothing is erased without it */
  confirm?: string | undefined;
}

/** List keys: what to ask for */
export interface KeysListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  tenant_id?: string | undefined;
}

export interface KeysCreateBody {
  /** What the key is for */
  name: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that the key is bound to; null for all tenants */
  tenant_id?: string | null | undefined;
  expires_at?: string | null | undefined;
}

export interface KeysPutBody {
  /** What the key is for */
  name: string;
  scopes: ("admin" | "publish" | "read")[];
  /** The tenant that the key is bound to; null for all tenants */
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
  /** The tenant that the key is bound to; null for all tenants */
  tenant_id?: string | null | undefined;
  expires_at?: string | null | undefined;
}

/** List event types: what to ask for */
export interface EventTypesListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
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
  /** Only show what would change. Default: `false` */
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
  /** How many seconds both secrets sign deliveries; 0 retires the old one at once. Default: `1209600` */
  overlap_s?: number | undefined;
  /** Replace a rotation that is in progress. Default: `false` */
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

/** List the audit log, latest first: what to ask for */
export interface AuditListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  /** `key:ID`, `config`, `gateway` or `local:USER` */
  actor?: string | undefined;
  /** `subscription.update` */
  act?: string | undefined;
  /** The kind of object: `subscription`, `source`, `key` … */
  kind?: string | undefined;
  /** The id of the object; only together with `kind` */
  id?: string | undefined;
  /** The tenant that owns the object */
  tenant_id?: string | undefined;
  /** Only entries at this time or later */
  since?: string | undefined;
  /** Only entries before this time */
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
  /** The public key that verifies the signature of the head */
  public_key: string;
}

/** List the status changes of a subscription, latest first: what to ask for */
export interface SubscriptionsListHistoryQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
}

export interface SubscriptionsListHistoryItem {
  at: string;
  /** Null when the subscription was created */
  from: string | null;
  to: string | null;
  actor: string;
  act: string;
  /** Why the gateway itself made the change */
  reason: string | null;
  /** The `seq` of the entry in the audit log */
  audit_seq: number;
}

/** List alerts: what to ask for */
export interface AlertsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
  /** List the alerts of this tenant instead of those of the whole gateway */
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
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
}

export interface AlertsAcknowledgeBody {
  /** For people */
  note?: string | undefined;
}

export interface AlertsMuteBody {
  /** How many seconds the mute lasts. Without it, until it is unmuted */
  for_s?: number | undefined;
  /** The `cause` to mute or unmute. Without it, the whole rule, for the tenant or for the gateway */
  cause?: string | undefined;
  /** For people */
  note?: string | undefined;
}

export interface AlertsUnmuteBody {
  /** The `cause` to mute or unmute. Without it, the whole rule, for the tenant or for the gateway */
  cause?: string | undefined;
}

/** List validations: what to ask for */
export interface ValidationsListQuery {
  /** Default: `50` */
  limit?: number | undefined;
  /** `next_cursor` of the previous page */
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
  /** `next_cursor` of the previous page */
  cursor?: string | undefined;
}

export interface ValidationsRollbackBody {
  version: number;
}

export interface ValidationsRollbackAnswer {
  status: "validation_updated";
  endpoint: string;
  /** Both formats of an endpoint share one sequence of numbers */
  version: number;
  /** Both formats of an endpoint share one sequence of numbers */
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
  /** Replay to this subscription only; it need not have received the event before */
  subscription_id?: string | undefined;
  /** The body of a new event that is sent instead; any JSON, kept byte for byte */
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
  /** Use this version instead of the current one */
  version?: number | undefined;
  /** The body is `{validation, payload, content_type?}`: a document that is not in effect, and the payload to check. XML is given as text. Default: `false` */
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
