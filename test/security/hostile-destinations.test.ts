import { describe, expect, it } from "vitest";
import { openHostileWorld } from "../support/hostile-destinations.ts";
import { report } from "../support/report.ts";
import { openSinkServer } from "../support/sink-server.ts";

const DEADLINE_S = 1;
const MIN_KINDS = 40;
const MAX_MORE_RSS_MB = 64;
const GOOD = 100;
/** What ends well for all their trouble, or is an answer like any other. */
const RESULTS = new Set(["success", "failed", "timeout", "connection_error", "blocked"]);

/** R19 against the built gateway, counted; what it costs in time is a proof of its own. */
describe("hostile destinations", () => {
  it("each get an end of the usual kinds, and take nothing from a good one", async () => {
    const { client, kinds, ...world } = await openHostileWorld();
    const sink = await openSinkServer();
    expect(kinds.length).toBeGreaterThanOrEqual(MIN_KINDS);
    await client.subscribe({ name: "good", url: sink.url, events: ["good.event"] });
    const brief = { timeout: DEADLINE_S, retry_policy: { delays_s: [] }, concurrency: 4 };
    const subscriptions = await world.subscribeToAll({ ...brief, events: ["hostile.event"] });
    const silent = kinds.find(({ name }) => name === "says nothing")?.url ?? "";
    const patient = { ...brief, name: "patient", url: silent, timeout: 3, events: ["patient.event"] };
    await client.subscribe(patient);
    const rssBefore = await world.readRssMb();

    const publish = (event_type: string, events: number) =>
      client.publish(Array.from({ length: events }, (_, n) => ({ event_type, payload: { n } })));
    await client.publish({ event_type: "patient.event", payload: {}, event_id: "patient" });
    await publish("hostile.event", 2);
    await publish("good.event", GOOD);
    await sink.received(GOOD);
    await world.untilQuiet();

    const moreRss = Math.max(0, (await world.readRssMb()) - rssBefore);
    const attempts = await world.listAttempts(subscriptions);
    const tried = new Set(attempts.map(({ kind }) => kind));
    const patientMs = Number((await client.deliveryOf("patient")).attempts[0]?.["duration_ms"]);
    await sink.close();
    report(
      `R19 hostile destinations: ${tried.size} kinds, ${attempts.length} attempts, ` +
        `RSS + ${moreRss.toFixed(0)} MB (target ${MAX_MORE_RSS_MB}), ${sink.requests.length} of ${GOOD} good events arrived`,
    );
    expect([...subscriptions.values()].filter((name) => !tried.has(name))).toEqual([]);
    expect(attempts.filter(({ result }) => !RESULTS.has(result))).toEqual([]);
    expect(sink.requests).toHaveLength(GOOD);
    expect(moreRss).toBeLessThanOrEqual(MAX_MORE_RSS_MB);
    // The control: one that is allowed to take longer than the others' deadline does so.
    expect(patientMs).toBeGreaterThan(2 * DEADLINE_S * 1000);
  });
});
