import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const ENV = { AMQP_URL: "amqp://127.0.0.1:1/" };
const BUS = { name: "bus", kind: "amqp", options: { queue: "q", acknowledge: "delivered", target: "home" } };
const HOME = { name: "home", url: "http://127.0.0.1:9/", events: ["*"], retry_policy: "proxy" };
const OTHER = { ...HOME, name: "other", retry_policy: "standard" };
const yaml = (sources: object[], subscriptions: object[]) => JSON.stringify({ sources, subscriptions });

describe("a source that holds its messages until they are delivered", () => {
  let gateway: TestGateway;
  beforeEach(async () => {
    gateway = await startTestGateway({ env: ENV });
  });
  afterEach(() => gateway.close());

  const make = (subscription: object) => gateway.post("/api/v1/subscriptions", subscription);
  const patch = (id: unknown, change: object) =>
    gateway.request("PATCH", `/api/v1/subscriptions/${String(id)}`, {
      body: JSON.stringify(change),
      headers: { "content-type": "application/json" },
    });
  const refusal = { status: 422, json: { field: "retry_policy", detail: expect.stringContaining('"bus"') } };

  it("is named when a subscription that is made or changed later would take too long", async () => {
    expect((await gateway.post("/api/v1/sources", BUS)).status).toBe(201);
    expect(await make({ ...HOME, retry_policy: "standard" })).toMatchObject(refusal);
    const { id } = (await make(HOME)).json;
    expect(await patch(id, { retry_policy: "standard" })).toMatchObject(refusal);
    expect(await patch(id, { retry_count: 100, retry_interval: 60 })).toMatchObject(refusal);
    expect(await patch(id, { retry_policy: "dairy", description: "soon" })).toMatchObject({ status: 200 });
    const other = (await make(OTHER)).json;
    // By its name a subscription becomes another target.
    expect((await patch(id, { name: "home-2" })).status).toBe(200);
    expect(await patch(other["id"], { name: "home" })).toMatchObject(refusal);
  });

  it("is named when a subscription joins the target", async () => {
    const target = { name: "house", url: "http://127.0.0.1:9/" };
    expect((await gateway.post("/api/v1/targets", target)).status).toBe(201);
    const shared = { ...BUS, options: { ...BUS.options, target: "house" } };
    expect((await gateway.post("/api/v1/sources", shared)).status).toBe(201);
    const { id } = (await make(OTHER)).json;
    expect(await patch(id, { target: "house" })).toMatchObject(refusal);
    expect((await patch(id, { target: "house", retry_policy: "proxy" })).status).toBe(200);
  });

  it("says which target is its own where there are several", async () => {
    await make(HOME);
    await make(OTHER);
    const { target: _, ...unnamed } = BUS.options;
    expect(await gateway.post("/api/v1/sources", { ...BUS, options: unnamed })).toMatchObject({
      status: 422,
      json: { field: "options.target", detail: expect.stringContaining("home, other") },
    });
    await expect(gateway.reload(yaml([{ ...BUS, options: unnamed }], [HOME, OTHER]))).rejects.toThrow(
      /sources\[0\]\.options\.target: .*2 targets/,
    );
  });

  it("is held against what was made by the API when the file brings it, and the other way round", async () => {
    await make({ ...HOME, retry_policy: "standard" });
    await expect(gateway.reload(yaml([BUS], []))).rejects.toThrow(/source bus is not valid: .*"home"/);
    expect((await gateway.get("/api/v1/sources/bus")).status).toBe(404);

    expect(
      (await gateway.post("/api/v1/sources", { ...BUS, options: { ...BUS.options, target: "filed" } })).status,
    ).toBe(201);
    const filed = { ...HOME, name: "filed" };
    await expect(gateway.reload(yaml([], [{ ...filed, retry_policy: "standard" }]))).rejects.toThrow(
      /the source "bus" keeps each message/,
    );
    await gateway.reload(yaml([], [filed]));
  });

  it("may change together with its subscription in the file", async () => {
    const stored = { ...BUS, options: { queue: "q", target: "home" } };
    const slow = { ...HOME, retry_policy: "standard" };
    await gateway.reload(yaml([stored], [slow]));
    await gateway.reload(yaml([BUS], [HOME]));
    await gateway.reload(yaml([stored], [slow]));
    await expect(gateway.reload(yaml([BUS], [slow]))).rejects.toThrow(/hold_max_s/);
  });

  it("takes the retries of a preset for what they are", async () => {
    const n8n = { name: "home", url: "http://127.0.0.1:9/", events: ["*"], target: "n8n" };
    await gateway.reload(yaml([BUS], [n8n]));
    expect((await gateway.get("/api/v1/sources/bus")).status).toBe(200);
  });
});
