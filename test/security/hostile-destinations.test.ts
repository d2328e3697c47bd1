import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiClient, until, type ApiClient, type ShownDelivery } from "../support/api-client.ts";
import { EXPIRED_PAIR, SERVER_PAIR, TEST_CA, WRONG_HOST_PAIR } from "../support/certificates.ts";
import { ADMIN_KEY, startGatewayProcess } from "../support/gateway-process.ts";
import { sized, timeLimit } from "../support/proof-size.ts";
import { report } from "../support/report.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";

const HOSTILE = fileURLToPath(new URL("../support/hostile-destinations.mjs", import.meta.url));
const DEADLINE_S = 1;
/** Of the time that an attempt may take at most. */
const MAX_LATE = timeLimit(2);
const MIN_KINDS = 40;
const ROUNDS = sized({ short: 2, middle: 4, long: 4 });
const ROUND_MS = 1000;
const GOOD_PER_ROUND = 50;
const MAX_MORE_RSS_MB = 64;
/** Of what as many harmless ones cost. */
const MAX_MORE_CPU = timeLimit(4);
const MAX_SLOWER = timeLimit(10);
/** What a median of few milliseconds may vary by. */
const SLACK_MS = 20;
/** What ends well for all their trouble, or is an answer like any other. */
const RESULTS = new Set(["success", "failed", "timeout", "connection_error", "blocked"]);

interface HostileDestination {
  name: string;
  url: string;
  isTrusted: boolean;
}

interface Good {
  medianMs: number;
  p99Ms: number;
  /** What the gateway computed meanwhile: it does not depend on who else uses the machine. */
  cpuS: number;
}

/** R19 against the built gateway: what bad destinations do to it and to the good ones. */
describe("hostile destinations", () => {
  it("get their time and no more, and nothing of the others'", async () => {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-hostile-"));
    const [sink, hostile] = [await openSinkServer(), await openHostile()];
    const gateway = startGatewayProcess({ folder, env: { POSTHORN_LOG_LEVEL: "error" } });
    const url = await gateway.ready;
    const client = createApiClient({ url: () => url }, ADMIN_KEY);
    // Asking the gateway would cost it more than the hostile ones do.
    const readRssMb = async () =>
      process.platform === "linux"
        ? Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) / 1024
        : (await readMetric(client, "process_resident_memory_bytes")) / 1_048_576;
    onTestFinished(async () => {
      const { code, output } = await gateway.kill("SIGTERM");
      await Promise.all([hostile.close(), sink.close()]);
      rmSync(folder, { recursive: true, force: true });
      expect([code, output.replace(/^ready .*\n/m, "")]).toEqual([0, ""]);
    });
    const [wellBehaved, ...kinds] = hostile.destinations;
    expect(kinds.length).toBeGreaterThanOrEqual(MIN_KINDS);
    await client.subscribe({ name: "good", url: sink.url, events: ["good.event"] });
    const publishTwo = (event_type: string) => () =>
      client.publish(Array.from({ length: 2 }, () => ({ event_type, payload: { n: 1 } })));

    const crowd: string[] = [];
    for (const { name } of kinds) {
      const settings = { name: `no ${name}`, url: wellBehaved?.url ?? "", events: ["harmless.event"] };
      crowd.push((await client.subscribe(settings)).id);
    }
    await sendGood(client, sink, ROUNDS, publishTwo("harmless.event"));
    const before = await sendGood(client, sink, ROUNDS, publishTwo("harmless.event"));
    for (const id of crowd) await client.request("DELETE", `/api/v1/subscriptions/${id}`);
    const rssBefore = await readRssMb();

    const brief = { timeout: DEADLINE_S, retry_policy: { delays_s: [] }, concurrency: 4 };
    const subscriptions = new Map<string, string>();
    for (const { name, url: to, isTrusted } of kinds) {
      const auth = to.startsWith("https:") && isTrusted ? { auth: { type: "ca", ca: TEST_CA } } : {};
      const { id } = await client.subscribe({ name, url: to, events: ["hostile.event"], ...brief, ...auth });
      subscriptions.set(id, name);
    }
    // The negative control: one that is allowed to take longer does so, and would be found late.
    const silent = kinds.find(({ name }) => name === "says nothing")?.url ?? "";
    const slow = { ...brief, timeout: 3 };
    const patient = await client.subscribe({ name: "patient", url: silent, events: ["patient.event"], ...slow });

    let rssMax = 0;
    let mostSockets = 0;
    const bystander = watchOwnLoop();
    const watch = setInterval(() => {
      mostSockets = Math.max(mostSockets, countSockets(kinds));
      readRssMb().then(
        (mb) => (rssMax = Math.max(rssMax, mb)),
        () => undefined,
      );
    }, 200);
    await client.publish({ event_type: "patient.event", payload: {}, event_id: "patient" });
    const under = await sendGood(client, sink, ROUNDS, publishTwo("hostile.event"));
    await until(async () => (await countSending(client)) === 0, undefined, "the end of all attempts");
    clearInterval(watch);
    const busyMs = bystander.stop();
    rssMax = Math.max(rssMax, await readRssMb());

    const attempts = await listAttempts(client, subscriptions);
    const patientMs = Number((await client.deliveryOf("patient")).attempts[0]?.["duration_ms"]);
    const tried = new Set(attempts.map(({ kind }) => kind));
    const longest = attempts.reduce((most, one) => (one.durationMs > most.durationMs ? one : most));
    const limitMs = DEADLINE_S * 1000 * MAX_LATE + busyMs;
    const late = attempts.filter(({ durationMs }) => durationMs > limitMs);
    const moreRss = Math.max(0, rssMax - rssBefore);
    for (const id of [...subscriptions.keys(), patient.id])
      await client.request("DELETE", `/api/v1/subscriptions/${id}`);
    await until(() => countSockets(kinds) === 0, undefined, "the end of the sockets");
    const after = await sendGood(client, sink, 1);

    const show = ({ medianMs, p99Ms, cpuS }: Good) =>
      `${medianMs.toFixed(0)}/${p99Ms.toFixed(0)} ms (${cpuS.toFixed(1)} s of CPU)`;
    report(
      `R19 hostile destinations: ${tried.size} kinds, ${attempts.length} attempts, longest ${longest.durationMs} ms ` +
        `(deadline ${DEADLINE_S} s), ${late.length} late, on a machine that was late by ${busyMs.toFixed(0)} ms itself; at most ${mostSockets} sockets, 0 left; RSS + ${moreRss.toFixed(0)} MB (target ${MAX_MORE_RSS_MB}); ` +
        `a good destination's median/p99 beside as many harmless ones ${show(before)}, under ${show(under)}, after ${show(after)}, ` +
        `${(under.cpuS / before.cpuS).toFixed(1)} × of the CPU, ${(under.medianMs / before.medianMs).toFixed(1)} × of the median`,
    );
    expect([...subscriptions.values()].filter((name) => !tried.has(name))).toEqual([]);
    expect(late).toEqual([]);
    expect(attempts.filter(({ result }) => !RESULTS.has(result))).toEqual([]);
    expect(moreRss).toBeLessThanOrEqual(MAX_MORE_RSS_MB);
    expect(under.cpuS / before.cpuS).toBeLessThanOrEqual(MAX_MORE_CPU);
    expect(under.medianMs).toBeLessThanOrEqual(before.medianMs * MAX_SLOWER + SLACK_MS);
    expect(patientMs).toBeGreaterThan(2 * DEADLINE_S * 1000);
  });

  async function openHostile() {
    const pairs = { server: SERVER_PAIR, expired: EXPIRED_PAIR, wrong: WRONG_HOST_PAIR };
    const child = spawn(process.execPath, [HOSTILE, JSON.stringify(pairs)], { stdio: ["pipe", "pipe", "inherit"] });
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    return {
      destinations: JSON.parse(line) as HostileDestination[],
      async close() {
        const exited = once(child, "exit");
        child.stdin.end();
        await exited;
      },
    };
  }

  /** Events for the good destination at a constant rate: from the publisher's hand to the destination's. */
  async function sendGood(
    client: ApiClient,
    sink: SinkServer,
    rounds: number,
    each?: () => Promise<unknown>,
  ): Promise<Good> {
    const sentAt = new Map<string, number>();
    const times: number[] = [];
    const first = sink.requests.length;
    const cpuBefore = await readMetric(client, "process_cpu_seconds_total");
    sink.answerWith((request) => {
      const startedAt = sentAt.get(String(request.headers["webhook-id"]));
      if (startedAt !== undefined) times.push(performance.now() - startedAt);
      return { status: 200 };
    });
    const running: Promise<unknown>[] = [];
    for (let round = 0; round < rounds; round++) {
      if (each !== undefined) running.push(each());
      for (let n = 0; n < GOOD_PER_ROUND; n++) {
        const dueAt = performance.now() + ROUND_MS / GOOD_PER_ROUND;
        const event_id = `good-${first}-${round}-${n}`;
        sentAt.set(event_id, performance.now());
        running.push(client.publish({ event_type: "good.event", payload: {}, event_id }));
        while (performance.now() < dueAt) await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }
    await Promise.all(running);
    await sink.received(first + rounds * GOOD_PER_ROUND);
    times.sort((a, b) => a - b);
    const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.POSITIVE_INFINITY;
    const cpuS = (await readMetric(client, "process_cpu_seconds_total")) - cpuBefore;
    return { medianMs: at(0.5), p99Ms: at(0.99), cpuS };
  }

  /** How late this process is at most: what the machine, and not the gateway, is to blame for. */
  function watchOwnLoop() {
    let latest = 0;
    let dueAt = performance.now() + 20;
    const timer = setInterval(() => {
      latest = Math.max(latest, performance.now() - dueAt);
      dueAt = performance.now() + 20;
    }, 20);
    return {
      stop() {
        clearInterval(timer);
        return latest;
      },
    };
  }

  /** Established connections to them, as the system lists them (Linux only). */
  function countSockets(kinds: readonly HostileDestination[]): number {
    if (process.platform !== "linux") return 0;
    const ports = new Set(kinds.map(({ url }) => Number(new URL(url).port)));
    const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
    return rows.filter((row) => {
      const [, , remote = "", state] = row.trim().split(/\s+/);
      return state === "01" && ports.has(Number.parseInt(remote.split(":")[1] ?? "", 16));
    }).length;
  }

  async function countSending(client: ApiClient): Promise<number> {
    return (await client.deliveries("status=sending")).length;
  }

  async function listAttempts(client: ApiClient, subscriptions: ReadonlyMap<string, string>) {
    const found: { kind: string; durationMs: number; result: string; error: unknown }[] = [];
    const all: ShownDelivery[] = [];
    for (const id of subscriptions.keys()) all.push(...(await client.deliveries(`subscription_id=${id}`)));
    for (const { id, subscription_id: subscription } of all) {
      for (const { duration_ms: durationMs, result, error } of (await client.delivery(id)).attempts) {
        const kind = subscriptions.get(subscription) ?? "";
        found.push({ kind, durationMs: Number(durationMs), result, error });
      }
    }
    return found;
  }

  async function readMetric(client: ApiClient, name: string): Promise<number> {
    const { text } = await client.get("/metrics");
    const line = text.split("\n").find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? 0);
  }
});
