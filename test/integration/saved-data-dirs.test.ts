import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ShownSubscription } from "../support/api-client.ts";
import { listSavedDataDirs, loadSavedDataDir, readAnswers } from "../support/saved-data-dir.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe.each(listSavedDataDirs())("a data directory that version %s has written", (name) => {
  const saved = loadSavedDataDir(name);
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    sink = await openSinkServer();
    gateway = await startTestGateway({ yaml: saved.yaml, prepare: saved.layInto, startAt: saved.savedAt });
  });
  afterAll(async () => {
    await gateway?.close();
    await sink?.close();
  });

  it("says of everything in it what that version said", async () => {
    expect(await readAnswers(gateway)).toMatchObject(saved.answers);
  });

  it("is a test that can fail: another answer than that is found", async () => {
    const [path = ""] = Object.keys(saved.answers);
    const other = { ...saved.answers, [path]: { data: [] } };
    expect(await readAnswers(gateway)).not.toMatchObject(other);
  });

  it("knows the ids of its events", async () => {
    const { json } = await gateway.publish({ event_type: "order.taken", payload: { n: 1 }, event_id: "taken-1" });
    expect(json).toMatchObject({ event_id: "taken-1", duplicate: true });
  });

  it("delivers what was held, byte by byte, to where it goes now", async () => {
    const subscriptions = (await gateway.get("/api/v1/subscriptions")).json["data"] as ShownSubscription[];
    const { id } = subscriptions.find((one) => one.name === "paused") as ShownSubscription;
    const waiting = await gateway.deliveries(`subscription_id=${id}&status=pending`);
    expect(waiting.length).toBeGreaterThan(0);
    const change = { body: JSON.stringify({ url: sink.url }), headers: { "content-type": "application/json" } };
    expect((await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, change)).status).toBe(200);
    await gateway.post(`/api/v1/subscriptions/${id}/resume`, {});
    const requests = await sink.received(waiting.length);
    const ids = requests.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids)).toEqual(new Set(waiting.map((one) => one.event_id)));
    const large = requests.find(({ headers }) => headers["webhook-id"] === "taken-large");
    expect(large?.body.toString()).toContain(`{"big":"${"x".repeat(40_000)}"}`);
  });
});
