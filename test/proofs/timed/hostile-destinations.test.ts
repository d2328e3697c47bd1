import { describe, expect, it, onTestFinished } from "vitest";
import { until, type ApiClient } from "../../support/api-client.ts";
import { openHostileWorld, readMetric } from "../../support/hostile-destinations.ts";
import { report } from "../../support/report.ts";
import { createRunning } from "../../support/running.ts";
import { openSinkServer, type SinkServer } from "../../support/sink-server.ts";

const DEADLINE_S = 1;
/** Of the time that an attempt may take at most. */
const MAX_LATE = 2;
const ROUNDS = 4;
const ROUND_MS = 1000;
const GOOD_PER_ROUND = 50;
/** Of what as many harmless ones cost. */
const MAX_MORE_CPU = 4;
const MAX_SLOWER = 10;
/** What a median of few milliseconds may vary by. */
const SLACK_MS = 20;

interface Good {
  medianMs: number;
  p99Ms: number;
  /** What the gateway computed meanwhile: it does not depend on who else uses the machine. */
  cpuS: number;
}

/** R19 against the built gateway: what bad destinations cost it and the good ones. What becomes of them is in security/. */
describe("hostile destinations", () => {
  it("get their time and no more, and nothing of the others'", async () => {
    const { client, kinds, wellBehaved, ...world } = await openHostileWorld();
    const sink = await openSinkServer();
    onTestFinished(() => sink.close());
    await client.subscribe({ name: "good", url: sink.url, events: ["good.event"] });
    const publishTwo = (event_type: string) => () =>
      client.publish(Array.from({ length: 2 }, () => ({ event_type, payload: { n: 1 } })));

    const crowd: string[] = [];
    for (const { name } of kinds) {
      const settings = { name: `no ${name}`, url: wellBehaved.url, events: ["harmless.event"] };
      crowd.push((await client.subscribe(settings)).id);
    }
    await sendGood(client, sink, 1, publishTwo("harmless.event"));
    const before = await sendGood(client, sink, ROUNDS, publishTwo("harmless.event"));
    await world.unsubscribe(crowd);

    const brief = { timeout: DEADLINE_S, retry_policy: { delays_s: [] }, concurrency: 4 };
    const subscriptions = await world.subscribeToAll({ ...brief, events: ["hostile.event"] });
    // The negative control: one that is allowed to take longer does so, and would be found late.
    const silent = kinds.find(({ name }) => name === "says nothing")?.url ?? "";
    const patient = { ...brief, name: "patient", url: silent, timeout: 3, events: ["patient.event"] };
    const { id: patientId } = await client.subscribe(patient);

    let mostSockets = 0;
    const bystander = watchOwnLoop();
    const watch = setInterval(() => (mostSockets = Math.max(mostSockets, world.countSockets())), 200);
    await client.publish({ event_type: "patient.event", payload: {}, event_id: "patient" });
    const under = await sendGood(client, sink, ROUNDS, publishTwo("hostile.event"));
    await world.untilQuiet();
    clearInterval(watch);
    const busyMs = bystander.stop();

    const attempts = await world.listAttempts(subscriptions);
    const patientMs = Number((await client.deliveryOf("patient")).attempts[0]?.["duration_ms"]);
    const longest = attempts.reduce((most, one) => (one.durationMs > most.durationMs ? one : most));
    const limitMs = DEADLINE_S * 1000 * MAX_LATE + busyMs;
    const late = attempts.filter(({ durationMs }) => durationMs > limitMs);
    await world.unsubscribe([...subscriptions.keys(), patientId]);
    await until(() => world.countSockets() === 0, undefined, "the end of the sockets");
    const after = await sendGood(client, sink, 1);

    const show = ({ medianMs, p99Ms, cpuS }: Good) =>
      `${medianMs.toFixed(0)}/${p99Ms.toFixed(0)} ms (${cpuS.toFixed(1)} s of CPU)`;
    report(
      `R19 hostile destinations: ${attempts.length} attempts, longest ${longest.durationMs} ms ` +
        `(deadline ${DEADLINE_S} s), ${late.length} late, on a machine that was late by ${busyMs.toFixed(0)} ms itself; at most ${mostSockets} sockets, 0 left; ` +
        `a good destination's median/p99 beside as many harmless ones ${show(before)}, under ${show(under)}, after ${show(after)}, ` +
        `${(under.cpuS / before.cpuS).toFixed(1)} × of the CPU, ${(under.medianMs / before.medianMs).toFixed(1)} × of the median`,
    );
    expect(late).toEqual([]);
    expect(patientMs).toBeGreaterThan(limitMs);
    expect(under.cpuS / before.cpuS).toBeLessThanOrEqual(MAX_MORE_CPU);
    expect(under.medianMs).toBeLessThanOrEqual(before.medianMs * MAX_SLOWER + SLACK_MS);
  });

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
    const running = createRunning();
    for (let round = 0; round < rounds; round++) {
      if (each !== undefined) running.add(each());
      for (let n = 0; n < GOOD_PER_ROUND; n++) {
        const dueAt = performance.now() + ROUND_MS / GOOD_PER_ROUND;
        const event_id = `good-${first}-${round}-${n}`;
        sentAt.set(event_id, performance.now());
        running.add(client.publish({ event_type: "good.event", payload: {}, event_id }));
        while (performance.now() < dueAt) await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }
    await running.ended();
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
});
