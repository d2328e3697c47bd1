import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { damageLeaves } from "../support/damage-pages.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { ALERTING, startTestGateway } from "../support/test-gateway.ts";

const EVENTS = 300;
/** Not in the row of its event. */
const LARGE = "-".repeat(20_000);

/** Starts again with a damaged page, and with all events still to be delivered. */
async function startWithDamage(page: string, which?: "all") {
  const sink = await openSinkServer();
  const gateway = await startTestGateway({ env: ALERTING, httpCloseMs: 0 });
  onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
  const { id } = await gateway.subscribe({ name: "all", url: sink.url, events: ["*"] });
  await gateway.post(`/api/v1/subscriptions/${id}/pause`);
  const publish = (n: number) =>
    gateway.publish({ event_type: "a.b", event_id: `event-${n}`, payload: { text: page === "bodies" ? LARGE : "" } });
  await Promise.all(Array.from({ length: EVENTS }, (_, n) => publish(n)));
  await gateway.stop();
  const rows = damageLeaves(join(gateway.dataDir, "posthorn.db"), page, which);
  await gateway.restart();
  await gateway.post(`/api/v1/subscriptions/${id}/resume`);
  const arrived = () => new Set(sink.requests.map(({ headers }) => headers["webhook-id"])).size;
  const alerts = async () => (await gateway.get("/api/v1/alerts?rule=damaged_data")).json["data"] as object[];
  return { gateway, sink, rows, publish, arrived, alerts };
}

describe("a page that cannot be read", () => {
  it.for([
    { page: "events", named: /row \d+ of the table events cannot be read/ },
    { page: "bodies", named: /row \d+ of the table bodies cannot be read/ },
    // One more than there are on the page: SQLite finds the next one only by way of this page.
    { page: "deliveries", more: 1, named: /delivery dlv_\w+ cannot be read/ },
  ])("of $page concerns the events on it; the others are delivered, and the alert says so", async (damage) => {
    const { page, named, more = 0 } = damage;
    const { gateway, sink, rows, publish, arrived, alerts } = await startWithDamage(page);
    await until(() => arrived() >= EVENTS - rows - more);
    expect(arrived()).toBe(EVENTS - rows - more);
    await gateway.moveClockUntil(async () => named.test(JSON.stringify(await alerts())));

    await publish(EVENTS);
    await until(() => arrived() === EVENTS - rows - more + 1);
    await gateway.restart();
    await publish(EVENTS + 1);
    await until(() => arrived() === EVENTS - rows - more + 2);
    expect(sink.requests).toHaveLength(arrived());
    expect(gateway.fatal).toEqual([]);
  });

  it("is a test that can fail: without the index of the lanes there is not even a start", async () => {
    await expect(startWithDamage("lanes", "all")).rejects.toThrow("The database is damaged");
  });
});
