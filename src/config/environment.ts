import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import { PosthornError } from "../model/errors.ts";

/** The only place that reads the environment of the process. */

export type Environment = Readonly<Record<string, string | undefined>>;

export function readEnvironment(): Environment {
  return Object.freeze({ ...process.env });
}

const DEFAULT_FILE = ".env";
const USUAL = /^[ \t]*(?:#.*|(?:export[ \t]+)?[A-Za-z_]\w*[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`|.*).*)$/gm;

/**
 * The variables of a file beside those that are set, which win. Without a name it is `.env` in this folder, if there is
 * one; systemd names its files itself.
 */
export function withEnvFile(
  env: Environment,
  cwd: string,
  named: string | undefined,
): { env: Environment; file: string | undefined } {
  if (named === undefined && env["INVOCATION_ID"] !== undefined) return { env, file: undefined };
  const text = readEnvFile(resolve(cwd, named ?? DEFAULT_FILE), named);
  if (text === undefined) return { env, file: undefined };
  const variables = parseEnv(text);
  // A file that happens to be in this folder must not say where the user's key is sent.
  if (named === undefined) delete variables["POSTHORN_URL"];
  // The lines of assignments and comments are emptied, also those of a quoted value.
  const rest = text.replaceAll(USUAL, (usual) => usual.replaceAll(/[^\n]/g, "")).split("\n");
  const at = rest.findIndex((line) => line.trim() !== "");
  // Without its text, which may be a part of a secret.
  if (at !== -1) throw unusable(`${named ?? DEFAULT_FILE}:${at + 1}: the line is not NAME=value`);
  return { env: Object.freeze({ ...variables, ...env }), file: named ?? DEFAULT_FILE };
}

function readEnvFile(path: string, named: string | undefined): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (named === undefined && code === "ENOENT") return undefined;
    const reason = code === "ENOENT" ? "the file does not exist" : `the file cannot be read (${code})`;
    throw unusable(`${named ?? DEFAULT_FILE}: ${reason}`);
  }
}

function unusable(message: string): PosthornError {
  return new PosthornError("config_invalid", `The configuration is not valid: ${message}`);
}
