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
const NAME = /^[A-Za-z_]\w*$/;

/**
 * The variables of a file beside those that are set, which win. Without a name it is `.env` in this folder, if there is
 * one; systemd names its files itself.
 */
export function withEnvFile(env: Environment, cwd: string, named: string | undefined): Environment {
  if (named === undefined && env["INVOCATION_ID"] !== undefined) return env;
  const text = readEnvFile(resolve(cwd, named ?? DEFAULT_FILE), named);
  if (text === undefined) return env;
  const variables = parseEnv(text);
  const wrong = Object.keys(variables).find((name) => !NAME.test(name));
  if (wrong !== undefined) {
    const [line = ""] = wrong.split("\n");
    const number = text.split("\n").findIndex((one) => one.includes(line)) + 1;
    throw unusable(`${named ?? DEFAULT_FILE}:${number}: ${JSON.stringify(line)} is not NAME=value`);
  }
  return Object.freeze({ ...variables, ...env });
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
