import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Environment } from "./environment.ts";
import type { LocatedScalar, Report } from "./located.ts";
import { suggestName } from "../model/nearest-name.ts";
import { ClientSettings } from "./schema.ts";
import type { SettingSchema } from "./setting-schema.ts";
import { SETTINGS, type Setting } from "./settings-tree.ts";

const MAX_SECRET_FILE_BYTES = 65_536;

export interface Variable {
  setting: Setting;
  given: LocatedScalar;
}

/** The settings from the environment. An empty variable counts as not set. */
export function readVariables(env: Environment, cwd: string, report: Report): Variable[] {
  const variables: Variable[] = [];
  for (const setting of SETTINGS) {
    const { env: name, secret } = setting.schema;
    if (name === undefined) continue;
    const value = env[name] === "" ? undefined : env[name];
    const file = secret === true && env[`${name}_FILE`] !== "" ? env[`${name}_FILE`] : undefined;
    if (value !== undefined && file !== undefined) {
      report({ place: name, path: "", message: `given together with ${name}_FILE; give only one of them` });
    } else if (value !== undefined) {
      variables.push({ setting, given: { kind: "scalar", place: name, value, isText: true } });
    } else if (file !== undefined) {
      const place = `${name}_FILE`;
      const content = readSecretFile(resolve(cwd, file), place, report);
      if (content !== undefined) {
        variables.push({ setting, given: { kind: "scalar", place, value: content, isText: true } });
      }
    }
  }
  return variables;
}

function readSecretFile(path: string, place: string, report: Report): string | undefined {
  const complain = (message: string): undefined => {
    report({ place, path: "", message });
  };
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "error";
    return complain(`cannot read ${path} (${code}); make it readable or name another file`);
  }
  if (content.length > MAX_SECRET_FILE_BYTES) return complain(`${path} is too large for a secret`);
  const text = content.toString("utf8").replace(/\r?\n$/, "");
  return text === "" ? complain(`${path} is empty; write the secret into it`) : text;
}

/** Variables with our prefix that are unknown: only a warning, because other programs may share the prefix. */
export function findUnknownVariables(env: Environment): string[] {
  const schemas = [...SETTINGS.map(({ schema }) => schema), ...Object.values<SettingSchema>(ClientSettings.properties)];
  const known = schemas.flatMap(({ env: name, secret }) => {
    if (name === undefined) return [];
    return secret === true ? [name, `${name}_FILE`] : [name];
  });
  return Object.keys(env)
    .filter((name) => name.startsWith("POSTHORN_") && !known.includes(name))
    .sort()
    .map((name) => `${name}: unknown variable, ignored${suggestName(name, known)}`);
}
