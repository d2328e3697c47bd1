import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import { type HttpClientOptions, openHttpClient } from "../../../../src/destinations/wire/http-client.ts";
import { openHttpSender } from "../../../../src/destinations/http/sender.ts";
import { buildAttemptHeaders } from "../../../../src/destinations/http/record.ts";
import { buildPayload } from "../../../../src/destinations/http/request.ts";
import type { Attempt, AttemptReport, Sender } from "../../../../src/destinations/sender.ts";
import type { HttpDestination } from "../../../../src/destinations/http/settings.ts";
import { failedHere } from "../../../../src/model/outcome.ts";
import type { EventContent } from "../../../../src/model/event.ts";
import { parseHeaderBlock } from "../../../../src/model/headers.ts";
import type { Subscription } from "../../../../src/model/subscription.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { HTTP_DESTINATION } from "../../../support/http-outcomes.ts";
import { senderServices } from "../../../support/sender-services.ts";
import { openSinkServer, type SinkServer } from "../../../support/sink-server.ts";

const SECRETS = [Buffer.alloc(32, 1), Buffer.alloc(24, 2)].map((key) => `whsec_${key.toString("base64")}`);
const WALL = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function openBoth(options: Partial<HttpClientOptions> = {}): Promise<{ sink: SinkServer; sender: Sender }> {
  const clock = { ...createSystemClock(), wall: () => WALL };
  const guard = createAddressGuard({ allowPrivate: ["127.0.0.0/8"] });
  const client = openHttpClient({ guard, allowHttp: true, clock, ...options });
  const both = {
    sink: await openSinkServer(),
    sender: openHttpSender(senderServices({ client, clock, userAgent: "Posthorn/1.2.3" })),
  };
  opened.push(both.sink, both.sender);
  return both;
}

function send(sender: Sender, attempt: Attempt): Promise<AttemptReport> {
  return new Promise((resolve, reject) => {
    sender.send([attempt], ([report, ...more]) => {
      if (report === undefined || more.length > 0) reject(new Error("not one report"));
      else resolve(report);
    });
  });
}

function makeEvent(more: Partial<EventContent> = {}): EventContent {
  return {
    id: "evt_1",
    type: "order.created",
    version: "1.0",
    source: "api",
    tenantId: "default",
    priority: "normal",
    orderingKey: undefined,
    occurredAt: Date.UTC(2026, 0, 1),
    receivedAt: Date.UTC(2026, 0, 1),
    contentType: "application/json",
    body: Buffer.from('{"total": 12345678901234567890.10}'),
    origin: "publish",
    ...more,
  };
}

function makeAttempt(
  url: string,
  event = makeEvent(),
  {
    destination,
    ...more
  }: Partial<Omit<Subscription, "destination">> & { destination?: Partial<HttpDestination> } = {},
): Attempt {
  const subscription: Subscription = {
    seq: 1,
    version: 1,
    id: "sub_1",
    tenantId: "default",
    name: "orders",
    kind: "http",
    destination: { ...HTTP_DESTINATION, url, ...destination },
    place: url,
    events: ["*"],
    filter: undefined,
    status: "active",
    secrets: SECRETS,
    retryPolicy: "standard",
    timeoutMs: 5000,
    rateLimitPerMinute: undefined,
    concurrency: 32,
    ordered: false,
    onDeadHead: "block",
    maxAgeMs: undefined,
    description: undefined,
    managedBy: "api",
    createdAt: 0,
    updatedAt: 0,
    ...more,
  };
  return { deliveryId: "dlv_1", number: 3, generation: 1, event, subscription };
}

describe("what a destination receives", () => {
  // shows: C2, C7, C34, C35, C40
  it("is an envelope around the raw bytes of a published event, with all headers and valid signatures", async () => {
    const { sink, sender } = await openBoth();
    const report = await send(sender, makeAttempt(`${sink.url}/hook`));
    const [request] = sink.requests;
    const body = request?.body ?? Buffer.alloc(0);
    expect(body.toString()).toBe(
      '{"webhook_id":"dlv_1","event":"order.created","event_id":"evt_1",' +
        '"timestamp":"2026-01-01T00:00:00.000Z","data":{"total": 12345678901234567890.10}}',
    );
    const timestamp = String(Math.floor(WALL / 1000));
    const standard = [Buffer.alloc(32, 1), Buffer.alloc(24, 2)].map(
      (key) => `v1,${createHmac("sha256", key).update(`evt_1.${timestamp}.`).update(body).digest("base64")}`,
    );
    const seed = createHmac("sha256", SECRETS[0] ?? "")
      .update(body)
      .digest("hex");
    const { headers = {}, rawHeaders = [], method, path } = request ?? {};
    expect([method, path]).toEqual(["POST", "/hook"]);
    expect(headers).toEqual({
      host: `127.0.0.1:${sink.port}`,
      "content-length": String(body.length),
      "accept-encoding": "identity",
      "user-agent": "Posthorn/1.2.3",
      "content-type": "application/json",
      "x-webhook-id": "dlv_1",
      "x-webhook-event": "order.created",
      "x-webhook-timestamp": timestamp,
      "x-posthorn-hops": "1",
      "x-webhook-attempt": "3",
      "x-webhook-signature": `sha256=${seed}`,
      "webhook-id": "evt_1",
      "webhook-timestamp": timestamp,
      "webhook-signature": standard.join(" "),
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
    });
    expect(rawHeaders).toContain("X-Webhook-ID");
    expect(report).toMatchObject({ outcome: { kind: "delivered" }, startedAt: WALL, record: { address: "127.0.0.1" } });
    expect(report.record.place).toBe(`${sink.url}/hook`);
    // What is kept, and what follows from the attempt, is all that was sent.
    const facts = { deliveryId: "dlv_1", eventId: "evt_1", eventType: "order.created", number: 3 };
    const derived = buildAttemptHeaders({ ...facts, startedAtS: Number(timestamp) });
    const shown = Object.entries(parseHeaderBlock(derived + report.record.sent));
    const { host: _, "content-length": __, "accept-encoding": ___, ...sent } = headers;
    expect(Object.fromEntries(shown.map(([name, value]) => [name.toLowerCase(), value]))).toEqual(sent);
    expect(report.record.sent).not.toContain("dlv_1");
  });

  it("is the bytes and the content type of a received webhook, unchanged and not copied", async () => {
    const { sink, sender } = await openBoth();
    const event = makeEvent({ origin: "webhook", contentType: "text/xml; charset=x", body: Buffer.from([0, 255, 10]) });
    await send(sender, makeAttempt(sink.url, event));
    expect(sink.requests[0]?.body).toEqual(Buffer.from([0, 255, 10]));
    expect(sink.requests[0]?.headers["content-type"]).toBe("text/xml; charset=x");
    expect(buildPayload("dlv_1", event, "auto").body).toBe(event.body);
  });

  it("has a trace for each event and a span for each attempt", async () => {
    const { sink, sender } = await openBoth();
    const attempt = makeAttempt(sink.url);
    for (const number of [1, 2]) await send(sender, { ...attempt, number });
    await send(sender, makeAttempt(sink.url, makeEvent({ id: "evt_2" })));
    const [one, two, other] = sink.requests.map(({ headers }) => String(headers["traceparent"]).split("-"));
    expect(two?.[1]).toBe(one?.[1]);
    expect(two?.[2]).not.toBe(one?.[2]);
    expect(other?.[1]).not.toBe(one?.[1]);
  });

  // shows: C33
  it("has the subscription's own headers, whose values are masked in the record", async () => {
    const { sink, sender } = await openBoth();
    const headers = { Authorization: "Bearer s3cret", "X-Api-Key": "s3cret", "X-Team": "blue", "user-agent": "own" };
    const destination = { headers, signatureHeader: "X-Hub-Signature-256" };
    const { record } = await send(sender, makeAttempt(sink.url, makeEvent(), { destination }));
    expect(sink.requests[0]?.headers).toMatchObject({
      authorization: "Bearer s3cret",
      "x-team": "blue",
      "user-agent": "own",
      "x-hub-signature-256": expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
    });
    expect(record.sent).not.toContain("s3cret");
    expect(parseHeaderBlock(record.sent ?? "")).toMatchObject({ Authorization: "***", "X-Team": "***" });
  });
});

describe("an envelope", () => {
  const wrap = (event: EventContent): Record<string, unknown> =>
    JSON.parse(Buffer.from(buildPayload("dlv_1", event, "envelope").body).toString()) as Record<string, unknown>;
  const webhook = (body: string | Iterable<number>, contentType?: string): EventContent =>
    makeEvent({
      origin: "webhook",
      contentType,
      body: typeof body === "string" ? Buffer.from(body) : Uint8Array.from(body),
    });

  it("holds JSON as JSON, other text as a string and binary as base64", () => {
    expect(wrap(webhook(' {"a":1}\n', "application/vnd.x+json; charset=utf-8"))["data"]).toEqual({ a: 1 });
    expect(wrap(webhook('{"a":1}'))["data"]).toEqual({ a: 1 });
    expect(wrap(webhook('\ufeff{"a":1}', "application/json"))["data"]).toEqual({ a: 1 });
    expect(wrap(webhook("a=1&b=é", "application/x-www-form-urlencoded"))["data"]).toBe("a=1&b=é");
    expect(wrap(webhook('<a b="c"/>\n', "application/xml"))["data"]).toBe('<a b="c"/>\n');
    expect(wrap(webhook("{broken", "application/json"))["data"]).toBe("{broken");
    expect(wrap(webhook([0xff, 0xfe, 0]))).toMatchObject({ data_base64: "//4A" });
    expect(wrap(webhook([0xff, 0xfe, 0]))).not.toHaveProperty("data");
    expect(wrap(webhook("", "application/json"))["data"]).toBeNull();
  });

  it("gives back every byte of a body that is not JSON", () => {
    const text = fc.string({ unit: "binary", minLength: 1 }).map((characters) => Buffer.from(characters));
    fc.assert(
      fc.property(fc.oneof(text, fc.uint8Array({ minLength: 1 })), (bytes) => {
        const { data, data_base64: base64 } = wrap(webhook(bytes, "text/plain")) as Record<string, string>;
        expect(base64 === undefined ? Buffer.from(data ?? "") : Buffer.from(base64, "base64")).toEqual(
          Buffer.from(bytes),
        );
      }),
    );
  });

  it("is readable even around a body that only claims to be JSON", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(wrap(webhook(text, "application/json"))).toHaveProperty("data");
      }),
    );
  });

  it("holds any JSON as it was", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(wrap(webhook(text, "application/json"))["data"]).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe("a CloudEvent", () => {
  const build = (event: EventContent) => buildPayload("dlv_1", event, "cloudevents");
  const read = (event: EventContent) =>
    JSON.parse(Buffer.from(build(event).body).toString()) as Record<string, unknown>;

  it("has the attributes of version 1.0 and the data as it came", () => {
    const event = makeEvent({
      id: "evt_1",
      type: "order.created",
      source: "web shop/é",
      occurredAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
      contentType: "application/json",
      body: Buffer.from('{"total":12345678901234567890}'),
    });
    const { body, contentType } = build(event);
    expect(contentType).toBe("application/cloudevents+json; charset=UTF-8");
    expect(Buffer.from(body).toString()).toBe(
      '{"specversion":"1.0","id":"evt_1","source":"web%20shop/%C3%A9","type":"order.created",' +
        '"time":"2026-01-02T03:04:05.006Z","datacontenttype":"application/json",' +
        '"data":{"total":12345678901234567890}}',
    );
    // The same bytes for every delivery of the event.
    expect(buildPayload("dlv_2", event, "cloudevents").body).toBe(body);
  });

  it("holds text as a string and binary as base64, with the content type they came with", () => {
    const xml = makeEvent({ origin: "webhook", contentType: "application/xml", body: Buffer.from("<a/>") });
    expect(read(xml)).toMatchObject({ datacontenttype: "application/xml", data: "<a/>" });
    const binary = makeEvent({ origin: "webhook", contentType: undefined, body: Uint8Array.of(0xff, 0) });
    expect(read(binary)).toMatchObject({ data_base64: "/wA=" });
    expect(read(binary)).not.toHaveProperty("datacontenttype");
  });
});

describe("the outcome of an attempt", () => {
  it.each([
    [200, "delivered"],
    [204, "delivered"],
    [303, "refused"],
    [400, "refused"],
    [410, "gone"],
    [500, "failed"],
  ])("is by status: %i is %s", async (status, kind) => {
    const { sink, sender } = await openBoth();
    sink.answerWith({ status, headers: { "set-cookie": "sid=s3cret" }, body: status === 204 ? "" : "text" });
    const { outcome, record } = await send(sender, makeAttempt(sink.url));
    expect([outcome.kind, record.code]).toEqual([kind, status]);
    expect(outcome.error).toBe(kind === "delivered" ? undefined : `answered ${status}`);
    expect(JSON.parse(record.facts ?? "{}")).toMatchObject({ "set-cookie": "***" });
    expect(Buffer.from(record.answer ?? []).toString()).toBe(status === 204 ? "" : "text");
  });

  it.each([
    [429, "120", 120_000],
    [503, "Fri, 02 Jan 2026 03:05:05 GMT", 59_322],
    [503, "soon", undefined],
    [500, "120", undefined],
  ])("asks for a wait with %i and Retry-After: %s", async (status, value, retryAfterMs) => {
    const { sink, sender } = await openBoth();
    sink.answerWith({ status, headers: { "retry-after": value } });
    expect((await send(sender, makeAttempt(sink.url))).outcome).toMatchObject({ kind: "failed", retryAfterMs });
  });

  it("tells a timeout, an unreachable and a blocked destination apart", async () => {
    const { sink, sender } = await openBoth();
    sink.answerWith("drip body");
    const late = await send(sender, makeAttempt(sink.url, makeEvent(), { timeoutMs: 2000 }));
    expect(late).toMatchObject({ outcome: { kind: "failed", result: "timeout" }, record: { code: 200 } });
    expect(late.durationMs).toBeGreaterThanOrEqual(150);
    sink.answerWith("reset");
    expect((await send(sender, makeAttempt(sink.url))).outcome).toMatchObject({
      kind: "failed",
      result: "connection_error",
    });
    const blocked = await send(sender, makeAttempt("http://10.0.0.1/"));
    expect(blocked).toMatchObject({
      outcome: { kind: "blocked", result: "blocked" },
      record: { address: undefined, place: "http://10.0.0.1/" },
    });
  });

  it("says why a redirect was not followed, and where the last hop was", async () => {
    const { sink, sender } = await openBoth();
    sink.answerWith({ redirectTo: "/loop", status: 302 });
    const report = await send(sender, makeAttempt(`${sink.url}/start`));
    expect(report.outcome).toMatchObject({ kind: "refused", error: expect.stringContaining("too many") });
    expect(report.record.place).toBe(`${sink.url}/loop`);
  });

  it("is a fault of ours when the attempt cannot be made, and never an exception", async () => {
    const { sink, sender } = await openBoth();
    for (const attempt of [
      makeAttempt(sink.url, makeEvent(), { secrets: [] }),
      makeAttempt(sink.url, makeEvent({ occurredAt: Number.NaN })),
      makeAttempt(sink.url, makeEvent({ type: "line\nbreak" })),
    ]) {
      expect((await send(sender, attempt)).outcome).toMatchObject({ kind: "failed", result: "error", says: "nothing" });
    }
    expect(sink.requests).toHaveLength(0);
  });

  it("is an error for what is in flight when the sender closes", async () => {
    const { sink, sender } = await openBoth();
    sink.answerWith("hang");
    const report = send(sender, makeAttempt(sink.url));
    await sink.received(1);
    await sender.close();
    expect((await report).outcome).toEqual(failedHere("the gateway stopped"));
  });
});
