import { Type, type Static } from "typebox";
import { Value } from "typebox/value";
import { CommandFailure } from "../failure.ts";

/** The first file of an archive: lists the parts, with the checksum of each. */

export const MANIFEST = "manifest.json";
export const DATABASE = "posthorn.db";
export const MASTER_KEY = "master.key";
/** Files that lay beside the configuration file or below it. */
export const CONFIG_FOLDER = "config/";
/** Files of the configuration that lay somewhere else. */
export const ELSEWHERE_FOLDER = "elsewhere/";

const FORMAT = "posthorn-backup";
const FORMAT_VERSION = 1;
export const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
export const MAX_NAME_LENGTH = 255;

const Part = Type.Object({
  name: Type.String({ maxLength: MAX_NAME_LENGTH }),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
});
export type Part = Static<typeof Part>;

const Manifest = Type.Object({
  format: Type.Literal(FORMAT),
  version: Type.Literal(FORMAT_VERSION),
  created_at: Type.String(),
  posthorn_version: Type.String(),
  schema_version: Type.Integer({ minimum: 1 }),
  with_events: Type.Boolean(),
  with_master_key: Type.Boolean(),
  /** Null when there was no master key yet, and so no encrypted value. */
  master_key_fingerprint: Type.Union([Type.String(), Type.Null()]),
  /** `store_url` of the configuration. A restore does not write to a path that it names. */
  store_url: Type.String(),
  /** Names of the variables that the configuration was read with; never their values. */
  variables: Type.Array(Type.String()),
  /** Variables that the file names without a default, and with one. */
  needed_variables: Type.Array(Type.String()),
  defaulted_variables: Type.Array(Type.String()),
  tables: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
  records: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
  parts: Type.Array(Part, { minItems: 1 }),
});
export type Manifest = Static<typeof Manifest>;

export function createManifest(facts: Omit<Manifest, "format" | "version">): Manifest {
  return { format: FORMAT, version: FORMAT_VERSION, ...facts };
}

/** The bytes of all parts; at least one, as a total to divide by. */
export function sizeOf({ parts }: Pick<Manifest, "parts">): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 1);
}

export function parseManifest(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandFailure("This is not a backup: its manifest.json is not JSON.");
  }
  const { format, version } = (value ?? {}) as { format?: unknown; version?: unknown };
  if (format !== FORMAT)
    throw new CommandFailure("This is not a backup: its manifest.json does not name the format posthorn-backup.");
  if (version !== FORMAT_VERSION) {
    throw new CommandFailure(
      `The backup has version ${String(version)} of the format, and this release reads version ${FORMAT_VERSION}. ` +
        "Restore it with the release that wrote it, or a later one.",
    );
  }
  if (!Value.Check(Manifest, value)) {
    const [first] = Value.Errors(Manifest, value);
    throw new CommandFailure(`The backup's manifest.json is damaged: ${first?.instancePath} ${first?.message}.`);
  }
  rejectStrangeParts(value);
  return value;
}

/** A restore writes each part to a place that depends on its name, so only known names are allowed. */
function rejectStrangeParts({ parts, with_master_key }: Manifest): void {
  const seen = new Set<string>();
  for (const { name } of parts) {
    if (!isPartName(name)) {
      throw new CommandFailure(
        `The backup holds a file ${JSON.stringify(name)}, which does not belong in a backup. Nothing was done.`,
      );
    }
    if (seen.has(name)) throw new CommandFailure(`The backup holds ${name} twice. Nothing was done.`);
    seen.add(name);
  }
  if (!seen.has(DATABASE)) throw new CommandFailure("The backup contains no database.");
  if (seen.has(MASTER_KEY) !== with_master_key) {
    throw new CommandFailure("The backup's manifest.json and its parts disagree about the master key.");
  }
}

/** No hidden file, no path separator, no character that controls a terminal. */
const SEGMENT = /^[^./\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}][^/\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{0,199}$/u;
const CONFIG_FILE = /\.(ya?ml|json|xsd|xml)$/i;
/** Settings that name folders, which may be anywhere. */
export const FOLDER_SETTINGS = ["event_types_dir", "validations_dir"] as const;
/** The setting that names a source's manifest; these files may have any name. */
export const MANIFEST_SETTING = "manifest";

export function isConfigFileName(name: string): boolean {
  return SEGMENT.test(name) && CONFIG_FILE.test(name);
}

/** Accepts only names that a backup writes: never absolute, never upwards, never hidden. */
export function isPartName(name: string): boolean {
  if (name === DATABASE || name === MASTER_KEY) return true;
  const folder = [CONFIG_FOLDER, ELSEWHERE_FOLDER].find((candidate) => name.startsWith(candidate));
  if (folder === undefined) return false;
  const segments = name.slice(folder.length).split("/");
  if (!segments.every((segment) => SEGMENT.test(segment))) return false;
  const isConfigFile = CONFIG_FILE.test(name);
  if (folder === CONFIG_FOLDER) return isConfigFile;
  const [setting] = segments;
  if (segments.length !== 2) return false;
  return setting === MANIFEST_SETTING || (isConfigFile && FOLDER_SETTINGS.some((one) => one === setting));
}
