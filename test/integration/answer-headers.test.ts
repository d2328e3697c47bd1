import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRawSocket } from "../support/raw-socket.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** What a browser or a cache between could make of an answer. */
describe("answers", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      yaml: "sources: [{ name: chat, kind: slack, secrets: [0123456789abcdef0123] }]",
    });
  });
  afterAll(() => gateway.close());

  it("are kept by nobody, and taken for nothing else than they are", async () => {
    const event = { event_id: "same", event_type: "a.b", payload: {} };
    const answers = {
      webhook: await gateway.webhook("shop", "{}", { "webhook-id": "same" }),
      duplicate: await gateway.webhook("shop", "{}", { "webhook-id": "same" }),
      "unreadable webhook": await gateway.webhook("shop", "{"),
      "refused by its kind": await gateway.webhook("chat", "{}"),
      publish: await gateway.publish(event),
      "publish twice": await gateway.publish(event),
      "publish nothing": await gateway.publish({}),
      list: await gateway.get("/api/v1/events"),
      one: await gateway.get("/api/v1/events/same"),
      created: await gateway.post("/api/v1/keys", { name: "k", scopes: ["read"] }),
      export: await gateway.get("/api/v1/events/export"),
      "export of types": await gateway.get("/api/v1/event-types/export"),
      invalid: await gateway.post("/api/v1/keys", {}),
      "no key": await gateway.as(undefined).get("/api/v1/events"),
      "not found": await gateway.get("/nothing"),
      "wrong method": await gateway.post("/health"),
      health: await gateway.get("/health"),
      ready: await gateway.get("/readyz"),
      status: await gateway.get("/status"),
      metrics: await gateway.get("/metrics"),
    };
    const shown = Object.entries(answers).map(([name, { headers }]) => [
      name,
      headers.get("x-content-type-options"),
      headers.get("cache-control"),
    ]);
    expect(shown).toEqual(Object.keys(answers).map((name) => [name, "nosniff", "no-store"]));
  });

  it("to what is no HTTP are too", async () => {
    const socket = await openRawSocket(gateway.port);
    socket.write("no http at all\r\n\r\n");
    const { status, headers } = await socket.answer();
    expect([status, headers["x-content-type-options"], headers["cache-control"]]).toEqual([400, "nosniff", "no-store"]);
    socket.destroy();
  });
});
