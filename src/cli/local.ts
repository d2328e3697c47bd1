import { readEnvironment } from "../config/environment.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";

export interface LocalFlags {
  config?: string;
  dataDir?: string;
  json?: boolean;
}

/** The configuration of a gateway started here with the same flags. */
export function loadLocal({ config: file, dataDir }: LocalFlags): LoadedConfig {
  return loadConfig({ env: readEnvironment(), cwd: process.cwd(), file, flags: { dataDir } });
}
