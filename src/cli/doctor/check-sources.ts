import { setTimeout as wait } from "node:timers/promises";
import { listConnections } from "../../config/connections.ts";
import type { Config } from "../../config/settings-tree.ts";
import type { SourceInput } from "../../model/source.ts";
import { createSystemClock, createSystemRandom } from "../../model/clock.ts";
import { PLUGINS } from "../../plugins.ts";
import { BrokerFault } from "../../queues/broker-fault.ts";
import { createConnections, NO_CONNECTIONS } from "../../queues/connections.ts";
import { createSecretBox, findMasterKey } from "../../resources/secret-box.ts";
import { createSourceInputs } from "../../resources/sources/source-checks.ts";
import { readState } from "../../resources/sources/source-record.ts";
import { createSourceKinds } from "../../sources/kinds.ts";
import type { SourceKind } from "../../sources/source-kind.ts";
import type { Inspection } from "../../store/sqlite/inspect.ts";
import { describeFailure } from "../failure.ts";
import { countOf } from "../output.ts";
import type { Report } from "./findings.ts";

export async function checkSources(config: Config, inspection: Inspection | undefined, report: Report): Promise<void> {
  const kinds = await listKinds();
  const declared = config.sources.map((input) => findProblem(input, kinds)).filter((one) => one !== undefined);
  const stored = inspection?.sources ?? [];
  if (!canRead(stored, config)) {
    return report("warning", "their secrets cannot be read: the master key is missing or a different one");
  }
  for (const problem of declared) report("problem", problem);
  if (declared.length === 0) report("ok", `${countOf(stored.length, "source is", "sources are")} stored`);
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
  const box = createSecretBox(config.masterKey ?? findMasterKey(config.dataDir) ?? "");
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

const DEADLINE_MS = 10_000;
/** Any name will do: only a connected client finds that the queue does not exist. */
const ANY_QUEUE = "posthorn-doctor";

export async function checkBrokers(config: Config, report: Report): Promise<void> {
  const inputs = listConnections(config);
  if (inputs.length === 0) return report("ok", "none is configured");
  const connections = createConnections({
    connections: inputs,
    label: "posthorn doctor",
    clock: createSystemClock(),
    random: { next: Math.random },
  });
  try {
    await Promise.all(
      inputs.map(async ({ kind, name }) => {
        const place = `${kind} ${name}`;
        const fault = await findFault(connections.find(kind, name)?.depth(ANY_QUEUE));
        if (fault === undefined) report("ok", `${place} answers`);
        else report("problem", `${place}: ${fault}`);
      }),
    );
  } finally {
    await connections.close();
  }
}

async function findFault(asked: Promise<unknown> | undefined): Promise<string | undefined> {
  const deadline = new AbortController();
  const late = `no answer within ${DEADLINE_MS / 1000} s; check the address and the network`;
  const timeout = wait(DEADLINE_MS, late, { signal: deadline.signal }).catch(() => undefined);
  try {
    return await Promise.race([Promise.resolve(asked).then(() => undefined), timeout]);
  } catch (error) {
    if (!(error instanceof BrokerFault)) throw error;
    return error.isOfConnection ? error.message : undefined;
  } finally {
    deadline.abort();
  }
}
