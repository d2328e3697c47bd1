import type { Environment } from "../../config/environment.ts";
import type { Manifest } from "./manifest.ts";

/** Variables that the backed-up configuration used and that are not set here. */
export interface MissingVariables {
  /** Without these variables the gateway does not start. */
  needed: string[];
  /** Settings that now have their defaults, because their variables are not set. */
  settings: string[];
}

/** Variables that describe the machine; another machine sets its own. */
const OF_THE_MACHINE = /^POSTHORN_(?:DATA_DIR|HOST|PORT|LOG_LEVEL|LOG_FILE|URL|API_KEY)(?:_FILE)?$/;
const MASTER_KEY = /^POSTHORN_MASTER_KEY(?:_FILE)?$/;

export function findMissingVariables(
  { variables, needed_variables: needed, defaulted_variables: defaulted }: Manifest,
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
