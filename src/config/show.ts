import { settingsIn, withSettings, createDestinationKinds } from "../destinations/kinds.ts";
import { LOG_CHANNEL, toChannelSubscription, type AlertChannel } from "../model/alert.ts";
import { isCredentialHeader } from "../model/headers.ts";
import type { ConnectionInput } from "../model/connection.ts";
import type { SourceInput } from "../model/source.ts";
import type { SubscriptionInput } from "../model/subscription.ts";
import type { TargetInput } from "../model/target.ts";
import type { Origin, Origins } from "./load.ts";
import { maskSecret, maskUrl } from "./setting-schema.ts";
import { toCamelCase } from "../model/names.ts";
import { findAt, SETTINGS, type Config } from "./settings-tree.ts";

/** The effective configuration for people (or, as JSON, for programs), without its secrets. */
export function showConfig(config: Config, origins: Origins, options: { json: boolean }): string {
  const rows = SETTINGS.map(({ path, keys, schema }) => {
    const value = findAt(config, keys.map(toCamelCase));
    const shown = schema.secret === true && typeof value === "string" ? maskSecret(value) : value;
    return { path, value: shown ?? null, origin: getOrigin(origins, path) };
  });
  const connections = config.connections.map(maskConnection);
  const sources = config.sources.map(maskSource);
  const subscriptions = config.subscriptions.map(maskSubscription);
  const targets = config.targets.map(maskTarget);
  const tenants = config.tenants.map(({ id, name = id, ...rest }) => ({
    name: name === id ? id : `${id} "${name}"`,
    ...rest,
  }));
  const alertRules = config.alerts.rules.map(({ rule: name, ...rest }) => ({ name, ...rest }));
  const alertChannels = config.alerts.channels.map(maskChannel);
  const eventTypes = config.eventTypes.map(({ name, versions = [] }) => ({
    name,
    versions: versions.map(({ version }) => version),
  }));

  if (options.json) {
    const settings = Object.fromEntries(rows.map(({ path, value, origin }) => [path, { value, ...origin }]));
    const declared = {
      connections,
      sources,
      subscriptions,
      targets,
      tenants: config.tenants,
      event_types: eventTypes,
      "alerts.rules": alertRules,
      "alerts.channels": alertChannels,
    };
    return JSON.stringify({ settings, ...declared }, null, 2);
  }
  const width = Math.max(...rows.map(({ path }) => path.length));
  return [
    ...rows.map(({ path, value, origin }) => `${path.padEnd(width)}  ${formatValue(value)}  (${formatOrigin(origin)})`),
    ...Object.entries({
      tenants,
      connections,
      sources,
      event_types: eventTypes,
      targets,
      "alerts.rules": alertRules,
      "alerts.channels": alertChannels,
      subscriptions,
    }).flatMap(([title, items]) => formatDeclared(title, items, getOrigin(origins, title))),
  ].join("\n");
}

function getOrigin(origins: Origins, path: string): Origin {
  return origins.get(path) ?? { from: "default", place: undefined };
}

function formatOrigin({ from, place }: Origin): string {
  return place === undefined ? from : `${from} ${place}`;
}

function formatValue(value: unknown): string {
  if (value === null) return "not set";
  return Array.isArray(value) ? (value.length === 0 ? "none" : value.join(", ")) : String(value);
}

function formatDeclared(title: string, items: readonly Record<string, unknown>[], origin: Origin): string[] {
  if (items.length === 0) return [`${title}: none  (${formatOrigin(origin)})`];
  const lines = items.map((item) => {
    const { name, ...fields } = item;
    const facts = Object.entries(fields).map(
      ([field, value]) => `${field}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    return `  ${String(name)}  ${facts.join("  ")}`;
  });
  return [`${title}: ${items.length}  (${formatOrigin(origin)})`, ...lines];
}

function maskConnection(connection: ConnectionInput): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...connection };
  if (connection.url !== undefined) shown["url"] = maskSecret(connection.url);
  for (const field of ["connection_string", "management_url"] as const) {
    const value = connection[field];
    if (value !== undefined) shown[field] = maskSecret(value);
  }
  return shown;
}

function maskSource(source: SourceInput): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...source };
  if (source.secrets !== undefined) shown["secrets"] = source.secrets.map(maskSecret);
  if (source.auth) shown["auth"] = { ...source.auth, token: maskSecret(source.auth.token) };
  if (typeof source.path_token === "string") shown["path_token"] = maskSecret(source.path_token);
  if (source.options !== undefined) {
    shown["options"] = Object.fromEntries(
      Object.entries(source.options).map(([name, value]) => [
        name,
        isCredentialHeader(name) && typeof value === "string" ? maskSecret(value) : value,
      ]),
    );
  }
  return shown;
}

function maskTarget(target: TargetInput): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...target };
  if (target.url !== undefined) shown["url"] = maskUrl(target.url);
  if (target.health_url !== undefined) shown["health_url"] = maskUrl(target.health_url);
  return shown;
}

const kinds = createDestinationKinds();

/** The destination's kind knows which of its settings are secrets; any URL may contain more of them. */
function maskSubscription(subscription: SubscriptionInput): Record<string, unknown> {
  const kind = kinds.findOf(subscription);
  const masked = kind?.secrets.mask(settingsIn(subscription, kind), maskSecret);
  const shown: Record<string, unknown> =
    kind === undefined
      ? { ...subscription, destination: {} }
      : withSettings(subscription, kind, maskUrls(masked ?? {}));
  if (subscription.secret !== undefined) shown["secret"] = maskSecret(subscription.secret);
  return shown;
}

function maskChannel(channel: AlertChannel): Record<string, unknown> {
  if (channel.kind === LOG_CHANNEL) return { ...channel };
  const masked = maskSubscription(toChannelSubscription(channel));
  // As it was given, without its secrets.
  return Object.fromEntries(
    Object.entries(channel).map(([field, value]) => [
      field,
      field === "name" || field === "tenant_id" ? value : (masked[field] ?? value),
    ]),
  );
}

function maskUrls(settings: object): object {
  const fields = Object.entries(settings) as [string, unknown][];
  return Object.fromEntries(
    fields.map(([field, value]) => [field, typeof value === "string" ? maskUrl(value) : value]),
  );
}
