import { Type, type TProperties, type TSchema, type TStringOptions } from "typebox";

/** The annotations of a setting beside its JSON Schema. */
export interface SettingSchema extends TSchema {
  type?: string;
  description?: string;
  default?: unknown;
  /** Its environment variable, when that is not the default name. */
  env?: string;
  /** Never shown; may also be set as `<env>_FILE`. */
  secret?: boolean;
  /** A path in the file system; a relative one starts at the working directory. */
  path?: boolean;
  /** Each item must be a CIDR. */
  cidrs?: boolean;
  /** How the docs describe a default that is not constant. */
  defaultText?: string;
  /** What to do when the value is invalid. */
  hint?: string;
}

/** The variable of a setting is the prefix and its name in capitals, unless it sets its own. */
export function withVariables<Settings extends TProperties>(prefix: string, settings: Settings): Settings {
  for (const [name, schema] of Object.entries<SettingSchema>(settings)) schema.env ??= prefix + name.toUpperCase();
  return settings;
}

/** An optional text. */
export function optionalText(options: TStringOptions & Partial<SettingSchema>) {
  return Type.Optional(Type.String(options));
}
