import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SECRET = "a-secret-of-the-provider-0123";
const TWILIO_URL = "https://hooks.example.com/webhook/calls";
const YAML = `
sources:
  - { name: open, kind: github, secrets: [${SECRET}] }
  - { name: code, kind: github, secrets: [${SECRET}], refuse_replays: true }
  - { name: shop, kind: shopify, secrets: [${SECRET}], refuse_replays: true }
  - { name: own, kind: hmac, secrets: [${SECRET}], refuse_replays: true, id_from: "header:X-Id", options: { header: X-Signature } }
  - { name: calls, kind: twilio, secrets: [${SECRET}], refuse_replays: true, options: { url: "${TWILIO_URL}" } }
`;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ yaml: YAML });
});
afterAll(() => gateway.close());

const sign = (body: string, digest: "hex" | "base64") => createHmac("sha256", SECRET).update(body).digest(digest);
let lastBody = 0;
const newBody = () => `{"number":${++lastBody}}`;

const push = (source: string, body: string, delivery: string, signature = sign(body, "hex")) =>
  gateway.webhook(source, body, {
    "x-github-event": "push",
    "x-github-delivery": delivery,
    "x-hub-signature-256": `sha256=${signature}`,
  });

const requestsOf = async (source: string, cause: string) =>
  (await gateway.get(`/api/v1/sources/${source}/requests?cause=${cause}`)).json["data"] as Record<string, unknown>[];

describe("a captured request that is sent again under another id", () => {
  it("is taken as another event by a source that did not say otherwise: two webhooks may have the same bytes", async () => {
    const body = newBody();
    expect((await push("open", body, "one")).json["status"]).toBe("queued");
    expect((await push("open", body, "two")).json["status"]).toBe("queued");
  });

  it("is ignored where the source rejects replays, whatever else of it is changed", async () => {
    const body = newBody();
    const first = await push("code", body, "first");
    expect(first.json["status"]).toBe("queued");
    for (const answer of [
      await push("code", body, "changed"),
      await push("code", body, ""),
      await push("code", body, "shouted", sign(body, "hex").toUpperCase()),
    ]) {
      expect([answer.status, answer.json]).toEqual([200, { status: "ignored", cause: "replayed" }]);
    }
    // What GitHub itself sends again has the same id.
    expect((await push("code", body, "first")).json).toEqual({
      status: "duplicate",
      event_id: first.json["event_id"],
    });
    expect((await push("code", newBody(), "other")).json["status"]).toBe("queued");
  });

  it("is kept, and can be accepted by an operator who knows that it is a new one", async () => {
    const body = newBody();
    const first = await push("code", body, "real");
    await push("code", body, "also-real");
    const find = async () =>
      (await requestsOf("code", "replayed")).filter(({ events }) =>
        JSON.stringify(events).includes(String(first.json["event_id"])),
      );
    await until(async () => (await find()).length === 1);
    const [kept] = await find();
    const { json } = await gateway.post(`/api/v1/requests/${String(kept?.["id"])}/replay`);
    expect(json).toMatchObject({ cause: "replayed", result: { outcome: "accepted" } });
    const [eventId = ""] = json["replay_event_ids"] as string[];
    expect(await gateway.event(eventId)).toMatchObject({ event_type: "github.push" });
    expect((await push("code", body, "also-real")).json).toEqual({ status: "duplicate", event_id: eventId });
  });

  it("is one of many that race, and is still known after a restart", async () => {
    const body = newBody();
    const racers = Array.from({ length: 40 }, (_, index) => push("code", body, `racer-${index}`));
    const statuses = (await Promise.all(racers)).map(({ json }) => json["status"]);
    expect(statuses.filter((status) => status === "queued")).toHaveLength(1);
    expect(statuses.filter((status) => status === "ignored")).toHaveLength(39);
    await gateway.restart();
    expect((await push("code", body, "after")).json["cause"]).toBe("replayed");
  });

  it("is found with Shopify, with a signature of one's own and with Twilio's forms in another order", async () => {
    const body = newBody();
    const order = (id: string) =>
      gateway.webhook("shop", body, {
        "x-shopify-topic": "orders/create",
        "x-shopify-webhook-id": id,
        "x-shopify-hmac-sha256": sign(body, "base64"),
      });
    const own = (id: string, signature = sign(body, "hex")) =>
      gateway.webhook("own", body, { "x-id": id, "x-signature": signature });
    const form = createHmac("sha1", SECRET).update(`${TWILIO_URL}CallStatusringingFromx`).digest("base64");
    const call = (fields: string, id: string) =>
      gateway.webhook("calls", fields, {
        "content-type": "application/x-www-form-urlencoded",
        "x-twilio-signature": form,
        "i-twilio-idempotency-token": id,
      });
    expect((await order("a")).json["status"]).toBe("queued");
    expect((await order("b")).json["cause"]).toBe("replayed");
    expect((await own("a")).json["status"]).toBe("queued");
    expect((await own("b", sign(body, "hex").toUpperCase())).json["cause"]).toBe("replayed");
    expect((await call("CallStatus=ringing&From=x", "a")).status).toBe(200);
    expect((await call("From=x&CallStatus=ringing", "b")).status).toBe(200);
    await until(async () => (await requestsOf("calls", "replayed")).length === 1);
  });

  it("cannot be told where nothing is signed, or an id is: such a source says so when it is made", async () => {
    for (const [kind, secrets] of [
      ["stripe", [SECRET]],
      ["generic", undefined],
    ] as const) {
      const answer = await gateway.post("/api/v1/sources", { name: "x", kind, secrets, refuse_replays: true });
      expect([answer.status, answer.json["field"]]).toEqual([422, "refuse_replays"]);
      expect(answer.json["detail"]).toContain("github, hmac, linear, shopify, twilio, zendesk");
    }
    const made = await gateway.post("/api/v1/sources", { name: "x", kind: "github", secrets: [SECRET] });
    expect(made.json["refuse_replays"]).toBe(false);
  });
});
