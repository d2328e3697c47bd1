import { Type, type TProperties, type TSchema, type TStringOptions } from "typebox";

/** What a setting carries beside its JSON Schema. */
export interface SettingSchema extends TSchema {
  type?: string;
  description?: string;
  default?: unknown;
  /** Its variable, where that is not the usual one. */
  env?: string;
  /** Never shown; may also be given as `<env>_FILE`. */
  secret?: boolean;
  /** A path in the file system, made absolute from the working directory. */
  path?: boolean;
  /** Each item must be a CIDR. */
  cidrs?: boolean;
  /** How the docs name a default that is not constant. */
  defaultText?: string;
  /** What to do when the value is wrong. */
  hint?: string;
}

/** The variable of a setting is the prefix and its name in capitals, unless it has one of its own. */
export function withVariables<Settings extends TProperties>(prefix: string, settings: Settings): Settings {
  for (const [name, schema] of Object.entries<SettingSchema>(settings)) schema.env ??= prefix + name.toUpperCase();
  return settings;
}

/** A text that need not be there. */
export function optionalText(options: TStringOptions & Partial<SettingSchema>) {
  return Type.Optional(Type.String(options));
}
