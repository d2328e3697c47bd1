import { TURNS_PER_ROUND } from "../plan.mjs";
import { median } from "../statistics.mjs";
import { cpuPerEvent, describeRefused, target } from "./end-to-end.mjs";

/** So often somebody asks for what the state of a delivery does not allow. */
export const REFUSED_PER_S = 200;
const REFUSED_CONNECTIONS = 4;

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
  await floodBeside(side, refused, plan.roundMs / TURNS_PER_ROUND);
  await gateway.api("POST", `/api/v1/subscriptions/${subscription.id}/pause`);

  const rounds = [];
  for (let i = 0; i < plan.rounds * TURNS_PER_ROUND; i++) {
    // In turn, so that neither is always the one with the fuller store.
    const round = {};
    for (const name of i % 2 === 0 ? ["alone", "beside"] : ["beside", "alone"]) {
      round[name] = await floodBeside(side, name === "beside" ? refused : undefined, plan.roundMs / TURNS_PER_ROUND);
    }
    rounds.push(round);
  }
  await bench.stopAll();

  const of = (read) => median(rounds.map(read));
  const perSecond = (name) => Math.round(of((round) => round[name].perSecond));
  const cpu = (name, key) => Math.round(of((round) => round[name].cpuUs[key]));
  return {
    rows: [
      {
        figure: `ingest beside ${REFUSED_PER_S} refused changes/s ÷ beside none`,
        value: of((round) => round.beside.perSecond / round.alone.perSecond),
        must: 0.95,
        note:
          `${perSecond("beside")}/s, beside none ${perSecond("alone")}/s; CPU ${cpu("beside", "main")} + ` +
          `${cpu("beside", "others")} µs ÷ ${cpu("alone", "main")} + ${cpu("alone", "others")} µs` +
          describeRefused(rounds.flatMap(({ alone, beside }) => [alone, beside])),
      },
      {
        figure: "… the writer's and the reader's CPU time per event, beside ÷ none",
        value: of((round) => round.beside.cpuUs.others / round.alone.cpuUs.others),
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
  };
}

/** Beside nothing when there is nothing to be refused. */
export async function floodBeside({ load, refusals, gateway }, refused, durationMs) {
  const before = gateway.cpuMs();
  const [run, beside] = await Promise.all([
    load.ask("flood", { ...target(gateway.port), durationMs }),
    refused === undefined ? undefined : refusals.ask("pace", { ...refused, durationMs }),
  ]);
  const wrong = Object.keys(beside?.statuses ?? {}).find((status) => status !== "409");
  if (wrong !== undefined) throw new Error(`what is to be refused with 409 was answered ${wrong}`);
  return { ...run, cpuUs: cpuPerEvent(before, gateway.cpuMs(), run.ok), refusedChanges: beside };
}
