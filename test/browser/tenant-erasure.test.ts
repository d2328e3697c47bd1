import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFaults } from "../support/browser.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
let sink: SinkServer;
const visits = openVisits();

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
});

async function visit(path: string): Promise<Page> {
  return (await visits.visit(gateway.url, path)).page;
}

async function fill(id: string): Promise<void> {
  await gateway.post("/api/v1/tenants", { id, name: `The ${id}` });
  await gateway.post("/api/v1/keys", { name: "theirs", scopes: ["read"], tenant_id: id });
  await gateway.post("/api/v1/sources", { name: `${id}-shop`, tenant_id: id });
  await gateway.subscribe({ name: "Shop", url: sink.url, events: ["order.*"], tenant_id: id });
  for (const n of [1, 2, 3]) await gateway.publish({ event_type: "order.paid", payload: { n }, tenant_id: id });
  await gateway.settled();
}

describe("the erasure of a tenant", () => {
  it("says what will be gone, asks for the id, and shows what was erased", async () => {
    await fill("acme");
    await fill("globex");
    const page = await visit("/tenants/acme");
    await page.getByRole("button", { name: "Erase" }).click();
    const dialog = page.getByRole("dialog", { name: "Erase The acme?" });
    const plan = dialog.getByRole("list", { name: "What is erased" });
    await plan.getByText("1 subscription, 1 source and 1 key").waitFor();
    await plan.getByText("0 deliveries still to be sent").waitFor();
    const erase = dialog.getByRole("button", { name: "Erase" });
    for (const wrong of ["", "The acme", "acme ", "globex"]) {
      await dialog.getByLabel("Tenant id").fill(wrong);
      expect([wrong, await erase.isDisabled()]).toEqual([wrong, true]);
    }
    expect((await gateway.get("/api/v1/tenants/acme")).json["status"]).toBe("active");
    await dialog.getByLabel("Tenant id").fill("acme");
    await erase.click();

    const card = page.getByRole("region", { name: "Erasure" });
    await card.getByRole("status").getByText("completed").waitFor();
    await card.getByText("3 of 3 events").waitFor();
    // Who comes back later sees the same.
    await page.reload();
    await card.getByText("3 of 3 events").waitFor();
    const { data } = (await gateway.get("/api/v1/subscriptions")).json as { data: { tenant_id: string }[] };
    expect(data.map(({ tenant_id: owner }) => owner)).toEqual(["globex"]);
  });

  it("is not offered for the tenant that always exists", async () => {
    const page = await visit("/tenants/default");
    await page.getByRole("button", { name: "Delete" }).waitFor();
    expect(await page.getByRole("button", { name: "Erase" }).count()).toBe(0);
  });

  it("has no barriers in light and in dark, and fits on 360 px", async () => {
    await fill("seen");
    const page = await visit("/tenants/seen");
    await page.getByRole("button", { name: "Erase" }).click();
    await page.getByText("1 subscription, 1 source").waitFor();
    expect(await findFaults(page)).toEqual([]);
    await gateway.post("/api/v1/tenants/seen/erase", { confirm: "seen" });
    await page.goto("/tenants/seen");
    await page.getByText("3 of 3 events").waitFor();
    expect(await findFaults(page)).toEqual([]);
  });
});
