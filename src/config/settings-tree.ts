import { SETTING_GROUPS, type Settings } from "./schema.ts";
import { type SettingSchema, maskUrl } from "./setting-schema.ts";
import { isDeepStrictEqual } from "node:util";
import { createHmac, hkdfSync } from "node:crypto";
import { ConnectionInput } from "../model/connection.ts";
import { LOG_CHANNEL, toActiveRules, toRuleInput } from "../model/alert.ts";
import { toCamelCase, type CamelCase } from "../model/names.ts";

/** The settings as a flat list. */

type Camelized<T> = T extends readonly (infer Item)[]
  ? readonly Item[]
  : T extends object
    ? { readonly [Key in keyof T as CamelCase<Key & string>]: Camelized<T[Key]> }
    : T;

/** Sections and settings have camelCase names; declared sources and subscriptions keep the shape of the API. */
export type Config = Camelized<Settings>;

export function camelize(settings: Settings): Config {
  const camelizeSection = (section: object): object =>
    Object.fromEntries(
      Object.entries(section).map(([name, value]: [string, unknown]) => [
        toCamelCase(name),
        typeof value === "object" && value !== null && !Array.isArray(value) ? camelizeSection(value) : value,
      ]),
    );
  return camelizeSection(settings) as Config;
}

export interface Setting {
  /** As in the yaml: `port`, `limits.max_depth`. */
  path: string;
  keys: readonly string[];
  schema: SettingSchema;
}

export const SETTINGS: readonly Setting[] = SETTING_GROUPS.flatMap(({ prefix, settings }) =>
  Object.entries(settings).map(([name, schema]) => {
    const path = prefix + name;
    return { path, keys: path.split("."), schema };
  }),
);

export function findAt(tree: unknown, keys: readonly string[]): unknown {
  let value = tree;
  for (const key of keys) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

export function setAt(tree: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  let section = tree;
  for (const key of keys.slice(0, -1)) {
    section = (section[key] ??= {}) as Record<string, unknown>;
  }
  const last = keys.at(-1);
  if (last !== undefined) section[last] = value;
}

export function freezeDeep<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freezeDeep(inner);
  }
  return value;
}

/** Settings that differ, by their names in the yaml. Declared lists are not included. */
export function listChangedSettings(before: Config, after: Config): string[] {
  return SETTINGS.filter(({ keys }) => {
    const path = keys.map(toCamelCase);
    return !isDeepStrictEqual(findAt(before, path), findAt(after, path));
  }).map(({ path }) => path);
}

/** The settings that a gateway runs with, by their names in the yaml, as the audit log may show them. */
interface SettingsInForce {
  /** Null where nothing is set. A secret is not among them. */
  readonly values: Readonly<Record<string, unknown>>;
  /** By which it is seen that a secret has changed; nobody without the master key can guess from it. */
  readonly secrets: Readonly<Record<string, string>>;
}

export const SECRETS_OF_CONNECTION: ReadonlySet<string> = new Set(
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
