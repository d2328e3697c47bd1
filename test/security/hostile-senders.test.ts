import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiClient, until, type ApiClient, type ShownRequest } from "../support/api-client.ts";
import type { BrokenPromises } from "../support/broken-promises.mjs";
import { ADMIN_KEY, startGatewayProcess } from "../support/gateway-process.ts";
import { sized, timeExcess, timeLimit } from "../support/proof-size.ts";
import { report } from "../support/report.ts";
import { startCommand } from "../support/run-command.ts";
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
const ROUND_MS = sized({ short: 1500, middle: 3000, long: 3000 });
const ROUNDS = sized({ short: 1, middle: 5, long: 5 });
/**
 * Of what the same senders cost while they trouble somebody else on this machine: at most twice the time of the good
 * ones is the target, and `npm run hostile` asks for it. On two cores, which the hostile senders share, 1.5 to 3.0 ×
 * were seen, and the loop was held for 26 to 48 ms; more than the limits is a gateway that is really held up.
 */
const TARGET_RATIO = 2;
const MAX_RATIO = timeLimit(sized({ short: 6, middle: 6, long: TARGET_RATIO }));
const MAX_LOOP_RATIO = timeLimit(3);
const MIN_CONTROL_RATIO = timeExcess(3);
const WARM_UP_MS = 1500;
/** So many of its sockets are open: a slow machine throws the first out before the last of them have come. */
const UNDER_WAY = 500;

interface Round {
  p99: number;
  failed: number;
  answered: number;
  loopMs: number;
  rssMb: number;
}

/** R20 against the built gateway: what bad senders do to the good ones. */
describe("hostile senders", () => {
  it("never hold the loop, and cost the good ones a bounded part of their time", async () => {
    const { measureGood, attackGateway, attackBystander, client } = await openArena();
    await measureGood();
    const attacked: Round[] = [];
    const around: Round[] = [await attackBystander()];
    for (let round = 0; round < ROUNDS; round++) {
      attacked.push(await attackGateway());
      around.push(await attackBystander());
    }

    const rssMb = Math.max(...attacked.map((round) => round.rssMb));
    const { ratio, loopRatio } = compare(attacked, around);
    report(
      `R20 hostile senders: good p99 ${ratio.toFixed(1)} × (target ${TARGET_RATIO}), ` +
        `loop held ${loopRatio.toFixed(1)} × as long as beside them, RSS ${rssMb.toFixed(0)} MB, ` +
        `${attacked.reduce((sum, { answered }) => sum + answered, 0)} good webhooks answered; ` +
        `p99/loop ms attacked ${list(attacked)}, around ${list(around)}`,
    );
    expect(rssMb).toBeLessThan(768);
    expect(attacked.reduce((sum, { failed }) => sum + failed, 0)).toBe(0);

    // However much was refused, no more than a ring of it is kept.
    expect(await countRefused(client, "bad")).toBeLessThanOrEqual(1000);
    await client.settled();
    expect(ratio).toBeLessThanOrEqual(MAX_RATIO);
    expect(loopRatio).toBeLessThanOrEqual(MAX_LOOP_RATIO);
  });

  it("is a test that can fail: a gateway that reads large bodies in its loop is held by them", async () => {
    const { measureGood, attackGateway, attackBystander } = await openArena({ checkLargeBodiesOnLoop: true });
    await measureGood();
    const around = [await attackBystander()];
    const attacked = [await attackGateway()];
    // One round of either may be an odd one: up to as many pairs as the proof itself takes.
    while (attacked.length < 5 && compare(attacked, around).loopRatio <= MIN_CONTROL_RATIO) {
      around.push(await attackBystander());
      attacked.push(await attackGateway());
    }
    const { loopRatio } = compare(attacked, around);
    report(`R20 control, large bodies checked in the loop: it is held ${loopRatio.toFixed(1)} × as long`);
    expect(attacked.reduce((sum, { failed }) => sum + failed, 0)).toBe(0);
    expect(loopRatio).toBeGreaterThan(MIN_CONTROL_RATIO);
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
        await until(isUnderWay, undefined, "the attack");
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
      await until(async () => (await connectionsOf(client)) < 100, undefined, "the end of the attack");
      return round;
    };
    return { measureGood: () => measure(pool, client), attackGateway, attackBystander, client };
  }

  function compare(attacked: readonly Round[], around: readonly Round[]) {
    const p99 = (rounds: readonly Round[]) => median(rounds.map((round) => round.p99));
    const loopMs = (rounds: readonly Round[]) => median(rounds.map((round) => round.loopMs));
    return { ratio: p99(attacked) / p99(around), loopRatio: loopMs(attacked) / loopMs(around) };
  }

  function list(rounds: readonly Round[]): string {
    return rounds.map((one) => `${one.p99.toFixed(0)}/${one.loopMs.toFixed(0)}`).join(" ");
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
      answered: times.length,
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
