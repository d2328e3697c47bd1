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
  const request = (method: string, path: string, body: object) =>
    gateway.request(method, path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const patch = (id: unknown, change: object) => request("PATCH", `/api/v1/subscriptions/${String(id)}`, change);
  const toHouse = { ...BUS, options: { ...BUS.options, target: "house" } };
  const refusal = { status: 422, json: { field: "retry_policy", detail: expect.stringContaining('"bus"') } };

  // shows: Q18
  it("is named when a subscription that is made or changed later would take too long", async () => {
    const { id } = (await make(HOME)).json;
    expect((await gateway.post("/api/v1/sources", BUS)).status).toBe(201);
    expect(await patch(id, { retry_policy: "standard" })).toMatchObject(refusal);
    expect(await patch(id, { retry_count: 100, retry_interval: 60 })).toMatchObject(refusal);
    expect(await patch(id, { retry_policy: "dairy", description: "soon" })).toMatchObject({ status: 200 });
  });

  it("is named when the only target would take too long, where it names none", async () => {
    const { target: _, ...unnamed } = BUS.options;
    expect((await gateway.post("/api/v1/sources", { ...BUS, options: unnamed })).status).toBe(201);
    expect(await make({ ...HOME, retry_policy: "standard" })).toMatchObject(refusal);
    expect((await make(HOME)).status).toBe(201);
  });

  // shows: Q18
  it("is named when a shared target would be given longer retries", async () => {
    const target = { name: "house", url: "http://127.0.0.1:9/", preset: "n8n" };
    expect((await gateway.post("/api/v1/targets", target)).status).toBe(201);
    const { retry_policy: _, ...preset } = HOME;
    expect((await make({ ...preset, target: "house" })).status).toBe(201);
    expect((await gateway.post("/api/v1/sources", toHouse)).status).toBe(201);
    const patchTarget = (change: object) => request("PATCH", "/api/v1/targets/house", change);
    const refused = {
      status: 422,
      json: {
        field: "preset",
        detail: expect.stringMatching(/^preset: for the subscription "home": the source "bus" .* 900 s; these retries/),
      },
    };
    expect(await patchTarget({ preset: null })).toMatchObject(refused);
    const { preset: __, ...plain } = target;
    expect(await request("PUT", "/api/v1/targets/house", plain)).toMatchObject(refused);
    expect(await gateway.get("/api/v1/targets/house")).toMatchObject({ json: { preset: "n8n" } });
    expect(await patchTarget({ description: "ours" })).toMatchObject({ status: 200 });
    // Nothing waits there any more: the same change is nobody's trouble.
    expect((await gateway.request("DELETE", "/api/v1/sources/bus")).status).toBe(200);
    expect(await patchTarget({ preset: null })).toMatchObject({ status: 200 });
  });

  // shows: Q18
  it("is named when the file gives a shared target longer retries, for subscriptions of the file and of the API", async () => {
    const target = { name: "house", url: "http://127.0.0.1:9/" };
    const { retry_policy: _, ...preset } = { ...HOME, target: "house" };
    const file = (targets: object[], subscriptions: object[]) => JSON.stringify({ targets, subscriptions });
    await gateway.reload(file([{ ...target, preset: "n8n" }], [preset]));
    expect((await gateway.post("/api/v1/sources", toHouse)).status).toBe(201);
    const named = /the source "bus" keeps each message/;
    await expect(gateway.reload(file([target], [preset]))).rejects.toThrow(named);
    await gateway.reload(file([target], [{ ...preset, retry_policy: "proxy" }]));
    await gateway.reload(file([{ ...target, preset: "n8n" }], []));
    expect((await make({ ...preset, name: "by-api" })).status).toBe(201);
    await expect(gateway.reload(file([target], []))).rejects.toThrow(named);
  });

  it("is named when a subscription joins the target", async () => {
    const target = { name: "house", url: "http://127.0.0.1:9/" };
    expect((await gateway.post("/api/v1/targets", target)).status).toBe(201);
    expect((await gateway.post("/api/v1/sources", toHouse)).status).toBe(201);
    const { id } = (await make(OTHER)).json;
    expect(await patch(id, { target: "house" })).toMatchObject(refusal);
    expect((await patch(id, { target: "house", retry_policy: "proxy" })).status).toBe(200);
  });

  // shows: Q32
  it("says which target is its own where there are several", async () => {
    await make(HOME);
    await make(OTHER);
    const { target: _, ...unnamed } = BUS.options;
    expect(await gateway.post("/api/v1/sources", { ...BUS, options: unnamed })).toMatchObject({
      status: 422,
      json: { field: "options.target", detail: expect.stringContaining("home, other") },
    });
    await expect(gateway.reload(yaml([{ ...BUS, options: unnamed }], [HOME, OTHER]))).rejects.toThrow(
      /sources\[0\]\.options\.target: .*several targets \(2/,
    );
  });

  // shows: Q72
  it("is held against what was made by the API when the file brings it, and the other way round", async () => {
    await make({ ...HOME, retry_policy: "standard" });
    await expect(gateway.reload(yaml([BUS], []))).rejects.toThrow(/source bus is not valid: .*"home"/);
    expect((await gateway.get("/api/v1/sources/bus")).status).toBe(404);

    const filed = { ...HOME, name: "filed" };
    await gateway.reload(yaml([], [filed]));
    expect(
      (await gateway.post("/api/v1/sources", { ...BUS, options: { ...BUS.options, target: "filed" } })).status,
    ).toBe(201);
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

  it("takes the retries of a preset, and the default ones, for what they are", async () => {
    const n8n = { name: "home", url: "http://127.0.0.1:9/", events: ["*"], target: "n8n" };
    await gateway.reload(yaml([BUS], [n8n]));
    expect((await gateway.get("/api/v1/sources/bus")).status).toBe(200);
    const { retry_policy: _, ...plain } = HOME;
    const withDefault = (policy: string) =>
      JSON.stringify({ default_retry_policy: policy, sources: [BUS], subscriptions: [plain] });
    await expect(startTestGateway({ env: ENV, yaml: withDefault("standard") })).rejects.toThrow(/hold_max_s/);
    await (await startTestGateway({ env: ENV, yaml: withDefault("proxy") })).close();
  });
});
