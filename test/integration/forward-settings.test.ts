import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("a subscription that forwards", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterEach(async () => {
    await gateway.reload("");
    await gateway.deleteSubscriptions();
  });
  afterAll(() => gateway.close());

  const make = (more: object) =>
    gateway.post("/api/v1/subscriptions", { url: "http://127.0.0.1:9/", mode: "forward", ...more });

  it("shows its mode and the headers that it hands on", async () => {
    const { json } = await make({ name: "a", events: ["webhook.a"], forward_headers: ["*", "X-Api-Key"] });
    expect(json).toMatchObject({ mode: "forward", forward_headers: ["*", "X-Api-Key"] });
    const plain = await make({ name: "b", events: ["webhook.b"], mode: undefined });
    expect(plain.json).toMatchObject({ mode: "queue", forward_headers: null });
  });

  it("is rejected with 409 beside another for the same events, which is named", async () => {
    const first = await make({ name: "first", events: ["webhook.orders"] });
    for (const events of [["webhook.orders", "x.y"], ["*"], ["#"]]) {
      const answer = await make({ name: "second", events });
      expect(answer.status).toBe(409);
      expect(answer.json).toMatchObject({ code: "conflict", field: "mode", subscription_id: first.json["id"] });
      expect(answer.json["detail"]).toContain('"first"');
    }
    expect((await make({ name: "elsewhere", events: ["#"], tenant_id: "other" })).status).toBe(201);
    expect((await make({ name: "third", events: ["webhook.users"] })).status).toBe(201);
    const queue = await make({ name: "fourth", events: ["#"], mode: "queue" });
    const path = `/api/v1/subscriptions/${String(queue.json["id"])}`;
    const headers = { "content-type": "application/json" };
    const change = (body: object) => gateway.request("PATCH", path, { body: JSON.stringify(body), headers });
    expect((await change({ mode: "forward" })).status).toBe(409);
    expect((await change({ mode: "forward", events: ["a.b"] })).status).toBe(200);
    expect((await change({ description: "the same as before" })).status).toBe(200);
  });

  it("is saved beside one whose patterns overlap with its own, with a warning that says who answers", async () => {
    const countWarnings = () =>
      gateway.log.filter(({ msg }) => msg === "a subscription was saved with a warning").length;
    const before = countWarnings();
    const first = await make({ name: "first", events: ["webhook.*"] });
    expect(first.json).not.toHaveProperty("warnings");
    const second = await make({ name: "second", events: ["webhook.orders", "x.y"] });
    expect([second.status, second.json["warnings"]]).toEqual([
      201,
      [
        expect.stringMatching(
          /"first" \(sub_\w+\).* too.*older subscription, "first"; "second" delivers them from the queue/,
        ),
      ],
    ]);
    const path = `/api/v1/subscriptions/${String(second.json["id"])}`;
    expect((await gateway.get(path)).json).not.toHaveProperty("warnings");
    const headers = { "content-type": "application/json" };
    const change = (of: string, body: object) => gateway.request("PATCH", of, { body: JSON.stringify(body), headers });
    const ofFirst = await change(`/api/v1/subscriptions/${String(first.json["id"])}`, { timeout: 9 });
    expect(ofFirst.json["warnings"]).toEqual([
      expect.stringContaining('older subscription, "first"; "second" delivers'),
    ]);
    expect((await change(path, { events: ["x.y"] })).json).not.toHaveProperty("warnings");
    expect((await change(path, { events: ["#.orders"], mode: "queue" })).json).not.toHaveProperty("warnings");
    expect(countWarnings()).toBe(before + 2);
    const elsewhere = await make({ name: "elsewhere", events: ["webhook.#"], tenant_id: "other" });
    expect(elsewhere.json).not.toHaveProperty("warnings");
  });

  it("answers the sender when it is the oldest of those that fit; the others get theirs all the same", async () => {
    const [older, younger] = await Promise.all([openSinkServer(), openSinkServer()]);
    try {
      await make({ name: "older", events: ["webhook.#"], url: older.url });
      const { json } = await make({ name: "younger", events: ["webhook.orders"], url: younger.url });
      expect(json["warnings"]).toHaveLength(1);
      younger.answerWith({ status: 500 });
      const answer = await gateway.webhook("orders", "{}");
      expect([answer.status, answer.json["status"]]).toEqual([200, "forwarded"]);
      await younger.received(1);
      older.answerWith({ status: 500 });
      younger.answerWith({ status: 200 });
      const second = await gateway.webhook("orders", "{}");
      expect([second.status, second.json]).toMatchObject([202, { status: "queued", deliveries: 2 }]);
    } finally {
      await Promise.all([older.close(), younger.close()]);
    }
  });

  it("is rejected with 422 for a URL or header that cannot be, and nothing is stored", async () => {
    const cases: [object, string][] = [
      [{ url: "http://{source}.example/" }, "url"],
      [{ url: "http://127.0.0.1:9/{sources}" }, "url"],
      [{ forward_headers: ["Host"] }, "forward_headers[0]"],
      [{ forward_headers: ["*", "X-Forwarded-For"] }, "forward_headers[1]"],
      [{ forward_headers: ["a\0b"] }, "forward_headers[0]"],
      [{ forward_headers: ["webhook_signature"] }, "forward_headers[0]"],
      [{ forward_headers: ["traceparent"] }, "forward_headers[0]"],
      [{ give_up_on: [200] }, "give_up_on.0"],
      [{ give_up_on: [404, 422], retry_on: { statuses: [422] } }, "give_up_on[1]"],
      [{ on_give_up: "wait" }, "on_give_up"],
      [{ mode: "wait" }, "mode"],
    ];
    for (const [more, field] of cases) {
      const answer = await make({ name: "bad", events: ["a.b"], ...more });
      expect([more, answer.status, answer.json["field"]]).toEqual([more, 422, field]);
    }
    expect((await gateway.get("/api/v1/subscriptions")).json["data"]).toEqual([]);
  });

  it("can be declared, but not two for the same events", async () => {
    const declare = (name: string, events: string) =>
      `  - { name: ${name}, url: "http://127.0.0.1:9/{source}", events: [${events}], mode: forward }\n`;
    await gateway.reload(`subscriptions:\n${declare("a", "webhook.a")}${declare("b", "webhook.b")}`);
    const { json } = await gateway.get("/api/v1/subscriptions");
    expect(json["data"]).toMatchObject([{ mode: "forward" }, { mode: "forward" }]);
    await expect(gateway.reload(`subscriptions:\n${declare("a", "x.y")}${declare("b", "x.y")}`)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("subscriptions[1].mode"),
    });
    await gateway.reload(`subscriptions:\n${declare("a", "webhook.a")}${declare("c", "webhook.*")}`);
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ msg: "a subscription was saved with a warning", subscription: "c" }),
    );
    // A change of places is no conflict.
    await gateway.reload(`subscriptions:\n${declare("a", "webhook.b")}${declare("b", "webhook.a")}`);
  });
});
