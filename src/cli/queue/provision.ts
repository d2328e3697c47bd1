import { createConnections } from "../../brokers/connections.ts";
import { checkWish, declareWish, type Provision } from "../../brokers/provision/provision.ts";
import { listWishes, type BrokerUse, type Wish } from "../../brokers/provision/wishes.ts";
import { listConnections } from "../../config/connections.ts";
import type { Config } from "../../config/settings-tree.ts";
import { createSystemClock } from "../../domain/system-clock.ts";
import { EXIT_FAILED } from "../failure.ts";
import { loadLocal, type LocalFlags } from "../local.ts";
import { note, print, printJson } from "../output.ts";
import { openManagement } from "./ask-management.ts";

/** Reads the configuration; needs no running gateway. */
export async function runProvision(act: "declare" | "check", flags: LocalFlags): Promise<void> {
  const { config, warnings } = loadLocal(flags);
  for (const warning of warnings) note(warning);
  const inputs = listConnections(config);
  const results = await provision(act, listWishes(inputs, listUses(config)), inputs);
  const isWell = results.every(({ differences, error }) => differences.length === 0 && error === undefined);
  if (!isWell) process.exitCode = EXIT_FAILED;
  if (flags.json === true) return printJson({ ok: isWell, results: results.map(present) });
  if (results.length === 0) return note("the configuration has no connections to brokers");
  for (const result of results) print(describe(act, result));
}

async function provision(
  act: "declare" | "check",
  wishes: readonly Wish[],
  inputs: ReturnType<typeof listConnections>,
): Promise<Provision[]> {
  const clock = createSystemClock();
  const connections = createConnections({
    connections: inputs,
    label: `posthorn queue ${act}`,
    clock,
    random: { next: Math.random },
  });
  const management = openManagement(clock);
  try {
    const results: Provision[] = [];
    const options = { connections, inputs, ask: management.ask };
    for (const wish of wishes) {
      results.push(await (act === "declare" ? declareWish(wish, options) : checkWish(wish, options)));
    }
    return results;
  } finally {
    await Promise.all([connections.close(), management.close()]);
  }
}

/** Only those that the file declares: sources and subscriptions created by API are known only to their gateway. */
function listUses({ sources, subscriptions }: Config): BrokerUse[] {
  return [
    ...sources.map(({ kind = "", options = {} }) => ({ kind, settings: options })),
    ...subscriptions.map(({ kind = "", destination = {}, ordered = false }) => ({
      kind,
      settings: destination,
      isOrdered: ordered,
    })),
  ];
}

function describe(
  act: "declare" | "check",
  { kind, connection, what, differences, unchecked, error }: Provision,
): string {
  const place = `${kind} ${connection}`;
  const lines = [
    ...(error === undefined ? [] : [`fail  ${place}: ${error}`]),
    ...differences.map((text) => `fail  ${place}: ${text}`),
    ...unchecked.map((text) => `?     ${place}: ${text}`),
  ];
  const isWell = error === undefined && differences.length === 0;
  if (isWell)
    lines.unshift(`ok    ${place}: ${act === "declare" ? "created, or already there:" : "as configured:"} ${what}`);
  return lines.join("\n");
}

function present({ error, ...rest }: Provision): object {
  return { ...rest, error: error ?? null };
}
