import { createHmac, hkdfSync } from "node:crypto";
import { ConnectionInput } from "../model/connection.ts";
import { LOG_CHANNEL } from "../model/alert-channel.ts";
import { toActiveRules, toRuleInput } from "../model/alert.ts";
import { maskUrl } from "./mask.ts";
import { findAt, SETTINGS, toCamelCase, type Config } from "./settings-tree.ts";

/** The settings that a gateway runs with, by their names in the yaml, as the audit log may show them. */
export interface SettingsInForce {
  /** Null where nothing is set. A secret is not among them. */
  readonly values: Readonly<Record<string, unknown>>;
  /** By which it is seen that a secret has changed; nobody without the master key can guess from it. */
  readonly secrets: Readonly<Record<string, string>>;
}

const SECRETS_OF_CONNECTION: ReadonlySet<string> = new Set(
  Object.entries<object>(ConnectionInput.properties)
    .filter(([, schema]) => "secret" in schema && schema.secret === true)
    .map(([field]) => field),
);

/**
 * Without what is declared and therefore has entries of its own: tenants, event types, targets, sources, subscriptions,
 * and the alert channels that are subscriptions. `reloaded` is what a running gateway takes over.
 */
export function listSettings(config: Config, reloaded: Config["alerts"], masterKey: string): SettingsInForce {
  const key = Buffer.from(hkdfSync("sha256", masterKey, "", "posthorn settings", 32));
  const values: Record<string, unknown> = {};
  const secrets: Record<string, string> = {};
  const add = (path: string, value: unknown, isSecret: boolean) => {
    if (!isSecret) values[path] = typeof value === "string" ? maskUrl(value) : (value ?? null);
    else if (value !== undefined) secrets[path] = createHmac("sha256", key).update(JSON.stringify(value)).digest("hex");
  };
  for (const { path, keys, schema } of SETTINGS) {
    add(path, findAt(config, keys.map(toCamelCase)), schema.secret === true);
  }
  for (const { kind, name, ...fields } of config.connections) {
    for (const [field, value] of Object.entries(fields)) {
      add(`connections.${kind}.${name}.${field}`, value, SECRETS_OF_CONNECTION.has(field));
    }
  }
  for (const { kind, name, ...choice } of reloaded.channels) {
    if (kind === LOG_CHANNEL) add(`alerts.channels.${name}`, { kind, ...choice }, false);
  }
  Object.assign(values, listRules(reloaded.rules));
  return { values, secrets };
}

/** What applies where nothing is set. */
export function listDefaults(): SettingsInForce["values"] {
  const settings = SETTINGS.filter(({ schema }) => schema.secret !== true);
  return {
    ...Object.fromEntries(settings.map(({ path, schema }) => [path, schema.default ?? null])),
    ...listRules([]),
  };
}

function listRules(given: Config["alerts"]["rules"]): Record<string, unknown> {
  return Object.fromEntries(
    toActiveRules(given).flatMap((active) => {
      const { rule, ...fields } = toRuleInput(active);
      return Object.entries(fields).map(([field, value]) => [`alerts.rules.${rule}.${field}`, value]);
    }),
  );
}
