import { TURNS_PER_ROUND } from "../plan.mjs";
import { median } from "../statistics.mjs";
import { cpuPerEvent, describeRefused, target } from "./end-to-end.mjs";

/** So often somebody asks for what the state of a delivery does not allow. */
export const REFUSED_PER_S = 200;
const REFUSED_CONNECTIONS = 4;
const NAMES = ["none", "refused", "unknown"];

/** One key that repeats what is refused must not slow down the senders: a refusal shares their transactions and their fsync. */
export async function measureRefusedChanges(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const refusals = await bench.startChild("load");
  const gateway = await bench.startGateway("refused-changes");
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });
  const side = { load, refusals, gateway };
  await load.ask("flood", { ...target(gateway.port), durationMs: plan.warmUpMs });
  await gateway.drained(subscription.id);
  const refused = await findRefused(gateway);
  const besides = { none: undefined, refused, unknown: { ...refused, path: "/api/v1/unknown", status: "404" } };
  await floodBeside(side, refused, plan.roundMs / TURNS_PER_ROUND);
  await gateway.api("POST", `/api/v1/subscriptions/${subscription.id}/pause`);

  const rounds = [];
  for (let i = 0; i < plan.rounds * TURNS_PER_ROUND; i++) {
    // In turn, so that none is always the one with the fuller store.
    const round = {};
    for (const name of i % 2 === 0 ? NAMES : NAMES.toReversed()) {
      round[name] = await floodBeside(side, besides[name], plan.roundMs / TURNS_PER_ROUND);
    }
    rounds.push(round);
  }
  await bench.stopAll();

  const of = (read) => median(rounds.map(read));
  const describe = (name) => {
    const cpu = (key) => Math.round(of((round) => round[name].cpuUs[key]));
    return `${Math.round(of((round) => round[name].perSecond))}/s at ${cpu("main")} + ${cpu("others")} µs`;
  };
  return {
    rows: [
      {
        figure: `ingest beside ${REFUSED_PER_S} refused changes/s ÷ beside none`,
        value: of((round) => round.refused.perSecond / round.none.perSecond),
        must: 0.95,
        note:
          `${describe("refused")}, beside none ${describe("none")}` +
          describeRefused(rounds.flatMap((round) => NAMES.map((name) => round[name]))),
      },
      {
        figure: "… ÷ beside as many requests that never reach the store",
        value: of((round) => round.refused.perSecond / round.unknown.perSecond),
        note: `beside those ${describe("unknown")}`,
      },
      {
        figure: "… CPU time of the store's threads per event ÷ beside none",
        value: of((round) => round.refused.cpuUs.others / round.none.cpuUs.others),
      },
    ],
    details: { rounds },
  };
}

/** The request that cancels a delivery which is over: refused with 409, by the store. */
export async function findRefused(gateway) {
  const { data } = await gateway.api("GET", "/api/v1/deliveries?status=delivered&limit=1");
  return {
    port: gateway.port,
    path: `/api/v1/deliveries/${data[0].id}/cancel`,
    connections: REFUSED_CONNECTIONS,
    headers: `authorization: ${gateway.authorization}\r\n`,
    body: "{}",
    ratePerS: REFUSED_PER_S,
    status: "409",
  };
}

/** Beside nothing when there is nothing to be refused. */
export async function floodBeside({ load, refusals, gateway }, refused, durationMs) {
  const before = gateway.cpuMs();
  const [run, beside] = await Promise.all([
    load.ask("flood", { ...target(gateway.port), durationMs }),
    refused === undefined ? undefined : refusals.ask("pace", { ...refused, durationMs }),
  ]);
  const wrong = Object.keys(beside?.statuses ?? {}).find((status) => status !== refused.status);
  if (wrong !== undefined) throw new Error(`what is to be refused with ${refused.status} was answered ${wrong}`);
  return { ...run, cpuUs: cpuPerEvent(before, gateway.cpuMs(), run.ok), refusedChanges: beside };
}
