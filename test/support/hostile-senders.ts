import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { onTestFinished } from "vitest";
import { createApiClient, until, type ApiClient } from "./api-client.ts";
import type { BrokenPromises } from "./broken-promises.mjs";
import { ADMIN_KEY, startGatewayProcess } from "./gateway-process.ts";
import { startCommand } from "./run-command.ts";
import { createRunning } from "./running.ts";
import { openSinkServer } from "./sink-server.ts";

const SCRIPT = fileURLToPath(new URL("hostile-senders.mjs", import.meta.url));
const BYSTANDER = fileURLToPath(new URL("bystander.mjs", import.meta.url));
const YAML = `
sources:
  - name: good
  - name: keyed
    id_from: body:/id
    ordering_key_from: body:/0/id
limits:
  headers_timeout_s: 3
  request_timeout_s: 5
`;
const PER_SECOND = 150;
const WARM_UP_MS = 1500;
/** So many of its sockets are open: a slow machine throws the first out before the last of them have come. */
const UNDER_WAY = 500;

/** Good webhooks at a constant rate: what became of them, and what the gateway says of itself meanwhile. */
export interface SendingRound {
  p99: number;
  failed: number;
  answered: number;
  loopMs: number;
  rssMb: number;
}

/** A built gateway with good senders, and a bystander that can be attacked in its place. */
export interface HostileSenders {
  readonly client: ApiClient;
  measureGood(forMs: number): Promise<SendingRound>;
  /** A round while the hostile senders trouble the gateway. */
  attackGateway(forMs: number): Promise<SendingRound>;
  /** They need a core themselves: what that costs is not the gateway's doing. */
  attackBystander(forMs: number): Promise<SendingRound>;
}

/** Gone after the test. */
export async function openHostileSenders(broken?: BrokenPromises): Promise<HostileSenders> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-hostile-"));
  writeFileSync(join(folder, "posthorn.yaml"), YAML);
  const sink = await openSinkServer();
  const gateway = startGatewayProcess({ folder, env: { POSTHORN_LOG_LEVEL: "error" }, broken });
  const url = await gateway.ready;
  const pool = new Pool(url, { connections: 16, pipelining: 1 });
  const client = createApiClient({ url: () => url }, ADMIN_KEY);
  onTestFinished(async () => {
    await pool.close();
    await gateway.kill("SIGTERM");
    await sink.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await client.subscribe({ name: "good", url: sink.url, events: ["webhook.good"] });

  let bystander: Promise<number> | undefined;
  /** Its port. */
  async function startBystander(): Promise<number> {
    const { child } = startCommand(process.execPath, [BYSTANDER], folder, {});
    onTestFinished(() => void child.kill());
    let port = 0;
    child.stdout?.on("data", (text: string) => (port = Number(/\d+/.exec(text)?.[0])));
    await until(() => port > 0);
    return port;
  }

  async function attack(port: number, forMs: number, isUnderWay: () => Promise<boolean>): Promise<SendingRound> {
    const hostile = spawn(process.execPath, [SCRIPT, String(port)], { stdio: "inherit" });
    const ended = once(hostile, "exit");
    try {
      await until(isUnderWay, undefined, "the attack");
      return await measureGood(forMs);
    } finally {
      hostile.kill("SIGKILL");
      await ended;
    }
  }

  async function measureGood(forMs: number): Promise<SendingRound> {
    await client.get("/metrics");
    const times: number[] = [];
    let failed = 0;
    const running = createRunning();
    const startedAt = performance.now();
    for (let sent = 0; performance.now() - startedAt < forMs; sent++) {
      const dueAt = startedAt + (sent * 1000) / PER_SECOND;
      while (performance.now() < dueAt) await new Promise((resolve) => setTimeout(resolve, 1));
      running.add(
        pool
          .request({
            method: "POST",
            path: "/webhook/good",
            headers: { "content-type": "application/json" },
            body: `{"n":${sent}}`,
          })
          .then(async ({ statusCode, body }) => {
            await body.dump();
            times.push(performance.now() - dueAt);
            if (statusCode !== 202) failed++;
          }),
      );
    }
    await running.ended();
    const { text } = await client.get("/metrics");
    times.sort((a, b) => a - b);
    return {
      p99: times[Math.floor(times.length * 0.99)] ?? Number.POSITIVE_INFINITY,
      failed,
      answered: times.length,
      loopMs: metric(text, "nodejs_eventloop_lag_max_seconds") * 1000,
      rssMb: metric(text, "process_resident_memory_bytes") / 1_048_576,
    };
  }

  async function countConnections(): Promise<number> {
    const { text } = await client.get("/metrics");
    return metric(text, 'nodejs_active_resources{type="TCPSocketWrap"}') || 0;
  }

  async function hasRejected(): Promise<boolean> {
    const { json } = await client.get("/api/v1/sources/bad/requests?limit=1");
    return (json["data"] as unknown[]).length > 0;
  }

  return {
    client,
    measureGood,
    async attackGateway(forMs) {
      const port = Number(new URL(url).port);
      const round = await attack(
        port,
        forMs,
        async () => (await countConnections()) > UNDER_WAY && (await hasRejected()),
      );
      await until(async () => (await countConnections()) < 100, undefined, "the end of the attack");
      return round;
    },
    async attackBystander(forMs) {
      const port = await (bystander ??= startBystander());
      const startedAt = performance.now();
      return attack(port, forMs, async () => performance.now() - startedAt > WARM_UP_MS);
    },
  };
}

function metric(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}
