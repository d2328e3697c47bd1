import type { Environment } from "../../config/environment.ts";
import type { Manifest } from "./manifest.ts";

/** Variables that a backup was made with, are not set here, and are missed. */
export interface MissingVariables {
  /** Without these the gateway does not start. */
  needed: string[];
  /** Settings that came from these have their defaults now. */
  settings: string[];
}

/** Of the machine, not of what the gateway does: another one has its own. */
const OF_THE_MACHINE = /^POSTHORN_(?:DATA_DIR|HOST|PORT|LOG_LEVEL|LOG_FILE|URL|API_KEY)(?:_FILE)?$/;
const MASTER_KEY = /^POSTHORN_MASTER_KEY(?:_FILE)?$/;

export function findMissingVariables(
  { variables, needed_variables: needed = variables, defaulted_variables: defaulted = [] }: Manifest,
  env: Environment,
  restored: { hasConfig: boolean; hasMasterKey: boolean },
): MissingVariables {
  const isMissed = (name: string) =>
    (env[name] ?? "") === "" && !OF_THE_MACHINE.test(name) && !(restored.hasMasterKey && MASTER_KEY.test(name));
  return {
    needed: restored.hasConfig ? needed.filter(isMissed) : [],
    settings: variables.filter((name) => !needed.includes(name) && !defaulted.includes(name)).filter(isMissed),
  };
}
