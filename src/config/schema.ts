import { Type, type Static, type TSchema } from "typebox";
import { ConnectionInput } from "../model/connection.ts";
import { EventTypeInput } from "../model/event-type.ts";
import { SourceInput } from "../model/source.ts";
import { SubscriptionSchema } from "../destinations/kinds.ts";
import { EarlierPolicyName, RETRY_POLICY_NAMES, RetryDelays } from "../model/subscription.ts";
import { TargetInput } from "../model/target.ts";
import { TenantInput } from "../model/tenant.ts";
import { ALERT_SETTINGS, AlertsSection, Limits, Retention, Portal } from "./sections.ts";
import { oneOf } from "../model/shape.ts";
import { Sms, Smtp } from "./messages.ts";
import { Oidc } from "./oidc.ts";
import { flag, integer, number, settingText, withVariables } from "./setting-schema.ts";
import { PLUGINS } from "../plugins.ts";
import { VERSION } from "./version.ts";

/** Every setting is defined here once: type, default, validation and documentation. */

const Cidrs = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 1000 });

const listening = {
  host: Type.String({
    default: "127.0.0.1",
    pattern: "^[^\\s/]{1,255}$",
    hint: "give a host name or an address, without scheme and port",
    description: "Address to listen on",
  }),
  port: integer(8080, { from: 0, to: 65_535 }, "Port to listen on; 0 takes any free port and prints it"),
  tls_cert: settingText({
    path: true,
    description: "PEM file with the certificate chain; with `tls_key` the gateway speaks https itself",
  }),
  tls_key: settingText({ path: true, description: "PEM file with the private key of `tls_cert`" }),
  public_url: settingText({
    maxLength: 2048,
    description: "Public address of the gateway, for example `https://hooks.example.com`",
  }),
  trusted_proxies: Type.Array(Cidrs.items, {
    maxItems: 1000,
    cidrs: true,
    default: [],
    description: "CIDRs of proxies whose `X-Forwarded-*` headers are trusted",
  }),
};

const storage = {
  data_dir: Type.String({
    path: true,
    default: "./data",
    minLength: 1,
    description: "Folder of the SQLite files and of generated keys",
  }),
  store_url: Type.String({
    default: "sqlite:",
    maxLength: 4096,
    description: "`sqlite:` keeps the database in the data dir, `sqlite:PATH` in a file of your choice",
  }),
};

const keys = {
  admin_key: settingText({
    secret: true,
    pattern: "^[\\x21-\\x7e]{16,256}$",
    defaultText: "generated at the first start",
    hint: "give 16 to 256 printable characters without spaces, preferably 32 random ones as `openssl rand -hex 16` prints them",
    description: "A fixed admin key, for automation; at least 16 characters, 32 random ones are advised",
  }),
  master_key: settingText({
    secret: true,
    pattern: "^[\\x21-\\x7e]{32,512}$",
    defaultText: "generated, in a 0600 file in the data dir",
    hint: "give at least 32 random characters, as `openssl rand -base64 32` prints them",
    description: "Encrypts secrets at rest; at least 32 random characters",
  }),
  secret_rotation_days: integer(
    90,
    { from: 0, to: 3650 },
    "Age at which a subscription gets a new secret beside the old one, if its tenant has a contact for this or a " +
      "subscription that names `webhook.secret_rotating`; otherwise the gateway only warns. 0 switches both off",
  ),
};

const receiving = {
  any_source: flag(true, "The `*` source: `/webhook/NAME` accepts webhooks for names that are not declared"),
  event_types_dir: settingText({
    description:
      "Folder of yaml and json files that declare event types, each with one type or a list `event_types`; " +
      "in the yaml, relative to that file",
  }),
  validation_mode: Type.Union([Type.Literal("permissive"), Type.Literal("strict")], {
    env: "VALIDATION_MODE",
    default: "permissive",
    description: "What happens to webhooks without a validation: `permissive` accepts them, `strict` answers 422",
  }),
  validations_dir: Type.String({
    path: true,
    default: "./validations",
    minLength: 1,
    description: "Folder of validations (`orders.json`, `orders.xsd`), to be edited by hand; it need not exist",
  }),
};

const destinations = {
  dev: flag(
    false,
    "For trying it out on your own machine: destinations on this machine and without TLS are allowed, and failed " +
      "deliveries are retried within seconds. Invalid together with `public_url`, `trusted_proxies` or a `host` " +
      "that others can reach",
  ),
  default_retry_policy: Type.Union([oneOf(RETRY_POLICY_NAMES), RetryDelays, EarlierPolicyName], {
    default: "standard",
    description:
      `Retry policy of subscriptions that do not set one: ${RETRY_POLICY_NAMES.map((name) => `\`${name}\``).join(", ")}, or ` +
      "the waits in seconds between attempts",
  }),
  allow_private_destinations: Type.Union([Type.Boolean(), Cidrs], {
    cidrs: true,
    default: false,
    description: "CIDRs of private networks that deliveries may reach, or `true` for all of them (development only)",
  }),
  allow_http_destinations: flag(false, "Whether deliveries may be sent without TLS"),
  max_probe_s: number(
    60,
    { from: 1, to: 3600 },
    "Seconds, at most, between two probes of a destination that is down and has no health check",
  ),
  egress_proxy: settingText({
    secret: true,
    maxLength: 2048,
    description:
      "A proxy for all deliveries: `http://[user:password@]host:port`; it must support CONNECT. The address " +
      "rules apply as without it. Proxies in other environment variables are ignored",
  }),
  batch_dir: settingText({
    path: true,
    description: "Folder in which subscriptions of the kind `batch` may write files; without it they can only post",
  }),
  user_agent: Type.String({
    default: `Posthorn/${VERSION}`,
    defaultText: "`Posthorn/<version>`",
    pattern: "^[\\x21-\\x7e]([\\x20-\\x7e]{0,198}[\\x21-\\x7e])?$",
    hint: "give 1 to 200 printable ASCII characters",
    description: "`User-Agent` of deliveries; must not contain `bot`, which many firewalls reject",
  }),
  held_max_days: number(
    30,
    { from: 0.01, to: 3650 },
    "Days for which a paused, suspended or unreachable subscription holds a delivery; then it becomes a dead letter " +
      "(`held_too_long`)",
  ),
};

const brokers = {
  amqp_url: settingText({
    secret: true,
    maxLength: 4096,
    description: "RabbitMQ for the connection `default`: `amqps://user:password@host:5671/vhost`",
  }),
  servicebus_connection_string: settingText({
    env: "AZURE_SERVICEBUS_CONNECTION_STRING",
    secret: true,
    maxLength: 4096,
    description: "Azure Service Bus for the connection `default`",
  }),
  storage_connection_string: settingText({
    env: "AZURE_STORAGE_CONNECTION_STRING",
    secret: true,
    maxLength: 4096,
    description: "Azure Storage (queues and blobs) for the connection `default`",
  }),
  message_key: settingText({
    secret: true,
    pattern: "^[\\x21-\\x7e]{32,512}$",
    hint: "give at least 32 random characters, as `openssl rand -base64 32` prints them",
    description:
      "Encrypts credentials in the forwarded headers of messages, for a receiving gateway that has the same " +
      "key; without a key they are left out",
  }),
};

/** Without a type: each plugin reads its own settings. */
const pluginSettings: object = Object.assign({}, ...PLUGINS.map(({ settings }) => settings.properties));

const operation = {
  role: Type.Literal("all", {
    default: "all",
    hint: "other roles need a shared store or a broker, which this version does not have",
    description: "The role of this process: `all` receives, stores and delivers",
  }),
  log_level: oneOf(["fatal", "error", "warn", "info", "debug", "trace"], {
    default: "info",
    description: "The lowest level that is logged",
  }),
  access_log: flag(
    true,
    "Log one line for each webhook and each attempt: on a terminal from the level `info`, as JSON from `debug`, and " +
      "each request of the API from `trace`",
  ),
  log_file: settingText({ path: true, description: "Also log to this file, as JSON; it is rotated by size" }),
  status_public: flag(false, "Whether `/status` is open without a key"),
  metrics_public: flag(false, "Whether `/metrics` is open without a key"),
  catalog_public: flag(
    false,
    "Whether `/catalog`, a page for partners with all event types, is served; it is open without a key",
  ),
};

function declared<Item extends TSchema>(item: Item, description: string) {
  return Type.Array(item, { default: [], maxItems: 10_000, description });
}

export const Settings = Type.Object(
  {
    ...withVariables("POSTHORN_", {
      ...listening,
      ...storage,
      ...keys,
      ...receiving,
      ...destinations,
      ...brokers,
      ...operation,
    }),
    ...pluginSettings,
    limits: Limits,
    retention: Retention,
    smtp: Smtp,
    sms: Sms,
    alerts: AlertsSection,
    portal: Portal,
    oidc: Oidc,
    connections: Type.Array(ConnectionInput, {
      default: [],
      maxItems: 100,
      description: "Brokers for sources and destinations of queue kinds",
    }),
    sources: declared(SourceInput, "Sources declared here are read-only in the API"),
    event_types: declared(EventTypeInput, "Event types declared here are read-only in the API"),
    subscriptions: declared(SubscriptionSchema, "Subscriptions declared here are read-only in the API"),
    targets: declared(
      TargetInput,
      "Destinations that several subscriptions share: one health check and one mode for all of them",
    ),
    tenants: declared(TenantInput, "Tenants declared here are read-only in the API"),
  },
  { additionalProperties: false },
);
export type Settings = Static<typeof Settings>;

/** Settings of the client commands; not part of the gateway's own configuration. */
export const ClientSettings = Type.Object(
  withVariables("POSTHORN_", {
    url: settingText({
      defaultText: "the local gateway",
      description: "The gateway that client commands talk to",
    }),
    api_key: settingText({ secret: true, description: "The key that client commands use" }),
  }),
);

/** In the order of the documentation; settings with a prefix are in a section of that name in the yaml. */
export const SETTING_GROUPS: readonly { title: string; prefix: string; settings: Record<string, TSchema> }[] = [
  { title: "Listening", prefix: "", settings: listening },
  { title: "Storage", prefix: "", settings: storage },
  { title: "Keys", prefix: "", settings: keys },
  { title: "Receiving", prefix: "", settings: receiving },
  { title: "Destinations", prefix: "", settings: destinations },
  { title: "Brokers", prefix: "", settings: brokers },
  { title: "E-mail", prefix: "smtp.", settings: Smtp.properties },
  { title: "SMS", prefix: "sms.", settings: Sms.properties },
  ...PLUGINS.map(({ settings: { title, properties } }) => ({ title, prefix: "", settings: properties })),
  { title: "Operation", prefix: "", settings: operation },
  { title: "Retention", prefix: "retention.", settings: Retention.properties },
  { title: "Alerts", prefix: "alerts.", settings: ALERT_SETTINGS },
  { title: "Portal", prefix: "portal.", settings: Portal.properties },
  { title: "OpenID Connect", prefix: "oidc.", settings: Oidc.properties },
  { title: "Limits", prefix: "limits.", settings: Limits.properties },
];
