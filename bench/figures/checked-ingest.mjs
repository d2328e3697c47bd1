import { createHmac } from "node:crypto";
import { createOrder, ORDER_SCHEMA } from "../order.mjs";
import { BODY_BYTES, CONNECTIONS, TURNS_PER_ROUND } from "../plan.mjs";
import { median } from "../statistics.mjs";
import { cpuPerEvent, describeRefused } from "./end-to-end.mjs";

const SECRET = "bench-signing-secret-0123456789abcdef";

/** An order of 1 KB against a schema of 30 fields, against the same order at a source without one. */
export function measureValidation(bench) {
  return measureChecked(bench, {
    name: "validation",
    figure: "ingest with validation ÷ without, cost",
    must: 1.15,
    prepare: (gateway, checked) => gateway.api("PUT", `/validations/${checked}`, ORDER_SCHEMA),
  });
}

/** The same order with its HMAC verified, against a source that verifies nothing. */
export function measureHmac(bench) {
  return measureChecked(bench, {
    name: "hmac",
    figure: "ingest with HMAC verification ÷ without, cost",
    must: 1.1,
    prepare: (gateway, checked) =>
      gateway.api("POST", "/api/v1/sources", {
        name: checked,
        kind: "hmac",
        secrets: [SECRET],
        options: { header: "x-signature", prefix: "sha256=" },
      }),
  });
}

/** Both sources take the same bytes with the same headers; only what is done with them differs. */
async function measureChecked(bench, { name, figure, must, prepare }) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const gateway = await bench.startGateway(name);
  await prepare(gateway, "checked");
  const events = ["webhook.plain", "webhook.checked"];
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events });
  await gateway.api("POST", `/api/v1/subscriptions/${subscription.id}/pause`);

  const body = createOrder(BODY_BYTES);
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const flood = (source, durationMs) =>
    load.ask("flood", {
      port: gateway.port,
      path: `/webhook/${source}`,
      connections: CONNECTIONS,
      body,
      headers: `x-signature: sha256=${signature}\r\n`,
      durationMs,
    });
  const measure = async (source) => {
    const before = gateway.cpuMs();
    const run = await flood(source, plan.roundMs / TURNS_PER_ROUND);
    const { main, others } = cpuPerEvent(before, gateway.cpuMs(), run.ok);
    return { ...run, cpuUs: main + others };
  };
  await flood("plain", plan.warmUpMs / 2);
  await flood("checked", plan.warmUpMs / 2);

  const rounds = [];
  for (let i = 0; i < plan.rounds * TURNS_PER_ROUND; i++) {
    // In turn, so that neither is always the one with the fuller store.
    const round = {};
    for (const source of i % 2 === 0 ? ["plain", "checked"] : ["checked", "plain"])
      round[source] = await measure(source);
    rounds.push(round);
  }
  const refusal = await findRefusal(gateway, body);
  await bench.stopAll();

  const of = (read) => median(rounds.map(read));
  const perSecond = (source) => Math.round(of((round) => round[source].perSecond));
  const cpu = (source) => of((round) => round[source].cpuUs).toFixed(1);
  return {
    rows: [
      {
        figure,
        value: of((round) => round.plain.perSecond / round.checked.perSecond),
        must,
        isLowerBetter: true,
        note:
          `${perSecond("checked")}/s, without ${perSecond("plain")}/s; CPU ${cpu("checked")} ÷ ${cpu("plain")} µs; ` +
          `what does not fit gets ${refusal}${describeRefused(rounds.map((round) => round.checked))}`,
      },
      { figure: `${figure}, by CPU time`, value: of((round) => round.checked.cpuUs / round.plain.cpuUs) },
    ],
    details: { rounds },
  };
}

/** A source that checks nothing would cost nothing: what is wrong must be refused. */
async function findRefusal(gateway, body) {
  const response = await fetch(`http://127.0.0.1:${gateway.port}/webhook/checked`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-signature": "sha256=00" },
    body: body.replace('"status":"paid"', '"status":"none"'),
  });
  await response.arrayBuffer();
  if (response.status !== 401 && response.status !== 422) {
    throw new Error(`the source that is to check answered ${response.status} to what does not fit`);
  }
  return response.status;
}
