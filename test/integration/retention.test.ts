import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectGarbage } from "../support/collect-garbage.ts";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const DAY_MS = 86_400_000;

interface ShownJob {
  name: string;
  runs: { number: number; result: string; summary: Record<string, number> }[];
}

async function runJob(gateway: TestGateway, name: string): Promise<Record<string, number>> {
  const find = async () => {
    const jobs = (await gateway.get("/api/v1/jobs")).json["data"] as ShownJob[];
    return jobs.find((job) => job.name === name)?.runs[0];
  };
  // One that its schedule began is as good.
  await until(async () => (await gateway.post(`/api/v1/jobs/${name}/run`)).status === 202);
  await until(async () => (await find())?.result === "success");
  return (await find())?.summary ?? {};
}

describe("retention", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  beforeAll(async () => {
    sink = await openSinkServer();
    gateway = await startTestGateway({
      yaml: `
retention: { days: 20, dead_letters_days: 60 }
tenants: [{ id: keeper, retention: { days: 0 } }]
`,
    });
  });
  afterAll(async () => {
    await Promise.all([gateway.close(), sink.close()]);
    await collectGarbage();
  });

  // shows: A34
  it("deletes old events beside those that are open, and shows how far it is", async () => {
    const publish = async (id: string, change: object = {}) => {
      const answer = await gateway.publish({ event_id: id, event_type: "a.b", payload: {}, ...change });
      expect(answer.status).toBe(202);
    };
    const made = await gateway.post("/api/v1/subscriptions", { name: "sink", url: sink.url, events: ["a.b"] });
    const id = String(made.json["id"]);
    await publish("gone");
    await publish("kept", { tenant_id: "keeper" });
    await until(async () => (await gateway.get("/api/v1/events/gone")).json["status"] === "COMPLETED");
    expect((await gateway.post(`/api/v1/subscriptions/${id}/pause`)).status).toBe(200);
    await publish("open");

    expect((await gateway.get("/status")).json["retention"]).toMatchObject({ days: 20, due_events: 0, behind_s: 0 });
    gateway.moveClock(21 * DAY_MS);
    await publish("young");
    await runJob(gateway, "prune-events");
    const statusOf = async (event: string) => (await gateway.get(`/api/v1/events/${event}`)).status;
    await until(async () => (await statusOf("gone")) === 404);
    expect(await Promise.all(["kept", "open", "young"].map(statusOf))).toEqual([200, 200, 200]);
    const retention = (await gateway.get("/status")).json["retention"] as Record<string, unknown>;
    expect(retention).toMatchObject({ due_events: 0, behind_s: 0, last_result: "success" });
    expect(retention["complete_until"]).toEqual(expect.stringMatching(/Z$/));
    const metrics = (await gateway.get("/metrics")).text;
    expect(metrics).toContain("posthorn_events_pruned_total 1");
    expect(metrics).toContain("posthorn_conservation_imbalance 0");
    const keeper = gateway.as(await gateway.createKey(["read"], "keeper"));
    expect((await keeper.get("/status")).json["retention"]).toMatchObject({ days: null, oldest_event_at: null });
  });

  it("takes a tenant's own times by API, shows them, and holds them from then on", async () => {
    await gateway.publish({ event_id: "brief", event_type: "c.d", payload: {}, tenant_id: "hasty" });
    const path = "/api/v1/tenants/hasty";
    const change = async (body: object) =>
      gateway.request("PATCH", path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
    expect((await change({ retention: { days: 1, answers_days: 0.5 } })).json["retention"]).toEqual({
      days: 1,
      answers_days: 0.5,
      dead_letters_days: null,
      refused_requests_days: null,
    });
    expect((await change({ retention: { answers_days: null } })).json["retention"]).toMatchObject({ days: 1 });
    expect((await change({ retention: { days: -1 } })).status).toBe(422);
    gateway.moveClock(2 * DAY_MS);
    await runJob(gateway, "prune-events");
    await until(async () => (await gateway.get("/api/v1/events/brief")).status === 404);
    // Its id stays known for as long as ids are.
    const again = await gateway.publish({ event_id: "brief", event_type: "c.d", payload: {}, tenant_id: "hasty" });
    expect(again.json).toMatchObject({ duplicate: true });
    await gateway.restart();
    expect((await gateway.get(path)).json["retention"]).toMatchObject({ days: 1, answers_days: null });
  });
});
