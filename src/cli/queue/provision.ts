import { listFallbackWarnings } from "../../config/check-declared.ts";
import { listConnections } from "../../config/connections.ts";
import type { Config } from "../../config/settings-tree.ts";
import { createAddressGuard } from "../../destinations/wire/address-guard.ts";
import { openHttpClient } from "../../destinations/wire/http-client.ts";
import { type Clock, createSystemClock } from "../../model/clock.ts";
import { BROKER_KINDS, DEFAULT_CONNECTION } from "../../model/connection.ts";
import type { AskManagement } from "../../queues/amqp/management.ts";
import { createConnections } from "../../queues/connections.ts";
import {
  checkNeeded,
  declareNeeded,
  type Provision,
  type BrokerUse,
  listNeeded,
  type Needed,
} from "../../queues/provision.ts";
import { ReportedFailure, usageFailure } from "../failure.ts";
import { loadLocal, type LocalFlags } from "../local.ts";
import { note, print, printJson } from "../output.ts";

interface ProvisionFlags extends LocalFlags {
  kind?: string;
  queue?: string;
  connection?: string;
  sessions?: boolean;
}

export async function runProvision(action: "declare" | "check", flags: ProvisionFlags): Promise<void> {
  const named = readNamed(flags);
  const { config, warnings } = loadLocal(flags);
  for (const warning of warnings) note(warning);
  const inputs = listConnections(config);
  const isNamed = ({ kind, name }: (typeof inputs)[number]) =>
    named === undefined || (kind === named.kind && name === named.settings["connection"]);
  const needed = listNeeded(inputs.filter(isNamed), named === undefined ? listUses(config) : [named]);
  const results = await provision(action, needed, inputs);
  const unfit = named === undefined ? listFallbackWarnings(config.subscriptions) : [];
  const isWell = results.every(({ differences, error }) => differences.length === 0 && error === undefined);
  if (flags.json === true) {
    const shown = results.map(({ error = null, ...rest }) => ({ ...rest, error }));
    printJson({ ok: isWell, results: shown, warnings: unfit });
  } else {
    for (const result of results) print(describe(action, result));
    for (const warning of unfit) print(`warn  ${warning}`);
    if (inputs.length === 0) note("the configuration has no connections to brokers");
    else if (results.length === 0) note("no source or subscription of the configuration uses a queue");
    if (inputs.length > 0 && named === undefined) note(ONLY_DECLARED);
  }
  if (!isWell) throw new ReportedFailure();
}

const ONLY_DECLARED =
  "queues of sources and subscriptions that were created by API are not known here; name one with --kind and --queue";

/** A queue that the configuration need not mention. */
function readNamed({ kind, queue, connection = DEFAULT_CONNECTION, sessions }: ProvisionFlags): BrokerUse | undefined {
  if (queue === undefined) {
    if (kind === undefined) return undefined;
    throw usageFailure("--kind: is only for a queue that is named; give --queue too.");
  }
  if (!BROKER_KINDS.some((one) => one === kind)) {
    const given = kind === undefined ? "--queue: give --kind too" : `--kind: "${kind}" is not a kind of broker`;
    throw usageFailure(`${given}; use one of: ${BROKER_KINDS.join(", ")}.`);
  }
  return { kind: kind ?? "", settings: { queue, connection, sessions } };
}

async function provision(
  action: "declare" | "check",
  needed: readonly Needed[],
  inputs: ReturnType<typeof listConnections>,
): Promise<Provision[]> {
  const clock = createSystemClock();
  const connections = createConnections({
    connections: inputs,
    label: `posthorn queue ${action}`,
    clock,
    random: { next: Math.random },
  });
  const management = openManagement(clock);
  try {
    const results: Provision[] = [];
    const options = { connections, inputs, ask: management.ask };
    for (const one of needed) {
      results.push(await (action === "declare" ? declareNeeded(one, options) : checkNeeded(one, options)));
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

function describe(action: "declare" | "check", result: Provision): string {
  const { differences, unchecked, error } = result;
  const place = `${result.kind} ${result.connection}`;
  const faults = [...(error === undefined ? [] : [error]), ...differences].map((text) => `fail  ${place}: ${text}`);
  const how = action === "declare" ? "created, or already there:" : "as configured:";
  const well = faults.length === 0 ? [`ok    ${place}: ${how} ${result.what}`] : [];
  return [...well, ...faults, ...unchecked.map((text) => `?     ${place}: ${text}`)].join("\n");
}

const TIMEOUT_MS = 10_000;
const NOTHING = new Uint8Array(0);

/** The operator names the broker in the configuration, so it may be on a private network. Redirects are rejected. */
export function openManagement(clock: Clock): { ask: AskManagement; close(): Promise<void> } {
  const client = openHttpClient({ guard: createAddressGuard({ allowPrivate: true }), allowHttp: true, clock });
  return {
    ask: (url, authorization) =>
      new Promise((resolve, reject) => {
        const headers = { accept: "application/json", authorization, "user-agent": "Posthorn" };
        const request = { method: "GET", url, headers, body: NOTHING, timeoutMs: TIMEOUT_MS, maxRedirects: 0 };
        client.request(request, (result) => {
          if (result.kind !== "response") return reject(new Error(result.error));
          return resolve({ status: result.status, text: Buffer.from(result.body).toString("utf8") });
        });
      }),
    close: () => client.close(),
  };
}
