import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { showConfig } from "../config/show.ts";
import { note, print } from "./output.ts";
import { getSurroundings } from "./surroundings.ts";

export interface LocalFlags {
  config?: string;
  dataDir?: string;
  json?: boolean;
}

/** The configuration of a gateway started here with the same flags. */
export function loadLocal({ config: file, dataDir }: LocalFlags): LoadedConfig {
  const { env, cwd } = getSurroundings();
  return loadConfig({ env, cwd, file, flags: { dataDir } });
}

export function runShowConfig(flags: LocalFlags): void {
  const { config, origins, warnings } = loadLocal(flags);
  for (const warning of warnings) note(warning);
  print(showConfig(config, origins, { json: flags.json === true }));
}
