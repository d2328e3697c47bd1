import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { carryOut } from "../../src/cli/apply/run-apply.ts";
import { makePlan } from "../../src/cli/apply/plan.ts";
import { createApiClient } from "../../src/cli/api-client.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const SOURCE = { name: "shop", kind: "generic", max_bytes: 1000 };
const plan = () => {
  const client = createApiClient(gateway.url, ADMIN_KEY);
  return makePlan(client, { lists: { sources: [SOURCE] }, others: [] }, false).then(({ steps }) => ({ client, steps }));
};

describe("a plan of what is to change", () => {
  it("is not carried out over a change that somebody made since", async () => {
    await gateway.post("/api/v1/sources", { name: "shop", kind: "generic" });
    const { client, steps } = await plan();
    expect(steps).toMatchObject([{ act: "change", label: "source shop" }]);
    await gateway.request("PATCH", "/api/v1/sources/shop", {
      body: '{"max_bytes":2000}',
      headers: { "content-type": "application/json" },
    });
    await expect(carryOut(client, steps)).rejects.toThrow(/source shop: .*\(precondition_failed\).*0 of 1 change made/);
    expect((await gateway.get("/api/v1/sources/shop")).json).toMatchObject({ max_bytes: 2000 });

    const again = await plan();
    await carryOut(again.client, again.steps);
    expect((await gateway.get("/api/v1/sources/shop")).json).toMatchObject({ max_bytes: 1000 });
  });

  it("writes nothing, neither things nor the audit log", async () => {
    const before = (await gateway.get("/api/v1/audit")).text;
    const { status, json } = await gateway.post("/api/v1/sources/new-one/plan", { kind: "generic", max_bytes: 5 });
    expect([status, json]).toMatchObject([200, { act: "create", secrets_changed: false }]);
    expect((await gateway.get("/api/v1/sources/new-one")).status).toBe(404);
    expect((await gateway.get("/api/v1/audit")).text).toBe(before);
    const refused = await gateway.post("/api/v1/sources/new-one/plan", { kind: "no-such-kind" });
    expect(refused.status).toBe(422);
  });
});
