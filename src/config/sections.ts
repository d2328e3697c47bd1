import { Type, type TProperties } from "typebox";
import { MAX_RETENTION_DAYS } from "../model/retention.ts";
import { integer, number, settingText, withVariables } from "./setting-schema.ts";
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
    max_connections: integer(
      10_000,
      { from: 1, to: 1_000_000 },
      "Open inbound connections; one more closes the connection that was idle for longest or, when none is idle, " +
        "is closed itself",
    ),
    max_connections_per_address: integer(
      500,
      { from: 1, to: 1_000_000 },
      "The same for one address (for IPv6, one /64 network), never more than half of `max_connections`; loopback " +
        "and `trusted_proxies` are not counted",
    ),
    headers_timeout_s: number(10, { from: 1, to: 600 }, "Seconds a sender has for the headers of a request"),
    request_timeout_s: number(
      30,
      { from: 1, to: 3600 },
      "Seconds a sender has for a whole request; not less than `headers_timeout_s`",
    ),
    max_body_bytes: integer(
      2 * MIB,
      { from: 1, to: 64 * MIB },
      "Largest body of a received webhook, unless its source sets `max_bytes` or its kind accepts larger ones; " +
        "a larger one gets 413",
    ),
    max_depth: integer(128, { from: 1, to: 10_000 }, "Deepest nesting of a JSON or XML body; a deeper one gets 400"),
    max_loop_lag_ms: integer(
      200,
      { from: 10, to: 60_000 },
      "When the event loop is later than this for a whole second, while `max_unwritten_events` wait, the " +
        "gateway answers new requests with 503",
    ),
    max_unwritten_events: integer(
      500,
      { from: 1, to: 1_000_000 },
      "How many received events that are not on disk yet count as a backlog; see `max_loop_lag_ms`",
    ),
    max_unanswered_bytes: integer(
      512 * MIB,
      { from: 1024 },
      "Memory for bodies of requests that are not answered yet; when it is used up, new requests get 503",
    ),
    max_exports: integer(8, { from: 1, to: 1000 }, "Exports of events that run at the same time; more get 429"),
    max_exports_per_key: integer(
      2,
      { from: 1, to: 1000 },
      "The same for one key, and for all portal links of one tenant together",
    ),
    max_streams: integer(100, { from: 1, to: 10_000 }, "Live streams that are open at the same time; more get 429"),
    max_streams_per_key: integer(
      25,
      { from: 1, to: 10_000 },
      "The same for one key, and for all portal links of one tenant together",
    ),
    stream_buffer_bytes: integer(
      4 * MIB,
      { from: 65_536, to: 256 * MIB },
      "How much may wait for one client of a live stream; a client that reads too slowly is disconnected with a reason",
    ),
    max_keys_per_tenant: integer(
      200,
      { from: 1, to: 100_000 },
      "Live keys of one tenant, and live keys that are not bound to a tenant; more get 409. Of the revoked and " +
        "expired keys, the latest of the same number are kept",
    ),
    max_subscriptions_per_tenant: integer(
      100,
      { from: 1, to: 1_000_000 },
      "Subscriptions that keys and portal links of a tenant can create, unless the tenant has a quota of its own " +
        "(`quotas.subscriptions`); keys that are not bound to a tenant have no limit without a quota",
    ),
    shutdown_timeout_s: number(10, { from: 0, to: 600 }, "Seconds that running attempts have to end after SIGTERM"),
    disk_min_free_bytes: integer(
      256 * MIB,
      { from: 0 },
      "With less space free in the data dir, new events get 503 while deliveries go on",
    ),
    ballast_bytes: integer(
      16 * MIB,
      { from: 0 },
      "Size of a file in the data dir that is deleted to free space when the disk is full",
    ),
    max_sockets: integer(1024, { from: 1, to: 65_535 }, "Open outbound connections, over all destinations"),
    connections_per_host: integer(
      100,
      { from: 1, to: 65_535 },
      "Open outbound connections to one destination host; one tenant uses at most three quarters of them, and one " +
        "that has none gets one beyond the limit",
    ),
    idle_connections_per_host: integer(
      20,
      { from: 0, to: 65_535 },
      "How many of them are kept alive while they are idle",
    ),
    body_cache_bytes: integer(
      64 * MIB,
      { from: 0 },
      "Memory for bodies that wait for delivery; beyond it, a body is read from the disk again when it is sent",
    ),
    dedupe_horizon_days: number(7, { from: 1, to: 3650 }, "Days for which the id of an event is remembered"),
    log_file_max_bytes: integer(64 * MIB, { from: 4096 }, "The log file is rotated before it grows beyond this"),
    log_file_keep: integer(5, { from: 0, to: 1000 }, "Rotated log files kept beside the current one"),
  }),
  { additionalProperties: false, default: {} },
);

function days(description: string) {
  return Type.Optional(Type.Number({ minimum: 0, maximum: MAX_RETENTION_DAYS, defaultText: "as `days`", description }));
}

/** How long finished data is kept. */
export const Retention = Type.Object(
  withVariables("POSTHORN_RETENTION_", {
    days: number(
      30,
      { from: 0, to: MAX_RETENTION_DAYS },
      "Days for which events are kept, with their deliveries and attempts; 0 keeps them forever. " +
        "Events with open deliveries are never deleted. Ids are remembered for `limits.dedupe_horizon_days` in any case",
    ),
    answers_days: days(
      "The same for headers and bodies of destinations' answers; the attempts themselves stay with their event",
    ),
    dead_letters_days: days(
      "The same for events with a dead letter, counted from the last one; a dead letter that blocks its ordering key is kept",
    ),
    refused_requests_days: days("The same for requests that became no event"),
    idempotency_keys_days: number(
      7,
      { from: 0, to: MAX_RETENTION_DAYS },
      "Days for which an `Idempotency-Key` of the API is remembered; 0 means forever",
    ),
    audit_days: number(
      0,
      { from: 0, to: MAX_RETENTION_DAYS },
      "Days for which entries of the audit log are kept; 0 means forever",
    ),
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

export const ALERT_SETTINGS = withVariables("POSTHORN_ALERTS_", {
  enabled: Type.Boolean({ default: true, description: "Whether the gateway looks for problems and raises alerts" }),
  every_s: number(15, { from: 1, to: 3600 }, "Seconds from one evaluation of the rules to the next"),
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
    accent: settingText({
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
