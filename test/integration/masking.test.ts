import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const CANARY = "canary-7f3a@example.com";
const SECRET = "a-secret-of-the-shop-0123456789";

describe("fields that are masked at ingest", () => {
  let plain: TestGateway;
  beforeAll(async () => {
    plain = await startTestGateway();
  });
  afterAll(() => plain.close());

  it("are those of the kind too: the clientState of Microsoft Graph is its secret", async () => {
    const sink = await openSinkServer();
    onTestFinished(() => sink.close());
    await plain.post("/api/v1/sources", { name: "graph", kind: "microsoft-graph", secrets: [SECRET] });
    await plain.subscribe({ name: "graph", url: sink.url, events: ["microsoft-graph.#"], format: "raw" });
    const notification = (id: string, clientState = SECRET) => ({ id, subscriptionId: "7f10", clientState });
    const send = (value: unknown) => plain.webhook("graph", JSON.stringify({ value }));
    expect((await send([notification("1"), notification("2")])).status).toBe(202);
    // Not stored as events, but kept as requests.
    expect((await send([notification("3"), notification("4", "another")])).status).toBe(401);
    expect((await send(notification("5"))).status).toBe(401);
    await sink.received(2);
    const delivered = sink.requests.map(({ body }) => JSON.parse(body.toString()) as object);
    expect(delivered).toEqual(["1", "2"].map((id) => notification(id, "***")));
    await until(async () => (await plain.rejected("graph")).length === 2);
    const kept = await Promise.all(
      (await plain.rejected("graph")).map(({ id }) => plain.get(`/api/v1/requests/${id}`)),
    );
    expect(kept.map(({ status, text }) => [status, text.includes("clientState"), text.includes(SECRET)])).toEqual([
      [200, true, false],
      [200, true, false],
    ]);
  });

  it("are verified as they came, and nowhere to be found afterwards", async () => {
    const sink = await openSinkServer();
    const gateway = await startTestGateway();
    onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
    const source = { name: "shop", kind: "github", secrets: [SECRET], mask: ["/customer/email", "header:X-Mail"] };
    expect((await gateway.post("/api/v1/sources", source)).status).toBe(201);
    await gateway.post("/api/v1/event-types", { name: "user.created", mask: ["/email"] });
    await gateway.subscribe({ name: "all", url: sink.url, events: ["#"] });

    const body = `{ "customer": {"email":"${CANARY}", "id": 12345678901234567890}, "n":1.0 }`;
    const signature = (text: string) => `sha256=${createHmac("sha256", SECRET).update(text).digest("hex")}`;
    const send = (text: string, signed = text) =>
      gateway.webhook("shop", text, {
        "x-github-event": "push",
        "x-hub-signature-256": signature(signed),
        "x-github-delivery": createHash("sha256").update(signed).digest("hex"),
        "x-mail": CANARY,
      });
    expect((await send(body)).status).toBe(200);
    // What is signed is what came in, not what is kept of it.
    expect((await send(body, body.replace(CANARY, "***"))).status).toBe(401);
    await gateway.publish({ event_type: "user.created", event_id: "user-1", payload: { email: CANARY, age: 7 } });
    await gateway.publish({ event_type: "user.changed", event_id: "user-2", payload: { age: 7 } });
    await gateway.settled();

    const bodies = sink.requests.map((request) => request.body.toString());
    expect(bodies[0]).toBe(body.replace(`"${CANARY}"`, '"***"'));
    expect(bodies[1]).toContain('"email":"***"');
    expect([await gateway.event("user-1"), await gateway.event("user-2")]).toMatchObject([
      { masked: 1 },
      { masked: 0 },
    ]);
    const answers = await Promise.all(
      ["/api/v1/events/export", "/api/v1/events?limit=500", "/api/v1/sources/shop/requests", "/api/v1/audit"].map(
        gateway.get,
      ),
    );
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain(CANARY);
    }
    await gateway.stop();
    expect(readFileSync(join(gateway.dataDir, "posthorn.db")).includes(CANARY)).toBe(false);
  });

  it.each([
    [{ name: "a", mask: ["customer/email"] }, "mask"],
    [{ name: "a", mask: ["/a~2"] }, "mask"],
    [{ name: "a", mask: [""] }, "mask"],
    [{ name: "a", mask: ["/order"], ordering_key_from: "body:/order/id" }, "mask"],
    [{ name: "a", mask: ["/id"], id_from: "body:/id" }, "mask"],
  ])("are rejected with 422 for %j", async (input, field) => {
    const answer = await plain.post("/api/v1/sources", input);
    expect(answer.status).toBe(422);
    expect(String(answer.json["field"])).toContain(field);
  });
});
