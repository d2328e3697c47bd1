import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiClient, type ApiClient } from "../../support/api-client.ts";
import { ADMIN_KEY, startGatewayProcess } from "../../support/gateway-process.ts";
import { report } from "../../support/report.ts";
import { createRunning } from "../../support/running.ts";
import { openSinkServer, type SinkAnswer, type SinkServer } from "../../support/sink-server.ts";

const GOOD = 14;
const BAD = 6;
const PER_S = 4;
const ROUND_MS = 5_000;
const MAX_SOCKETS = 64;
/** For each event of each of the others. */
const FLOOD = 100;
/** Loose: two cores are shared with the destinations. Whoever waits for a slow one waits for seconds. */
const MAX_SLOWER = 10;
/** What a p99 of few milliseconds may vary by. */
const SLACK_MS = 1500;

/** R11 and R12 once more with real sockets, threads and a disk. */
describe("a gateway with bad destinations and a flooding tenant", () => {
  it("goes on delivering to the others", async () => {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-fairness-"));
    const [sink, bad] = [await openSinkServer(), await openSinkServer({ answer: misbehave })];
    const env = { POSTHORN_LOG_LEVEL: "error", POSTHORN_MAX_SOCKETS: String(MAX_SOCKETS) };
    const gateway = startGatewayProcess({ folder, env });
    const url = await gateway.ready;
    const client = createApiClient({ url: () => url }, ADMIN_KEY);
    onTestFinished(async () => {
      await gateway.kill("SIGTERM");
      await Promise.all([sink.close(), bad.close()]);
      rmSync(folder, { recursive: true, force: true });
    });
    for (let number = 0; number < GOOD; number++) {
      await client.subscribe({ name: `good-${number}`, tenant_id: `t-${number}`, url: sink.url, events: ["good"] });
    }
    for (let number = 0; number < BAD; number++) {
      const where = ["hang", "late", "500"][number % 3] ?? "";
      const settings = { tenant_id: `t-${number}`, events: ["bad"], timeout: 10, url: `${bad.url}/${where}` };
      await client.subscribe({ name: `bad-${number}`, ...settings });
    }
    await client.subscribe({ name: "flood", tenant_id: "flood", url: sink.url, events: ["flood"] });

    await measureGood(client, sink);
    const alone = await measureGood(client, sink);
    const besideBad = await measureGood(client, sink, () => publishBad(client));
    const besideFlood = await measureGood(client, sink, () => publishFlood(client));
    report(
      `R11 R12 real sockets, on this machine as it is: the others' median/p99 alone ${show(alone)}, ` +
        `beside ${BAD} bad destinations of ${GOOD + BAD} ${show(besideBad)}, beside a flood of ${FLOOD} × ${show(besideFlood)}`,
    );
    for (const { p99 } of [besideBad, besideFlood]) {
      expect(p99).toBeLessThanOrEqual(alone.p99 * MAX_SLOWER + SLACK_MS);
    }
  });

  function misbehave({ path }: { path: string }): SinkAnswer {
    if (path === "/hang") return "hang";
    return path === "/late" ? { status: 200, delayMs: 5_000 } : { status: 500 };
  }

  async function publish(client: ApiClient, events: unknown): Promise<void> {
    const { status, text } = await client.publish(events);
    if (status !== 202) throw new Error(`publishing answered ${status}: ${text}`);
  }

  /** Soon more than there are sockets for. */
  async function publishBad(client: ApiClient): Promise<void> {
    const events = Array.from({ length: BAD * 3 }, (_, n) => ({
      event_type: "bad",
      tenant_id: `t-${n % BAD}`,
      payload: n,
    }));
    return publish(client, events);
  }

  async function publishFlood(client: ApiClient): Promise<void> {
    const event = { event_type: "flood", tenant_id: "flood", payload: { n: 1 } };
    return publish(
      client,
      Array.from({ length: FLOOD }, () => event),
    );
  }

  const show = ({ median, p99 }: { median: number; p99: number }) => `${median.toFixed(0)}/${p99.toFixed(0)} ms`;

  /** From the publisher's hand to the destination's, at a constant rate; `each` happens as often as each of them publishes. */
  async function measureGood(client: ApiClient, sink: SinkServer, each?: () => Promise<unknown>) {
    const round = sink.requests.length;
    const sentAt = new Map<string, number>();
    const dwells: number[] = [];
    let onAll: () => void = () => undefined;
    const total = GOOD * PER_S * (ROUND_MS / 1000);
    const all = new Promise<void>((resolve) => (onAll = resolve));
    sink.answerWith(({ headers }) => {
      const startedAt = sentAt.get(String(headers["webhook-id"]));
      if (startedAt !== undefined && dwells.push(performance.now() - startedAt) === total) onAll();
      return { status: 200 };
    });
    const running = createRunning();
    const startedAt = performance.now();
    for (let number = 0; number < total; number++) {
      if (number % GOOD === 0 && each !== undefined) running.add(each());
      const dueAt = startedAt + (number * 1000) / (GOOD * PER_S);
      while (performance.now() < dueAt) await new Promise((resolve) => setTimeout(resolve, 1));
      const event_id = `good-${round}-${number}`;
      sentAt.set(event_id, performance.now());
      running.add(publish(client, { event_type: "good", tenant_id: `t-${number % GOOD}`, payload: {}, event_id }));
    }
    await running.ended();
    await all;
    dwells.sort((a, b) => a - b);
    const at = (share: number) => dwells[Math.floor(dwells.length * share)] ?? Number.POSITIVE_INFINITY;
    return { median: at(0.5), p99: at(0.99) };
  }
});
