import { SETTING_GROUPS, type Settings } from "./schema.ts";
import type { SettingSchema } from "./setting-schema.ts";

/** The settings as a flat list, and the one mapping from snake_case to camelCase. */

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

type Camelized<T> = T extends readonly (infer Item)[]
  ? readonly Item[]
  : T extends object
    ? { readonly [Key in keyof T as CamelCase<Key & string>]: Camelized<T[Key]> }
    : T;

/** Sections and settings have camelCase names; declared sources and subscriptions keep the shape of the API. */
export type Config = Camelized<Settings>;

export function toCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

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
