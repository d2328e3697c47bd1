import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const DAY_MS = 86_400_000;

let gateway: TestGateway;
let acme: SinkServer;
let globex: SinkServer;
let gone: SinkServer;

beforeAll(async () => {
  [gateway, acme, globex, gone] = await Promise.all([
    startTestGateway({ env: { SECRET_ROTATION_DAYS: 30 } }),
    openSinkServer(),
    openSinkServer(),
    openSinkServer({ answer: { status: 410 } }),
  ]);
  await gateway.post("/api/v1/tenants", { id: "acme", contacts: [{ url: acme.url }] });
  await gateway.post("/api/v1/tenants", { id: "globex", contacts: [{ url: globex.url, about: ["rotation"] }] });
  await until(async () => (await contactsOf("acme")).length + (await contactsOf("globex")).length === 2);
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([acme.close(), globex.close(), gone.close()]);
});

interface Shown {
  id: string;
  name: string;
  events: string[];
  managed_by: string;
  status: string;
}

async function contactsOf(tenant: string): Promise<Shown[]> {
  const { json } = await gateway.get(`/api/v1/subscriptions?tenant_id=${tenant}`);
  return (json["data"] as Shown[]).filter(({ managed_by: by }) => by === "contact");
}

function patch(path: string, body: unknown) {
  const headers = { "content-type": "application/json" };
  return gateway.request("PATCH", path, { body: JSON.stringify(body), headers });
}

describe("the contacts of a tenant", () => {
  it("are subscriptions that only the tenant changes", async () => {
    const [contact] = await contactsOf("acme");
    expect(contact).toMatchObject({
      name: `contact: ${acme.url}`,
      events: ["webhook.suspended", "webhook.failing", "webhook.secret_rotating"],
      status: "active",
    });
    const refused = await patch(`/api/v1/subscriptions/${contact?.id}`, { name: "mine" });
    expect([refused.status, refused.json["code"]]).toEqual([409, "managed_by_config"]);
    expect((await gateway.request("DELETE", `/api/v1/subscriptions/${contact?.id}`)).status).toBe(409);
  });

  it("hear of their own suspensions, and of nobody else's", async () => {
    for (const tenant_id of ["acme", "globex"]) {
      await gateway.subscribe({ name: `shop of ${tenant_id}`, url: gone.url, events: ["order.paid"], tenant_id });
      await gateway.publish({ event_type: "order.paid", payload: {}, tenant_id });
    }
    const [told] = await acme.received(1);
    expect(JSON.parse(told?.body.toString() ?? "")).toMatchObject({
      event: "webhook.suspended",
      data: { name: "shop of acme", action_required: "Review and reactivate webhook" },
    });
    await gateway.settled();
    expect(acme.requests).toHaveLength(1);
    expect(globex.requests).toHaveLength(0);
  });

  it("count as somebody who is told of a rotation", async () => {
    const subscribe = (tenant_id: string) =>
      gateway.subscribe({ name: "erp", url: acme.url, events: ["erp.seen"], tenant_id });
    const [told, untold] = [await subscribe("globex"), await subscribe("initech")];
    gateway.moveClock(31 * DAY_MS);
    await gateway.post("/api/v1/jobs/rotate-secrets/run");
    const [rotating] = await globex.received(1);
    expect(JSON.parse(rotating?.body.toString() ?? "")).toMatchObject({
      event: "webhook.secret_rotating",
      data: { webhook_id: told.id, trigger: "automatic" },
    });
    const secretsOf = async (id: string) => (await gateway.get(`/api/v1/subscriptions/${id}/secret`)).json;
    expect(await secretsOf(told.id)).toMatchObject({ rotation: "automatic" });
    expect(await secretsOf(untold.id)).toMatchObject({ rotation: "overdue" });
  });

  it("follow the tenant: changed, kept over a restart, and gone with it", async () => {
    await patch("/api/v1/tenants/acme", { contacts: [{ url: acme.url, about: ["alerts"] }, { url: globex.url }] });
    await until(async () => (await contactsOf("acme")).length === 2);
    expect((await contactsOf("acme")).map(({ events }) => events)).toContainEqual(["alert.fired", "alert.cleared"]);
    const before = await contactsOf("acme");
    await gateway.restart();
    expect(await contactsOf("acme")).toEqual(before);
    await patch("/api/v1/tenants/acme", { contacts: [] });
    await until(async () => (await contactsOf("acme")).length === 0);

    await gateway.post("/api/v1/tenants", {
      id: "short-lived",
      contacts: [{ url: acme.url }],
      quotas: { subscriptions: 1 },
    });
    await until(async () => (await contactsOf("short-lived")).length === 1);
    // It does not count as one of its own.
    const own = await gateway.subscribe({ name: "own", url: acme.url, events: ["a.b"], tenant_id: "short-lived" });
    expect((await gateway.request("DELETE", "/api/v1/tenants/short-lived")).status).toBe(409);
    await gateway.request("DELETE", `/api/v1/subscriptions/${own.id}`);
    expect((await gateway.request("DELETE", "/api/v1/tenants/short-lived")).status).toBe(200);
    await until(async () => (await contactsOf("short-lived")).length === 0);
  });

  it("that cannot be reached are rejected, or named in the log", async () => {
    for (const contact of [{}, { about: ["suspended"] }, { url: acme.url, email: "a@b.example" }, { phone: "0170" }]) {
      const { status } = await gateway.post("/api/v1/tenants", { id: "wrong", contacts: [contact] });
      expect([contact, status]).toEqual([contact, 422]);
    }
    await gateway.post("/api/v1/tenants", { id: "far", contacts: [{ phone: "+493012345678" }] });
    await until(() => Promise.resolve(gateway.log.some(({ msg }) => msg === "a contact cannot be notified")));
    expect(gateway.log.find(({ msg }) => msg === "a contact cannot be notified")).toMatchObject({
      contact: "***678",
    });
    expect(gateway.logText()).not.toContain("+493012345678");
  });

  it("are not named in full in the log of what became of their deliveries", async () => {
    const logged = await startTestGateway({ env: { LOG_LEVEL: "debug" } });
    onTestFinished(() => logged.close());
    const contact = `${gone.url}/canary-of-a-contact`;
    await logged.post("/api/v1/tenants", { id: "acme", contacts: [{ url: contact }] });
    const shop = { name: "shop", url: gone.url, events: ["order.paid"], tenant_id: "acme" };
    await until(async () => (await logged.get("/api/v1/subscriptions?tenant_id=acme")).text.includes("canary"));
    await logged.subscribe(shop);
    await logged.publish({ event_type: "order.paid", payload: {}, tenant_id: "acme" });
    const messages = ["attempt ended", "delivery is dead", "subscription is suspended"];
    const isOfContact = ({ subscription }: Record<string, unknown>) => subscription === `contact: ${gone.url}`;
    const told = () => logged.log.filter(isOfContact).map(({ msg }) => msg);
    await until(
      () => messages.every((msg) => logged.log.filter((line) => line.msg === msg).length > 1),
      undefined,
      "both subscriptions",
    );
    expect(told()).toEqual(expect.arrayContaining(messages));
    expect(logged.logText()).not.toContain("canary-of-a-contact");
    // The control: other names stand there as they are.
    expect(logged.log.some(({ subscription }) => subscription === "shop")).toBe(true);
  });
});
