import { NO_CONNECTIONS } from "../../brokers/connections.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/settings-tree.ts";
import { createSystemClock, createSystemRandom } from "../../domain/system-clock.ts";
import type { SourceInput } from "../../domain/source.ts";
import { PLUGINS } from "../../plugins/plugins.ts";
import { createSecretBox } from "../../registry/secret-box.ts";
import { createSourceInputs } from "../../registry/sources/source-input.ts";
import { judgeDoors } from "../../registry/sources/source-doors.ts";
import { readState } from "../../registry/sources/source-settings.ts";
import { createSourceKinds } from "../../receive/sources/kinds.ts";
import type { SourceKind } from "../../receive/sources/source-kind.ts";
import type { Inspection } from "../../store/sqlite/inspect.ts";
import { MASTER_KEY } from "../backup/manifest.ts";
import { describeFailure } from "../failure.ts";
import { countOf } from "../output.ts";
import type { Judge } from "./findings.ts";

/** Checks that the sources can verify their senders. */
export async function checkSources(config: Config, inspection: Inspection | undefined, judge: Judge): Promise<void> {
  const kinds = await listKinds();
  const declared = config.sources.map((input) => findProblem(input, kinds)).filter((one) => one !== undefined);
  const stored = inspection?.sources ?? [];
  const weak = findWeakSources(config, stored, kinds);
  if (weak === undefined) {
    return judge("warning", "their secrets cannot be checked: the master key is missing or a different one");
  }
  for (const problem of declared) judge("problem", problem);
  for (const { name, weakness, isLocked } of weak) {
    if (isLocked) judge("problem", `${name} answers everybody 401: ${weakness}`);
    else judge("warning", `${name} has a secret that is not used: ${weakness}`);
  }
  if (declared.length + weak.length === 0) judge("ok", `${countOf(stored.length, "source is", "sources are")} stored`);
}

function findProblem(input: SourceInput, kinds: ReadonlyMap<string, SourceKind>): string | undefined {
  try {
    createSourceInputs({ clock: createSystemClock(), random: createSystemRandom(), kinds }).check(input, undefined);
    return undefined;
  } catch (error) {
    return `the declared source ${input.name} is not valid: ${describeFailure(error)}`;
  }
}

/** Undefined when the secrets cannot be read. */
function findWeakSources(
  config: Config,
  stored: readonly { name: string; data: string }[],
  kinds: ReadonlyMap<string, SourceKind>,
) {
  const path = join(config.dataDir, MASTER_KEY);
  const key = config.masterKey ?? (existsSync(path) ? readFileSync(path, "utf8").trim() : "");
  const box = createSecretBox(key);
  try {
    return stored.flatMap(({ name, data }) => {
      const { state } = readState(name, data, box);
      const { weakness, isLocked } = judgeDoors(state, kinds.get(state.shown.kind ?? ""));
      return weakness === undefined ? [] : [{ name, weakness, isLocked }];
    });
  } catch {
    return undefined;
  }
}

/** Only the kind's rules are used: nothing is received here. */
async function listKinds(): Promise<ReadonlyMap<string, SourceKind>> {
  const plugged = await Promise.all(PLUGINS.map((plugin) => plugin.loadSourceKinds()));
  const fetchText = () => Promise.reject(new Error("nothing is fetched here"));
  return createSourceKinds({ fetchText, connections: NO_CONNECTIONS }, plugged.flat());
}
