import { showConfig } from "../config/show.ts";
import { loadLocal, type LocalFlags } from "./local.ts";
import { note, print } from "./output.ts";

export function runShowConfig(flags: LocalFlags): void {
  const { config, origins, warnings } = loadLocal(flags);
  for (const warning of warnings) note(warning);
  print(showConfig(config, origins, { json: flags.json === true }));
}
