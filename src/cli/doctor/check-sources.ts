import { NO_CONNECTIONS } from "../../queues/connections.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/settings-tree.ts";
import { createSystemClock, createSystemRandom } from "../../model/clock.ts";
import type { SourceInput } from "../../model/source.ts";
import { PLUGINS } from "../../plugins.ts";
import { createSecretBox } from "../../resources/secret-box.ts";
import { createSourceInputs } from "../../resources/sources/source-checks.ts";
import { readState } from "../../resources/sources/source-record.ts";
import { createSourceKinds } from "../../sources/kinds.ts";
import type { SourceKind } from "../../sources/source-kind.ts";
import type { Inspection } from "../../store/sqlite/inspect.ts";
import { MASTER_KEY } from "../backup/manifest.ts";
import { describeFailure } from "../failure.ts";
import { countOf } from "../output.ts";
import type { Judge } from "./findings.ts";

/** Checks that the declared sources are valid, and that the secrets of the stored ones can be read. */
export async function checkSources(config: Config, inspection: Inspection | undefined, judge: Judge): Promise<void> {
  const kinds = await listKinds();
  const declared = config.sources.map((input) => findProblem(input, kinds)).filter((one) => one !== undefined);
  const stored = inspection?.sources ?? [];
  if (!canRead(stored, config)) {
    return judge("warning", "their secrets cannot be read: the master key is missing or a different one");
  }
  for (const problem of declared) judge("problem", problem);
  if (declared.length === 0) judge("ok", `${countOf(stored.length, "source is", "sources are")} stored`);
}

function findProblem(input: SourceInput, kinds: ReadonlyMap<string, SourceKind>): string | undefined {
  try {
    createSourceInputs({ clock: createSystemClock(), random: createSystemRandom(), kinds }).check(input, undefined);
    return undefined;
  } catch (error) {
    return `the declared source ${input.name} is not valid: ${describeFailure(error)}`;
  }
}

function canRead(stored: readonly { name: string; data: string }[], config: Config): boolean {
  const path = join(config.dataDir, MASTER_KEY);
  const key = config.masterKey ?? (existsSync(path) ? readFileSync(path, "utf8").trim() : "");
  const box = createSecretBox(key);
  try {
    for (const { name, data } of stored) readState(name, data, box);
    return true;
  } catch {
    return false;
  }
}

/** Only the kind's rules are used: nothing is received here. */
async function listKinds(): Promise<ReadonlyMap<string, SourceKind>> {
  const plugged = await Promise.all(PLUGINS.map((plugin) => plugin.loadSourceKinds()));
  const fetchText = () => Promise.reject(new Error("nothing is fetched here"));
  return createSourceKinds({ fetchText, connections: NO_CONNECTIONS }, plugged.flat());
}
