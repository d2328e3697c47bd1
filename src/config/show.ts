import { settingsIn, withSettings, createDestinationKinds } from "../destinations/kinds.ts";
import { LOG_CHANNEL, toChannelSubscription, type AlertChannel } from "../model/alert.ts";
import { isCredentialHeader } from "../model/headers.ts";
import type { ConnectionInput } from "../model/connection.ts";
import type { SourceInput } from "../model/source.ts";
import type { SubscriptionInput } from "../model/subscription.ts";
import type { TargetInput } from "../model/target.ts";
import { getOrigin, type Origin, type Origins } from "./load.ts";
import { maskSecret, maskUrl } from "./setting-schema.ts";
import { toCamelCase } from "../model/names.ts";
import { findAt, SECRETS_OF_CONNECTION, SETTINGS, type Config } from "./settings-tree.ts";

/** The effective configuration for people (or, as JSON, for programs), without its secrets. */
export function showConfig(config: Config, origins: Origins, options: { json: boolean }): string {
  const rows = SETTINGS.map(({ path, keys, schema }) => {
    const value = findAt(config, keys.map(toCamelCase));
    const shown = schema.secret === true && typeof value === "string" ? maskSecret(value) : value;
    return { path, value: shown ?? null, origin: getOrigin(origins, path) };
  });
  const declared = {
    tenants: config.tenants.map(({ id, name = id, ...rest }) => ({
      name: name === id ? id : `${id} "${name}"`,
      ...rest,
    })),
    connections: config.connections.map(maskConnection),
    sources: config.sources.map(maskSource),
    event_types: config.eventTypes.map(({ name, versions = [] }) => ({
      name,
      versions: versions.map(({ version }) => version),
    })),
    targets: config.targets.map(maskTarget),
    "alerts.rules": config.alerts.rules.map(({ rule: name, ...rest }) => ({ name, ...rest })),
    "alerts.channels": config.alerts.channels.map(maskChannel),
    subscriptions: config.subscriptions.map(maskSubscription),
  };

  if (options.json) {
    const settings = Object.fromEntries(rows.map(({ path, value, origin }) => [path, { value, ...origin }]));
    return JSON.stringify({ settings, ...declared, tenants: config.tenants }, null, 2);
  }
  const width = Math.max(...rows.map(({ path }) => path.length));
  return [
    ...rows.map(({ path, value, origin }) => `${path.padEnd(width)}  ${formatValue(value)}  (${formatOrigin(origin)})`),
    ...Object.entries(declared).flatMap(([title, items]) => formatDeclared(title, items, getOrigin(origins, title))),
  ].join("\n");
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
  const lines = items.map(({ name, ...fields }) => {
    const facts = Object.entries(fields).map(
      ([field, value]) => `${field}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    return `  ${String(name)}  ${facts.join("  ")}`;
  });
  return [`${title}: ${items.length}  (${formatOrigin(origin)})`, ...lines];
}

function maskConnection(connection: ConnectionInput): Record<string, unknown> {
  return mapFields(connection, (value, field) =>
    SECRETS_OF_CONNECTION.has(field) ? maskSecret(String(value)) : value,
  );
}

function maskSource(source: SourceInput): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...source };
  if (source.secrets !== undefined) shown["secrets"] = source.secrets.map(maskSecret);
  if (source.auth) shown["auth"] = { ...source.auth, token: maskSecret(source.auth.token) };
  if (typeof source.path_token === "string") shown["path_token"] = maskSecret(source.path_token);
  if (source.options !== undefined) {
    shown["options"] = mapFields(source.options, (value, name) =>
      isCredentialHeader(name) && typeof value === "string" ? maskSecret(value) : value,
    );
  }
  return shown;
}

function maskTarget(target: TargetInput): Record<string, unknown> {
  return mapFields(target, (value, field) => (field === "url" || field === "health_url" ? maskAnyUrl(value) : value));
}

const kinds = createDestinationKinds();

/** The destination's kind knows which of its settings are secrets; any URL may contain more of them. */
function maskSubscription(subscription: SubscriptionInput): Record<string, unknown> {
  const kind = kinds.findOf(subscription);
  const masked = kind?.secrets.mask(settingsIn(subscription, kind), maskSecret);
  const shown: Record<string, unknown> =
    kind === undefined
      ? { ...subscription, destination: {} }
      : withSettings(subscription, kind, mapFields(masked ?? {}, maskAnyUrl));
  if (subscription.secret !== undefined) shown["secret"] = maskSecret(subscription.secret);
  return shown;
}

function maskChannel(channel: AlertChannel): Record<string, unknown> {
  if (channel.kind === LOG_CHANNEL) return { ...channel };
  const masked = maskSubscription(toChannelSubscription(channel));
  // As it was given, without its secrets.
  return mapFields(channel, (value, field) =>
    field === "name" || field === "tenant_id" ? value : (masked[field] ?? value),
  );
}

function maskAnyUrl(value: unknown): unknown {
  return typeof value === "string" ? maskUrl(value) : value;
}

function mapFields(fields: object, toShown: (value: unknown, field: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, toShown(value, field)]));
}
