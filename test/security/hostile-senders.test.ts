import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiClient, until, type ApiClient, type ShownRequest } from "../support/api-client.ts";
import type { BrokenPromises } from "../../src/gateway.ts";
import { ADMIN_KEY, startGatewayProcess } from "../support/gateway-process.ts";
import { report } from "../support/report.ts";
import { startCommand } from "../support/run-command.ts";
import { skipBecause } from "../support/skip.ts";
import { openSinkServer } from "../support/sink-server.ts";

const HOSTILE = fileURLToPath(new URL("../support/hostile-senders.mjs", import.meta.url));
const BYSTANDER = fileURLToPath(new URL("../support/bystander.mjs", import.meta.url));
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
const ROUND_MS = 3000;
// The targets are 2 × and 100 ms; `npm run hostile` asks for them. On a machine of two cores, which the hostile senders
// share, 1.5 to 3.0 × and 26 to 48 ms were seen. What fails here, where other tests run beside, is only a gateway really held up.
const MAX_RATIO = Number(process.env["R20_MAX_RATIO"] ?? 6);
const MAX_LOOP_MS = Number(process.env["R20_MAX_LOOP_MS"] ?? 400);
const JUDGED_ROUNDS = 3;
const MAX_ROUNDS = 5;
/** What the good senders and the loop see on a machine that does nothing else than this test. */
const QUIET_P99_MS = 25;
const QUIET_LOOP_MS = 60;
const TARGET_RATIO = 2;
const TARGET_LOOP_MS = 100;
const WARM_UP_MS = 1500;
/** So many of its sockets are open: a slow machine throws the first out before the last of them have come. */
const UNDER_WAY = 500;

interface Round {
  p99: number;
  failed: number;
  loopMs: number;
  rssMb: number;
}

/** R20 against the built gateway: what bad senders do to the good ones. */
describe("hostile senders", () => {
  it("never hold the loop, and cost the good ones a bounded part of their time", async (context) => {
    const { measureGood, attackGateway, attackBystander, client } = await openArena();
    await measureGood();
    const judged: { before: Round; under: Round }[] = [];
    const attacked: Round[] = [];
    const around: Round[] = [];
    let before = await attackBystander();
    while (judged.length < JUDGED_ROUNDS && attacked.length < MAX_ROUNDS) {
      const under = await attackGateway();
      const after = await attackBystander();
      attacked.push(under);
      // By what is measured around a round and not by the round itself: else the good ones would be picked out.
      if (isQuiet(before) && isQuiet(after)) judged.push({ before, under });
      around.push(before, after);
      before = after;
    }

    const rssMb = Math.max(...attacked.map((round) => round.rssMb));
    const ratio = median(judged.map(({ before: calm, under }) => under.p99 / calm.p99));
    const loopMs = Math.max(0, ...judged.map(({ under }) => under.loopMs));
    const list = (rounds: readonly Round[]) =>
      rounds.map((one) => `${one.p99.toFixed(0)}/${one.loopMs.toFixed(0)}`).join(" ");
    const verdict =
      judged.length === 0
        ? "not judged, the machine is busy"
        : `good p99 ${ratio.toFixed(1)} × (target ${TARGET_RATIO}: ${ratio <= TARGET_RATIO ? "met" : "missed"}), ` +
          `loop blocked at most ${loopMs.toFixed(0)} ms (target ${TARGET_LOOP_MS})`;
    report(
      `R20 hostile senders: ${verdict}; ${judged.length} of ${attacked.length} rounds judged, RSS ${rssMb.toFixed(0)} MB; ` +
        `p99/loop ms attacked ${list(attacked)}, around ${list(around)}`,
    );
    expect(rssMb).toBeLessThan(768);
    expect(attacked.reduce((sum, { failed }) => sum + failed, 0)).toBe(0);

    // However much was refused, no more than a ring of it is kept.
    expect(await countRefused(client, "bad")).toBeLessThanOrEqual(1000);
    await client.settled();
    if (judged.length < JUDGED_ROUNDS) skipBecause(context, "the machine is too busy to judge R20 by the clock");
    expect(ratio).toBeLessThanOrEqual(MAX_RATIO);
    expect(loopMs).toBeLessThanOrEqual(MAX_LOOP_MS);
  });

  it("is a test that can fail: a gateway that reads large bodies in its loop is held by them", async () => {
    const { measureGood, attackGateway } = await openArena({ checkLargeBodiesOnLoop: true });
    await measureGood();
    // A quick machine has it behind it sooner: the worst of three attacks.
    let loopMs = 0;
    for (let n = 0; n < 3 && loopMs <= TARGET_LOOP_MS; n++) loopMs = Math.max(loopMs, (await attackGateway()).loopMs);
    report(`R20 control, large bodies checked in the loop: it is blocked for ${loopMs.toFixed(0)} ms`);
    expect(loopMs).toBeGreaterThan(TARGET_LOOP_MS);
  });

  /** A gateway with good senders, and a bystander that can be attacked in its place. */
  async function openArena(broken?: BrokenPromises) {
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

    const elsewhere = startCommand(process.execPath, [BYSTANDER], folder, {});
    onTestFinished(() => void elsewhere.child.kill());
    let bystanderPort = 0;
    elsewhere.child.stdout?.on("data", (text: string) => (bystanderPort = Number(/\d+/.exec(text)?.[0])));
    await until(() => bystanderPort > 0);

    /** One round while the hostile senders trouble whoever listens there. */
    async function attack(port: number, isUnderWay: () => Promise<boolean>): Promise<Round> {
      const hostile = spawn(process.execPath, [HOSTILE, String(port)], { stdio: "inherit" });
      const ended = once(hostile, "exit");
      try {
        await until(isUnderWay, 30_000, "the attack");
        return await measure(pool, client);
      } finally {
        hostile.kill("SIGKILL");
        await ended;
      }
    }

    // The senders themselves need a core: what that costs is not the gateway's doing.
    const attackBystander = () => {
      const startedAt = performance.now();
      return attack(bystanderPort, async () => performance.now() - startedAt > WARM_UP_MS);
    };
    const attackGateway = async () => {
      const round = await attack(Number(new URL(url).port), async () => (await connectionsOf(client)) > UNDER_WAY);
      await until(async () => (await connectionsOf(client)) < 100, 30_000, "the end of the attack");
      return round;
    };
    return { measureGood: () => measure(pool, client), attackGateway, attackBystander, client };
  }

  function isQuiet({ p99, loopMs }: Round): boolean {
    return p99 <= QUIET_P99_MS && loopMs <= QUIET_LOOP_MS;
  }

  function median(numbers: readonly number[]): number {
    return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
  }

  /** Good webhooks at a constant rate: what they took, and what the gateway says of its loop meanwhile. */
  async function measure(pool: Pool, client: ApiClient): Promise<Round> {
    await client.get("/metrics");
    const times: number[] = [];
    let failed = 0;
    const running: Promise<void>[] = [];
    const startedAt = performance.now();
    for (let sent = 0; performance.now() - startedAt < ROUND_MS; sent++) {
      const dueAt = startedAt + (sent * 1000) / PER_SECOND;
      while (performance.now() < dueAt) await new Promise((resolve) => setTimeout(resolve, 1));
      running.push(
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
    await Promise.all(running);
    const { text } = await client.get("/metrics");
    times.sort((a, b) => a - b);
    return {
      p99: times[Math.floor(times.length * 0.99)] ?? Number.POSITIVE_INFINITY,
      failed,
      loopMs: metric(text, "nodejs_eventloop_lag_max_seconds") * 1000,
      rssMb: metric(text, "process_resident_memory_bytes") / 1_048_576,
    };
  }

  function metric(text: string, name: string): number {
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  }

  async function connectionsOf(client: ApiClient): Promise<number> {
    const { text } = await client.get("/metrics");
    return metric(text, 'nodejs_active_resources{type="TCPSocketWrap"}') || 0;
  }

  async function countRefused(client: ApiClient, source: string): Promise<number> {
    let found = 0;
    let cursor = "";
    for (;;) {
      const { json } = await client.get(`/api/v1/sources/${source}/requests?limit=500${cursor}`);
      found += (json["data"] as ShownRequest[]).length;
      if (json["next_cursor"] === null) return found;
      cursor = `&cursor=${String(json["next_cursor"])}`;
    }
  }
});
