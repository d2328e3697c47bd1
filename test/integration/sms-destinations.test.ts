import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const HOUR_MS = 3_600_000;
const TAKEN = {
  status: 201,
  body: JSON.stringify({ sid: "SM1", status: "queued", error_code: null, num_segments: "1" }),
};

let gateway: TestGateway;
let sink: SinkServer;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { SMS_DEFAULT_COUNTRY: "DE", SMS_NUMBER_RATE: 1000 } });
});
beforeEach(async () => {
  sink = await openSinkServer({ answer: TAKEN });
});
afterEach(async () => {
  await gateway.deleteSubscriptions();
  await sink.close();
});
afterAll(() => gateway.close());

const twilio = () => ({
  gateway: "twilio",
  url: sink.url,
  account_sid: "AC0123",
  auth_token: "s3cret-token",
  from: "+15005550006",
  to: "+491511234567",
  text: "Order {{ data.number }} is on its way.",
});

const generic = () => ({
  gateway: "generic-http",
  url: `${sink.url}/send`,
  headers: { "X-Api-Key": "s3cret-key" },
  to: "{{ data.phone }}",
  text: "Order {{ data.number }}",
  success: { pointer: "/status", equals: "ok" },
});

async function subscribe(destination: object, more: object = {}): Promise<string> {
  const input = { name: "sms", kind: "sms", events: ["order.*"], destination, ...more };
  const { status, json, text } = await gateway.post("/api/v1/subscriptions", input);
  expect([status, text.slice(0, 300)]).toEqual([201, expect.any(String) as string]);
  return String(json["id"]);
}

async function publish(payload: object = {}, type = "order.created"): Promise<string> {
  const { json } = await gateway.publish({ event_type: type, payload });
  return String(json["event_id"]);
}

async function ended(eventId: string) {
  await until(async () => (await gateway.event(eventId)).status !== "PENDING", undefined, "the end of the delivery");
  return gateway.deliveryOf(eventId);
}

async function attempted(eventId: string, count = 1) {
  await until(async () => (await gateway.deliveryOf(eventId)).attempt_count >= count, undefined, `attempt ${count}`);
  return gateway.deliveryOf(eventId);
}

describe("SMS by Twilio", () => {
  // shows: C7
  it("sends what the template says, and keeps what became of it", async () => {
    const id = await subscribe(twilio());
    const delivery = await ended(await publish({ number: "SO1" }));
    expect(delivery.status).toBe("delivered");
    const [request] = sink.requests;
    expect([request?.method, request?.path]).toEqual(["POST", "/2010-04-01/Accounts/AC0123/Messages.json"]);
    expect(request?.headers["authorization"]).toBe(`Basic ${Buffer.from("AC0123:s3cret-token").toString("base64")}`);
    expect(Object.fromEntries(new URLSearchParams(request?.body.toString()))).toEqual({
      To: "+491511234567",
      From: "+15005550006",
      Body: "Order SO1 is on its way.",
    });
    expect(delivery.attempts[0]).toMatchObject({
      response_code: 201,
      record: { to: "+491511234567", encoding: "GSM-7", segments: 1, gateway_id: "SM1", gateway_segments: 1 },
    });
    const shown = await gateway.get(`/api/v1/subscriptions/${id}`);
    expect(shown.json["destination"]).toMatchObject({ auth_token: "***", account_sid: "AC0123" });
    expect(shown.text + JSON.stringify(delivery) + gateway.logText()).not.toContain("s3cret");
  });

  const refusal = (status: number, code: number, message: string) => ({
    status,
    body: JSON.stringify({ code, message, status, more_info: `https://www.twilio.com/docs/errors/${code}` }),
  });

  it.each([
    [400, 21_211, "The 'To' number is not a valid phone number."],
    [400, 21_610, "Attempt to send to unsubscribed recipient"],
    [401, 20_003, "Authenticate"],
  ])("takes %i with the code %i for a rejection, and says why", async (status, code, message) => {
    sink.answerWith(refusal(status, code, message));
    await subscribe(twilio());
    const dead = await ended(await publish({ number: 1 }));
    expect(dead).toMatchObject({ status: "dead", dead_reason: "refused", attempt_count: 1 });
    expect(dead["last_error"]).toBe(`answered ${status}; Twilio says ${code}`);
    expect(dead.attempts[0]?.["response_body"]).toContain(message);
  });

  it.each([
    [429, 20_429, "Too Many Requests"],
    [503, 20_503, "Service unavailable"],
  ])("tries again after %i with the code %i", async (status, code, message) => {
    sink.answerWith(refusal(status, code, message));
    await subscribe(twilio());
    const eventId = await publish({ number: 1 });
    const waiting = await attempted(eventId);
    expect([waiting.status, waiting.attempts[0]?.["error"], waiting.attempts[0]?.["response_body"]]).toEqual([
      "pending",
      `answered ${status}; Twilio says ${code}`,
      expect.stringContaining(message),
    ]);
    sink.answerWith(TAKEN);
    gateway.moveClock(HOUR_MS);
    expect((await ended(eventId)).status).toBe("delivered");
  });

  it("takes an answer with an error in its body for a rejection", async () => {
    const body = JSON.stringify({ sid: "SM2", status: "failed", error_code: 30_006, error_message: "Landline" });
    sink.answerWith({ status: 201, body });
    await subscribe(twilio());
    expect(await ended(await publish({ number: 1 }))).toMatchObject({
      status: "dead",
      last_error: "Twilio says failed 30006",
      attempts: [{ response_body: body }],
    });
  });
});

describe("SMS by any other gateway", () => {
  it("normalises the number, and sends an object where no body is given", async () => {
    sink.answerWith({ status: 200, body: '{"status":"ok"}' });
    await subscribe(generic());
    const delivery = await ended(await publish({ phone: "0151 / 123 45 67", number: 5 }));
    expect(delivery.status).toBe("delivered");
    const [request] = sink.requests;
    expect(request?.headers["x-api-key"]).toBe("s3cret-key");
    expect(request?.headers["idempotency-key"]).toBe(`${delivery.id}.1`);
    expect(JSON.parse(request?.body.toString() ?? "")).toEqual({
      to: "+491511234567",
      text: "Order 5",
      id: `${delivery.id}.1`,
    });
    expect(JSON.stringify(delivery)).not.toContain("s3cret");
  });

  it.each([
    [
      "application/json",
      '{"m":[{"n":"{{ message.to }}","t":"{{ message.text }}"}]}',
      '{"m":[{"n":"+491511234567","t":"a \\"b\\" & <c>"}]}',
    ],
    [
      "application/x-www-form-urlencoded",
      "n={{ message.to }}&t={{ message.text }}",
      "n=%2B491511234567&t=a%20%22b%22%20%26%20%3Cc%3E",
    ],
    ["text/xml", "<m t='{{ message.text }}'/>", "<m t='a &#34;b&#34; &amp; &lt;c&gt;'/>"],
    ["text/plain", "{{ message.text }}", 'a "b" & <c>'],
  ])("escapes values for a body of %s", async (contentType, body, expected) => {
    sink.answerWith({ status: 200, body: '{"status":"ok"}' });
    await subscribe({ ...generic(), text: "{{ data.text }}", content_type: contentType, body });
    expect((await ended(await publish({ phone: "+491511234567", text: 'a "b" & <c>' }))).status).toBe("delivered");
    expect(sink.requests[0]?.headers["content-type"]).toBe(contentType);
    expect(sink.requests[0]?.body.toString()).toBe(expected);
  });

  it("warns when the settings do not say what the gateway answers when it has accepted a message", async () => {
    const warningsOf = async (destination: object, name: string) => {
      const input = { name, kind: "sms", events: ["order.*"], destination };
      return (await gateway.post("/api/v1/subscriptions", input)).json["warnings"];
    };
    expect(await warningsOf({ ...generic(), success: null }, "blind")).toEqual([
      expect.stringMatching(/^destination\.success is not set: .*"pointer"/) as string,
    ]);
    expect(await warningsOf(generic(), "with a rule")).toBeUndefined();
    expect(await warningsOf(twilio(), "twilio")).toBeUndefined();
  });

  it("can ask with GET", async () => {
    sink.answerWith({ status: 200, body: '{"status":"ok"}' });
    const url = `${sink.url}/send?to={{ message.to }}&text={{ message.text }}`;
    await subscribe({ ...generic(), method: "GET", url });
    await ended(await publish({ phone: "+491511234567", number: 5 }));
    expect([sink.requests[0]?.method, sink.requests[0]?.path]).toEqual([
      "GET",
      "/send?to=%2B491511234567&text=Order%205",
    ]);
  });

  it.each([
    ["another value", { pointer: "/status", equals: "ok" }, "has another value at /status"],
    ["a missing one", { pointer: "/code", equals: 0 }, "has nothing at /code"],
    ["a text that is not there", { contains: '"accepted"' }, 'without "\\"accepted\\""'],
    ["another status", { statuses: [202] }, "answered 200"],
  ])("tries again after 200 with %s, and says what the answer was", async (_, success, reason) => {
    sink.answerWith({ status: 200, body: '{"status":"no credit"}' });
    await subscribe({ ...generic(), success });
    const eventId = await publish({ phone: "+491511234567", number: 5 });
    const waiting = await attempted(eventId);
    expect(waiting.status).toBe("pending");
    expect(waiting["last_error"]).toContain(reason);
    expect(waiting["last_error"]).not.toContain("no credit");
    expect(waiting.attempts[0]?.["response_body"]).toBe('{"status":"no credit"}');
    sink.answerWith({ status: 202, body: '{"status":"ok","code":0,"is":"accepted"}' });
    gateway.moveClock(HOUR_MS);
    expect((await ended(eventId)).status).toBe("delivered");
  });

  it("sends to one number only so often, and later what is more, without counting a try", async () => {
    const shared = gateway;
    gateway = await startTestGateway({ env: { SMS_NUMBER_RATE: 2 } });
    onTestFinished(async () => {
      await gateway.close();
      gateway = shared;
    });
    sink.answerWith({ status: 200, body: '{"status":"ok"}' });
    await subscribe({ ...generic(), text: "{{ data.number }}" }, { retry_policy: { delays_s: [] } });
    const ids: string[] = [];
    for (const number of [1, 2, 3, 4]) ids.push(await publish({ phone: "+491511234567", number }));
    const other = await publish({ phone: "+491511234568", number: 5 });
    expect((await ended(other)).status).toBe("delivered");
    for (const id of ids) await attempted(id);
    expect(sink.requests).toHaveLength(3);
    const waiting = (await gateway.deliveries("status=pending")).map(({ last_error: error }) => error);
    expect(waiting).toEqual(
      Array.from({ length: 2 }, () => expect.stringContaining("2 messages within an hour") as string),
    );
    // Another tenant that writes to the same number neither waits for these, nor learns of them.
    await subscribe(generic(), { tenant_id: "acme" });
    const acme = gateway.as(await gateway.createKey(["publish"], "acme"));
    const payload = { phone: "+491511234567", number: 6 };
    const { json } = await acme.publish({ event_type: "order.created", payload });
    expect((await ended(String(json["event_id"]))).status).toBe("delivered");
    gateway.moveClock(HOUR_MS + 1000);
    for (const id of ids) expect((await ended(id)).status).toBe("delivered");
    expect(sink.requests).toHaveLength(6);
  });

  it("counts the messages of each tenant alone where one subscription of an operator sends for all", async () => {
    const shared = gateway;
    gateway = await startTestGateway({ env: { SMS_NUMBER_RATE: 1 } });
    onTestFinished(async () => {
      await gateway.close();
      gateway = shared;
    });
    sink.answerWith({ status: 200, body: '{"status":"ok"}' });
    await subscribe(generic(), { tenants: "*" });
    const payload = { phone: "+491511234567", number: 1 };
    const publishAs = async (tenantId: string) => {
      const tenant = gateway.as(await gateway.createKey(["publish"], tenantId));
      return String((await tenant.publish({ event_type: "order.created", payload })).json["event_id"]);
    };
    const [first, second] = [await publishAs("acme"), await publishAs("acme")];
    for (const id of [first, second]) await attempted(id);
    expect((await attempted(await publishAs("globex"))).status).toBe("delivered");
    const waiting = (await gateway.deliveries("status=pending")).map(({ last_error: error }) => error);
    expect(waiting).toEqual([expect.stringContaining("the tenant acme has sent 1 messages") as string]);
  });
});

describe("notification.sms", () => {
  const byPayload = () => ({ ...generic(), to: null, text: null, fields_from: "payload" });

  // shows: C15
  it("takes number and text of the payload where an operator says so, and is nobody else's", async () => {
    sink.answerWith({ status: 200, body: '{"status":"ok"}' });
    const input = { name: "sms", kind: "sms", events: ["notification.sms"], destination: byPayload() };
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    expect((await bound.post("/api/v1/subscriptions", input)).status).toBe(403);
    expect(
      (await gateway.event(await publish({ to: "+491511234567", text: "Hi" }, "notification.sms"))).unmatched,
    ).toBe(true);
    await subscribe(byPayload(), { events: ["notification.sms"] });
    expect((await ended(await publish({ to: "0151 1234567", text: "Hi" }, "notification.sms"))).status).toBe(
      "delivered",
    );
    expect(JSON.parse(sink.requests[0]?.body.toString() ?? "")).toMatchObject({ to: "+491511234567", text: "Hi" });
  });

  it.each([
    ["no number", { text: "Hi" }, "payload: `to` must be a phone number"],
    ["what is no number", { to: "call me", text: "Hi" }, 'to: "call me" is not a phone number'],
    ["two numbers", { to: "+491511234567,+491511234568", text: "Hi" }, "is not a phone number"],
    ["no text", { to: "+491511234567" }, "text: is empty"],
    [
      "too much text",
      { to: "+491511234567", text: "ü😀".repeat(200) },
      "text: needs 10 messages (UCS-2); max_segments is 6",
    ],
  ])("turns %s into a dead letter that says so", async (_, payload, reason) => {
    await subscribe(byPayload(), { events: ["notification.sms"] });
    const dead = await ended(await publish(payload, "notification.sms"));
    expect(dead).toMatchObject({ status: "dead", dead_reason: "refused", attempt_count: 1 });
    expect(dead["last_error"]).toContain(reason);
    expect(sink.requests).toEqual([]);
  });
});

describe("settings of the kind sms", () => {
  it.each([
    ["what is no number", { to: "12" }, "destination.to"],
    ["no credentials", { auth_token: null }, "destination.auth_token"],
    ["no sender", { from: null }, "destination.from"],
    ["a sender of too many letters", { from: "TheWholeCompany" }, "destination.from"],
    ["what belongs to another gateway", { body: "x" }, "destination.body"],
    ["an unknown filter", { text: "{{ data.x | shout }}" }, "destination.text"],
    ["a host by a template", { gateway: "generic-http", url: "https://{{ data.host }}/x" }, "destination.account_sid"],
    ["a gateway that nobody knows", { gateway: "pigeon" }, "destination.gateway"],
  ])("rejects %s with 422 and names the field", async (_, wrong, field) => {
    const input = { name: "sms", kind: "sms", events: ["order.*"], destination: { ...twilio(), ...wrong } };
    const { status, json } = await gateway.post("/api/v1/subscriptions", input);
    expect([status, json["field"]]).toEqual([422, field]);
  });

  it("rejects a pointer that is none, a host by a template, and addresses that are not allowed", async () => {
    const make = async (change: object) => {
      const input = { name: "sms", kind: "sms", events: ["order.*"], destination: { ...generic(), ...change } };
      const { status, json } = await gateway.post("/api/v1/subscriptions", input);
      return [status, json["field"]];
    };
    expect(await make({ success: { pointer: "status", equals: 1 } })).toEqual([422, "destination.success.pointer"]);
    expect(await make({ url: "https://{{ message.to }}.example/x" })).toEqual([422, "destination.url"]);
    expect(await make({ url: "ftp://example.com" })).toEqual([422, "destination.url"]);
    expect(await make({ headers: { Host: "x" } })).toEqual([422, "destination.headers"]);
  });

  it("does not send the secret to another place when only that is changed", async () => {
    const id = await subscribe(twilio());
    const patch = (destination: object) =>
      gateway.request("PATCH", `/api/v1/subscriptions/${id}`, {
        body: JSON.stringify({ destination }),
        headers: { "content-type": "application/json" },
      });
    expect((await patch({ url: "https://evil.example" })).status).toBe(422);
    expect((await patch({ text: "Something else" })).status).toBe(200);
    await ended(await publish());
    expect(sink.requests[0]?.headers["authorization"]).toContain("Basic ");
  });
});
