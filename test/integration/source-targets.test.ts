import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const ENV = { AMQP_URL: "amqp://127.0.0.1:1/" };
const HOME = { name: "home", url: "http://127.0.0.1:9/", events: ["*"], retry_policy: "short" };
const HOUSE = { name: "house", url: "http://127.0.0.1:9/" };
const sourceTo = (target: string, more: object = {}) => ({
  name: "bus",
  kind: "amqp",
  options: { queue: "q", target },
  ...more,
});

describe("the target of a source that takes from a queue", () => {
  let gateway: TestGateway;
  beforeEach(async () => {
    gateway = await startTestGateway({ env: ENV });
  });
  afterEach(() => gateway.close());

  const request = (method: string, path: string, body: object) =>
    gateway.request(method, path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const makeSubscription = async (input: object) =>
    String((await gateway.post("/api/v1/subscriptions", input)).json["id"]);
  const makeSource = (target: string, more?: object) => gateway.post("/api/v1/sources", sourceTo(target, more));

  // shows: Q32
  it("is rejected when it is not there, with the nearest name", async () => {
    await makeSubscription(HOME);
    expect(await makeSource("hoem")).toMatchObject({
      status: 422,
      json: {
        field: "options.target",
        detail: 'options.target: there is no target "hoem"; did you mean home? The tenant\'s targets are home.',
      },
    });
    expect(await makeSource("home")).toMatchObject({ status: 201 });
    const change = { options: { queue: "q", target: "huose" } };
    expect(await request("PATCH", "/api/v1/sources/bus", change)).toMatchObject({ status: 422 });
    // A subscription that shares a target has none of its own, and another tenant's is not there.
    expect((await gateway.post("/api/v1/targets", HOUSE)).status).toBe(201);
    await makeSubscription({ ...HOME, name: "guest", target: "house" });
    expect(await makeSource("guest", { name: "second" })).toMatchObject({ status: 422 });
    expect(await makeSource("house", { name: "second", tenant_id: "acme" })).toMatchObject({ status: 422 });
    expect(await makeSource("house", { name: "second" })).toMatchObject({ status: 201 });
  });

  // shows: Q32
  it("is not deleted, renamed or given up under it", async () => {
    const id = await makeSubscription(HOME);
    expect((await gateway.post("/api/v1/targets", HOUSE)).status).toBe(201);
    await makeSource("home");
    await makeSource("house", { name: "second" });
    const named = (source: string, target: string) => ({
      status: 409,
      json: {
        detail: `The source "${source}" names "${target}" as its target. Give it another \`options.target\` first, or none.`,
        source,
      },
    });
    expect(await gateway.request("DELETE", `/api/v1/subscriptions/${id}`)).toMatchObject(named("bus", "home"));
    const patch = (change: object) => request("PATCH", `/api/v1/subscriptions/${id}`, change);
    expect(await patch({ name: "house-2" })).toMatchObject(named("bus", "home"));
    expect(await patch({ target: "house" })).toMatchObject(named("bus", "home"));
    expect(await patch({ description: "ours" })).toMatchObject({ status: 200 });
    expect(await gateway.request("DELETE", "/api/v1/targets/house")).toMatchObject(named("second", "house"));
    // Once the sources are gone, so may they be.
    for (const name of ["bus", "second"]) await gateway.request("DELETE", `/api/v1/sources/${name}`);
    expect((await gateway.request("DELETE", `/api/v1/subscriptions/${id}`)).status).toBe(200);
    expect((await gateway.request("DELETE", "/api/v1/targets/house")).status).toBe(200);
  });

  // shows: Q32
  it("is looked for in the whole file, in any order, and among what was made by the API", async () => {
    const file = (more: object) => JSON.stringify({ sources: [sourceTo("home")], ...more });
    const missing = /source bus is not valid: options\.target: there is no target "home"/;
    await expect(gateway.reload(file({}))).rejects.toThrow(missing);
    await expect(gateway.reload(file({ targets: [{ ...HOUSE, name: "hom" }] }))).rejects.toThrow(/did you mean hom\?/);
    expect((await gateway.get("/api/v1/sources/bus")).status).toBe(404);
    await gateway.reload(file({ targets: [{ ...HOUSE, name: "home" }] }));
    await gateway.reload(file({ subscriptions: [HOME] }));
    // It may not leave the file under the source that stays there.
    await expect(gateway.reload(file({}))).rejects.toThrow(missing);
    await gateway.reload("{}");
    await makeSubscription({ ...HOME, name: "made" });
    await gateway.reload(JSON.stringify({ sources: [sourceTo("made")] }));
  });
});
