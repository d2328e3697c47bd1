import { Type, type TProperties } from "typebox";
import { MAX_RETENTION_DAYS } from "../model/retention.ts";
import { withVariables, optionalText } from "./setting-schema.ts";
import { SUBSCRIPTION_FIELDS } from "../destinations/kinds.ts";
import { AlertRuleInput, type AlertChannel } from "../model/alert.ts";
import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../model/alert-rules.ts";
import { DEFAULT_KIND } from "../model/subscription.ts";
import { oneOf, withDefault } from "../model/shape.ts";
import { APPEARANCES, PORTAL_ACCENT, PORTAL_NAME } from "../model/portal-theme.ts";

const MIB = 1_048_576;

/** Limits of the process: for requests, memory and disk space. */
export const Limits = Type.Object(
  withVariables("POSTHORN_", {
    max_connections: Type.Integer({
      default: 10_000,
      minimum: 1,
      maximum: 1_000_000,
      description:
        "Open inbound connections; one more closes the connection that was idle for longest or, when none is idle, " +
        "is closed itself",
    }),
    max_connections_per_address: Type.Integer({
      default: 500,
      minimum: 1,
      maximum: 1_000_000,
      description:
        "The same for one address (for IPv6, one /64 network), never more than half of `max_connections`; loopback " +
        "and `trusted_proxies` are not counted",
    }),
    headers_timeout_s: Type.Number({
      default: 10,
      minimum: 1,
      maximum: 600,
      description: "Seconds a sender has for the headers of a request",
    }),
    request_timeout_s: Type.Number({
      default: 30,
      minimum: 1,
      maximum: 3600,
      description: "Seconds a sender has for a whole request; not less than `headers_timeout_s`",
    }),
    max_body_bytes: Type.Integer({
      default: 2 * MIB,
      minimum: 1,
      maximum: 64 * MIB,
      description:
        "Largest body of a received webhook, unless its source sets `max_bytes` or its kind accepts larger ones; " +
        "a larger one gets 413",
    }),
    max_depth: Type.Integer({
      default: 128,
      minimum: 1,
      maximum: 10_000,
      description: "Deepest nesting of a JSON or XML body; a deeper one gets 400",
    }),
    max_loop_lag_ms: Type.Integer({
      default: 200,
      minimum: 10,
      maximum: 60_000,
      description:
        "When the event loop is later than this for a whole second, while `max_unwritten_events` wait, the " +
        "gateway answers new requests with 503",
    }),
    max_unwritten_events: Type.Integer({
      default: 500,
      minimum: 1,
      maximum: 1_000_000,
      description: "How many received events that are not on disk yet count as a backlog; see `max_loop_lag_ms`",
    }),
    max_unanswered_bytes: Type.Integer({
      default: 512 * MIB,
      minimum: 1024,
      description: "Memory for bodies of requests that are not answered yet; when it is used up, new requests get 503",
    }),
    max_exports: Type.Integer({
      default: 8,
      minimum: 1,
      maximum: 1000,
      description: "Exports of events that run at the same time; more get 429",
    }),
    max_exports_per_key: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 1000,
      description: "The same for one key, and for all portal links of one tenant together",
    }),
    max_streams: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 10_000,
      description: "Live streams that are open at the same time; more get 429",
    }),
    max_streams_per_key: Type.Integer({
      default: 25,
      minimum: 1,
      maximum: 10_000,
      description: "The same for one key, and for all portal links of one tenant together",
    }),
    stream_buffer_bytes: Type.Integer({
      default: 4 * MIB,
      minimum: 65_536,
      maximum: 256 * MIB,
      description:
        "How much may wait for one client of a live stream; a client that reads too slowly is disconnected with a reason",
    }),
    max_keys_per_tenant: Type.Integer({
      default: 200,
      minimum: 1,
      maximum: 100_000,
      description:
        "Live keys of one tenant, and live keys that are not bound to a tenant; more get 409. Of the revoked and " +
        "expired keys, the latest of the same number are kept",
    }),
    max_subscriptions_per_tenant: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 1_000_000,
      description:
        "Subscriptions that keys and portal links of a tenant can create, unless the tenant has a quota of its own " +
        "(`quotas.subscriptions`); keys that are not bound to a tenant have no limit without a quota",
    }),
    shutdown_timeout_s: Type.Number({
      default: 10,
      minimum: 0,
      maximum: 600,
      description: "Seconds that running attempts have to end after SIGTERM",
    }),
    disk_min_free_bytes: Type.Integer({
      default: 256 * MIB,
      minimum: 0,
      description: "With less space free in the data dir, new events get 503 while deliveries go on",
    }),
    ballast_bytes: Type.Integer({
      default: 16 * MIB,
      minimum: 0,
      description: "Size of a file in the data dir that is deleted to free space when the disk is full",
    }),
    max_sockets: Type.Integer({
      default: 1024,
      minimum: 1,
      maximum: 65_535,
      description: "Open outbound connections, over all destinations",
    }),
    connections_per_host: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 65_535,
      description:
        "Open outbound connections to one destination host; one tenant uses at most three quarters of them, and one " +
        "that has none gets one beyond the limit",
    }),
    idle_connections_per_host: Type.Integer({
      default: 20,
      minimum: 0,
      maximum: 65_535,
      description: "How many of them are kept alive while they are idle",
    }),
    body_cache_bytes: Type.Integer({
      default: 64 * MIB,
      minimum: 0,
      description:
        "Memory for bodies that wait for delivery; beyond it, a body is read from the disk again when it is sent",
    }),
    dedupe_horizon_days: Type.Number({
      default: 7,
      minimum: 1,
      maximum: 3650,
      description: "Days for which the id of an event is remembered",
    }),
    log_file_max_bytes: Type.Integer({
      default: 64 * MIB,
      minimum: 4096,
      description: "The log file is rotated before it grows beyond this",
    }),
    log_file_keep: Type.Integer({
      default: 5,
      minimum: 0,
      maximum: 1000,
      description: "Rotated log files kept beside the current one",
    }),
  }),
  { additionalProperties: false, default: {} },
);

function days(description: string) {
  return Type.Optional(Type.Number({ minimum: 0, maximum: MAX_RETENTION_DAYS, defaultText: "as `days`", description }));
}

/** How long finished data is kept. */
export const Retention = Type.Object(
  withVariables("POSTHORN_RETENTION_", {
    days: Type.Number({
      default: 30,
      minimum: 0,
      maximum: MAX_RETENTION_DAYS,
      description:
        "Days for which events are kept, with their deliveries and attempts; 0 keeps them forever. " +
        "Events with open deliveries are never deleted. Ids are remembered for `limits.dedupe_horizon_days` in any case",
    }),
    answers_days: days(
      "The same for headers and bodies of destinations' answers; the attempts themselves stay with their event",
    ),
    dead_letters_days: days(
      "The same for events with a dead letter, counted from the last one; a dead letter that blocks its ordering key is kept",
    ),
    refused_requests_days: days("The same for requests that became no event"),
    idempotency_keys_days: Type.Number({
      default: 7,
      minimum: 0,
      maximum: MAX_RETENTION_DAYS,
      description: "Days for which an `Idempotency-Key` of the API is remembered; 0 means forever",
    }),
    audit_days: Type.Number({
      default: 0,
      minimum: 0,
      maximum: MAX_RETENTION_DAYS,
      description: "Days for which entries of the audit log are kept; 0 means forever",
    }),
  }),
  { additionalProperties: false, default: {} },
);

/** Fields of a subscription that a channel sets itself. */
const NOT_OF_A_CHANNEL = ["events", "event_filter", "sources", "mode", "fallback", "drain_within_s"];

const destinationFields: TProperties = Object.fromEntries(
  Object.entries(SUBSCRIPTION_FIELDS).filter(([name]) => !NOT_OF_A_CHANNEL.includes(name)),
);

/** Fields of a channel that a subscription does not have. */
export const CHANNEL_FIELDS = {
  name: Type.String({ minLength: 1, maxLength: 150, description: "A name for people; unique" }),
  kind: withDefault(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: "`log`, or a kind of destination: its settings are written here as in a subscription",
    }),
    DEFAULT_KIND,
  ),
  tenant_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: "Only the alerts of this tenant; by default the alerts of the whole gateway",
    }),
  ),
  rules: Type.Optional(
    Type.Array(oneOf(ALERT_RULE_NAMES), { minItems: 1, maxItems: 100, description: "Only these rules" }),
  ),
  severity: Type.Optional(oneOf(ALERT_SEVERITIES, { description: "Only alerts of at least this severity" })),
  cleared: withDefault(Type.Boolean({ description: "Also report alerts that are cleared" }), true),
};

export const AlertChannelSchema = Type.Unsafe<AlertChannel>(
  Type.Object({ ...destinationFields, ...CHANNEL_FIELDS }, { additionalProperties: false }),
);

/** Settings that have an environment variable. */
export const ALERT_SETTINGS = withVariables("POSTHORN_ALERTS_", {
  enabled: Type.Boolean({ default: true, description: "Whether the gateway looks for problems and raises alerts" }),
  every_s: Type.Number({
    default: 15,
    minimum: 1,
    maximum: 3600,
    description: "Seconds from one evaluation of the rules to the next",
  }),
});

export const AlertsSection = Type.Object(
  {
    ...ALERT_SETTINGS,
    rules: Type.Array(AlertRuleInput, {
      default: [],
      maxItems: 100,
      description: "Changes to the defaults of rules; see [alerts](alerts.md)",
    }),
    channels: Type.Array(AlertChannelSchema, {
      default: [],
      maxItems: 100,
      description: "Where alerts are sent; without a channel they are only logged and listed",
    }),
  },
  { additionalProperties: false, default: {} },
);

/** The page for partners that a portal link opens. */
export const Portal = Type.Object(
  withVariables("POSTHORN_PORTAL_", {
    frame_origins: Type.Array(
      Type.String({
        maxLength: 255,
        // A star stands for subdomains only: with one alone every site could show it.
        pattern: "^https?://(\\*\\.)?[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?$",
        hint: "give an origin without a path, such as `https://app.example.com` or `https://*.example.com`",
      }),
      {
        maxItems: 50,
        default: [],
        description: "Origins of sites that may show it in a frame, such as `https://app.example.com`; none by default",
      },
    ),
    name: Type.String({
      ...PORTAL_NAME,
      default: "Webhooks",
      description: "Its heading, for example the name of your product",
    }),
    accent: optionalText({
      ...PORTAL_ACCENT,
      description:
        "Colour of its buttons and links, as `#rrggbb`; made darker or lighter where it would be hard to read",
    }),
    appearance: oneOf(APPEARANCES, {
      default: "system",
      description: "`light` or `dark`; with `system` the visitor chooses",
    }),
  }),
  { additionalProperties: false, default: {} },
);
