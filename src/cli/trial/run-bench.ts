import { once } from "node:events";
import { extname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { CommandFailure } from "../failure.ts";
import { describeFileSystem, formatMs, measureFsync, percentileOf } from "../fsync-time.ts";
import { note, openProgress, printJson, printTable, type Progress } from "../output.ts";
import { readCount } from "../read-value.ts";
import { resolvePath, runInterruptible } from "../surroundings.ts";
import { flood, openLoadConnection, writeRequest } from "./load.ts";
import { startOwnGateway, type TrialFlags, withTrialFolder } from "./own-gateway.ts";

const SOURCE = "bench";
const CONNECTIONS = 64;
const FSYNCS = { count: 500, maxMs: 1000 };
const ROUNDS = 3;
/** Shares of the time: warm-up, then three rounds of both servers. Open deliveries are completed after each round. */
const SHARES = { warmUp: 0.1, bare: 0.05, gateway: 0.15 };
const DRAIN_MS = 60_000;
const POLL_MS = 10;

type Flooded = Awaited<ReturnType<typeof floodServer>>;

type Round = Awaited<ReturnType<typeof deliverAll>> & { bare: Flooded };

/** Benchmarks a gateway of its own in a temporary folder, never one that is in use. */
export async function runBench(flags: TrialFlags): Promise<void> {
  const seconds = readCount(flags.seconds, "--seconds", { min: 2, max: 600 });
  const dir = resolvePath(flags.dir);
  const progress = openProgress(2 * ROUNDS + 2);
  const measuring = runInterruptible((signal) => measure(dir, seconds, progress, signal));
  const measured = await measuring.finally(() => progress.close());
  printFigures(measured, dir, flags.json === true);
}

async function measure(dir: string, seconds: number, progress: Progress, signal: AbortSignal) {
  const farEnd = await openFarEnd();
  const url = `http://127.0.0.1:${farEnd.sinkPort}/`;
  const config = {
    sources: [{ name: SOURCE }],
    subscriptions: [{ name: "sink", url, events: [`webhook.${SOURCE}`], concurrency: CONNECTIONS }],
  };
  let step = 0;
  const next = (): void => {
    signal.throwIfAborted();
    progress.show(++step);
  };
  try {
    return await withTrialFolder(dir, config, async (folder) => {
      const fsync = measureFsync(folder, FSYNCS);
      next();
      const gateway = await startOwnGateway(folder);
      try {
        const gatewayPort = Number(new URL(gateway.url).port);
        const run = (port: number, share: number) => floodServer(port, share * seconds * 1000);
        await run(farEnd.barePort, SHARES.warmUp / 2);
        await deliverAll(farEnd, () => run(gatewayPort, SHARES.warmUp), signal);
        next();
        const rounds: Round[] = [];
        for (let round = 0; round < ROUNDS; round++) {
          const bare = await run(farEnd.barePort, SHARES.bare);
          next();
          rounds.push({ bare, ...(await deliverAll(farEnd, () => run(gatewayPort, SHARES.gateway), signal)) });
          next();
        }
        return { fsync, rounds };
      } finally {
        await gateway.kill();
      }
    });
  } finally {
    await farEnd.close();
  }
}

async function floodServer(port: number, durationMs: number) {
  const request = writeRequest(port, `/webhook/${SOURCE}`, createBody());
  const latencies: number[] = [];
  let rejected = 0;
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  const onLost = () => fail(new CommandFailure(`The server on port ${port} closed a connection under load.`));
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => openLoadConnection(port, onLost)));
  const startedAt = performance.now();
  const flooding = flood(connections, { durationMs }, (connection, onAnswer) => {
    const sentAt = performance.now();
    connection.send(request, (status) => {
      const isAccepted = status >= 200 && status < 300;
      if (isAccepted) latencies.push(performance.now() - sentAt);
      else rejected += 1;
      onAnswer(isAccepted);
    });
  });
  try {
    await Promise.race([flooding, failed]);
  } finally {
    for (const connection of connections) connection.close();
  }
  return {
    startedAt,
    accepted: latencies.length,
    rejected,
    perSecond: (1000 * latencies.length) / (performance.now() - startedAt),
    p50Ms: percentileOf(latencies, 0.5),
    p99Ms: percentileOf(latencies, 0.99),
  };
}

/** Runs from the first request to the last delivery. */
async function deliverAll(farEnd: FarEnd, load: () => Promise<Flooded>, signal: AbortSignal) {
  const before = (await farEnd.read()).taken;
  const gateway = await load();
  const endsAt = performance.now() + DRAIN_MS;
  for (;;) {
    signal.throwIfAborted();
    const { taken, lastAt } = await farEnd.read();
    if (taken - before >= gateway.accepted) {
      return { gateway, deliveredPerSecond: (1000 * gateway.accepted) / (lastAt - gateway.startedAt) };
    }
    if (performance.now() > endsAt) {
      const open = gateway.accepted - (taken - before);
      throw new CommandFailure(`${open} events were not delivered ${DRAIN_MS / 1000} s after the load.`);
    }
    await wait(POLL_MS);
  }
}

/** About one kilobyte, like an order of a shop. */
function createBody(): Buffer {
  const milk = { name: "Milk, whole, 1 l", price: "1.09" };
  const lines = Array.from({ length: 12 }, (_, n) => ({ sku: `A-${100 + n}`, quantity: n, ...milk }));
  return Buffer.from(JSON.stringify({ order: { id: "ord_1", lines } }));
}

function printFigures({ fsync, rounds }: Awaited<ReturnType<typeof measure>>, dir: string, isJson: boolean): void {
  const median = (read: (round: Round) => number) => percentileOf(rounds.map(read), 0.5);
  const figures = {
    ingest_per_s: Math.round(median(({ gateway }) => gateway.perSecond)),
    answer_p50_ms: median(({ gateway }) => gateway.p50Ms),
    answer_p99_ms: median(({ gateway }) => gateway.p99Ms),
    delivered_per_s: Math.round(median(({ deliveredPerSecond }) => deliveredPerSecond)),
    bare_per_s: Math.round(median(({ bare }) => bare.perSecond)),
    ratio_to_bare: median(({ bare, gateway }) => gateway.perSecond / bare.perSecond),
    fsync_median_ms: fsync.medianMs,
    fsync_p99_ms: fsync.p99Ms,
    events: rounds.reduce((sum, { gateway }) => sum + gateway.accepted, 0),
    refused: rounds.reduce((sum, { gateway }) => sum + gateway.rejected, 0),
  };
  const { name } = describeFileSystem(dir);
  if (isJson) return printJson({ ...figures, dir, file_system: name });
  const perSecond = (value: number) => `${value.toLocaleString("en-US")}/s`;
  printTable(
    ["MEASURE", "VALUE", "WHAT IT IS"],
    [
      ["ingest", perSecond(figures.ingest_per_s), `webhooks on disk before their 202, over ${CONNECTIONS} connections`],
      ["answer p50", formatMs(figures.answer_p50_ms), "from the request to its durable answer, under this load"],
      ["answer p99", formatMs(figures.answer_p99_ms), ""],
      ["delivered", perSecond(figures.delivered_per_s), "from the first request to the last delivery at a local sink"],
      ["bare Node", perSecond(figures.bare_per_s), "a server that only answers 202, under the same load"],
      ["ingest ÷ bare", figures.ratio_to_bare.toFixed(2), "compares machines that differ in speed"],
      ["fsync", formatMs(figures.fsync_median_ms), `median; p99 ${formatMs(figures.fsync_p99_ms)}, on ${name}`],
    ],
  );
  if (figures.refused > 0) note(`${figures.refused} requests were rejected at first: the gateway was overloaded`);
  note(`${figures.events.toLocaleString("en-US")} events; load, sink and gateway shared this machine`);
}

type FarEnd = Awaited<ReturnType<typeof openFarEnd>>;

async function openFarEnd() {
  const worker = new Worker(new URL(`./far-end-thread${extname(import.meta.url)}`, import.meta.url));
  const [ports] = (await once(worker, "message")) as [{ barePort: number; sinkPort: number }];
  return {
    ...ports,
    /** How many deliveries the sink has received so far, and when the last one came, in ms of this process. */
    async read() {
      worker.postMessage("read");
      const [{ taken, lastAt }] = (await once(worker, "message")) as [{ taken: number; lastAt: number }];
      return { taken, lastAt: lastAt - performance.timeOrigin };
    },
    close: () => worker.terminate(),
  };
}
