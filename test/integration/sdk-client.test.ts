import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { findStaleClient } from "../../scripts/write-sdk-client.ts";
import {
  createPosthorn,
  etagOf,
  PosthornApiError,
  PosthornConnectionError,
  rawJson,
  type Event,
  type Page,
  type Pages,
  type Posthorn,
  type PosthornOptions,
  type Published,
  type StreamFrame,
  type SubscriptionInput,
  type SubscriptionWithSecret,
} from "../../sdk/src/index.ts";
import { until } from "../support/api-client.ts";
import { openFaultyProxy, type FaultyProxy } from "../support/faulty-proxy.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let proxy: FaultyProxy;
let sink: SinkServer;
let posthorn: Posthorn;

function connect(options: Partial<PosthornOptions> = {}): Posthorn {
  return createPosthorn({ url: proxy.url, key: ADMIN_KEY, retry: { minDelayMs: 1, maxDelayMs: 1000 }, ...options });
}

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  proxy = await openFaultyProxy(() => gateway.url);
  posthorn = connect();
});
afterAll(async () => {
  await proxy.close();
  await Promise.all([gateway.close(), sink.close()]);
});
beforeEach(() => proxy.doWith(() => "pass"));

let number = 0;
/** A type of event that no other test uses. */
const freshType = () => `sdk.t${number++}`;
const eventsOf = (event_type: string) => posthorn.events.list({ event_type }).toArray();
const newSubscription = (more: Partial<SubscriptionInput> = {}) =>
  posthorn.subscriptions.create({ name: `s${number++}`, url: sink.url, events: ["never.once"], ...more });

async function errorOf(result: Promise<unknown>): Promise<PosthornApiError> {
  const error = await result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PosthornApiError);
  return error as PosthornApiError;
}

/** A `fetch` that changes requests on their way out. */
function changing(change: (init: RequestInit & { headers: Record<string, string> }) => void): typeof fetch {
  return (input, init) => {
    const changed = { ...init, headers: { ...(init?.headers as Record<string, string>) } };
    change(changed);
    return fetch(input, changed);
  };
}

describe("the generated client", () => {
  it("is what the gateway's routes say", async () => {
    const { json } = await gateway.get("/openapi.json");
    expect(findStaleClient(json)).toEqual([]);
    const { ["/api/v1/keys"]: _, ...paths } = json["paths"] as Record<string, unknown>;
    expect(findStaleClient({ ...json, paths })).toEqual([
      expect.stringContaining("sdk/src/generated/shapes.ts is stale; run `node"),
      expect.stringContaining("sdk/src/generated/resources.ts is stale"),
    ]);
  });

  it("has typed requests and answers", () => {
    expectTypeOf(posthorn.subscriptions.create).parameter(0).toEqualTypeOf<SubscriptionInput>();
    expectTypeOf(posthorn.subscriptions.create).returns.resolves.toEqualTypeOf<SubscriptionWithSecret>();
    expectTypeOf(posthorn.events.list).returns.toExtend<Pages<Event, Page<Event>>>();
    expectTypeOf(posthorn.events.publish).returns.resolves.toEqualTypeOf<Published>();
    expectTypeOf(posthorn.deliveries.list).parameter(0).toExtend<{ limit?: number | undefined } | undefined>();
    expectTypeOf<{ name: string; url: string; typo: 1 }>().not.toExtend<SubscriptionInput>();
    expectTypeOf<Extract<StreamFrame, { event: "event" }>["data"]["event_id"]>().toEqualTypeOf<string>();
    expectTypeOf<Extract<StreamFrame, { event: "event" }>["data"]>().not.toHaveProperty("attempt");
    expectTypeOf<StreamFrame["event"]>().toEqualTypeOf<"event" | "attempt" | "mode" | "alert" | "ready" | "gap">();
  });

  it("creates, reads, changes and deletes", async () => {
    const made = await newSubscription({ description: "first" } as Partial<SubscriptionInput>);
    expect(made.secret).toMatch(/^whsec_/);
    const read = await posthorn.subscriptions.get(made.id);
    expect(read.name).toBe(made.name);
    const changed = await posthorn.subscriptions.update(made.id, { name: "renamed" }, { ifMatch: etagOf(read) });
    expect(changed.name).toBe("renamed");
    const stale = await errorOf(posthorn.subscriptions.update(made.id, { name: "x" }, { ifMatch: etagOf(read) }));
    expect(stale.code).toBe("precondition_failed");
    await posthorn.subscriptions.delete(made.id);
    expect((await errorOf(posthorn.subscriptions.get(made.id))).status).toBe(404);
  });

  it("answers nothing where there is nothing, and text where there is text", async () => {
    await posthorn.eventTypes.create({ name: "sdk.typed", versions: [{ version: "1.0", schema: {} }] });
    expect(await posthorn.eventTypes.delete("sdk.typed")).toBeUndefined();
    expect(await posthorn.gateway.getMetrics()).toContain("posthorn_requests_total");
  });

  it("sends webhooks as they are, also below a source", async () => {
    const { event_id } = (await posthorn.webhooks.sendToPath("shop", "a b/c", '{"n": 1}')) as { event_id: string };
    expect(await posthorn.events.get(event_id)).toMatchObject({ payload: { n: 1 } });
    expect(proxy.requests[0]).toMatchObject({ path: "/webhook/shop/a%20b/c", body: '{"n": 1}' });
  });

  it("refuses an id that would lead elsewhere", () => {
    for (const id of ["", ".", ".."]) expect(() => posthorn.events.get(id)).toThrow(/cannot be part of a path/);
  });
});

describe("an error", () => {
  it("has what the gateway said of it", async () => {
    const wrong = { name: "x", url: 3, events: ["*"] } as unknown as SubscriptionInput;
    const error = await errorOf(posthorn.subscriptions.create(wrong));
    expect(error).toMatchObject({ code: "invalid_field", status: 422, field: "url", name: "PosthornApiError" });
    expect(error.title).toBe("A field is not valid");
    expect(error.detail).toContain("url");
    expect(error.message).toContain(error.detail);
    expect((await errorOf(connect({ key: "wrong" }).subscriptions.get("x"))).code).toBe("unauthorized");
  });

  it("has the id of the request where one is known", async () => {
    const body = JSON.stringify({ code: "internal_error", status: 500, title: "t", detail: "d", request_id: "r1" });
    proxy.doWith(() => ({ status: 500, body }));
    expect(await errorOf(posthorn.gateway.getStatus())).toMatchObject({ requestId: "r1", problem: { detail: "d" } });
  });

  it("says when what answers is not a gateway", async () => {
    proxy.doWith(() => ({ status: 404, body: "<html>nginx" }));
    expect(await errorOf(posthorn.gateway.getStatus())).toMatchObject({ code: "unexpected_answer", status: 404 });
    proxy.doWith(() => ({ status: 200, body: "<html>" }));
    expect((await errorOf(posthorn.gateway.getStatus())).detail).toContain("not JSON");
    proxy.doWith(() => ({ status: 301, headers: { location: "http://127.0.0.1:1/" } }));
    expect((await errorOf(posthorn.gateway.getStatus())).detail).toContain("redirects");
  });

  it("says that nobody answers, or not in time", async () => {
    const nobody = connect({ url: "http://127.0.0.1:1", retry: { retries: 0 } });
    await expect(nobody.gateway.getStatus()).rejects.toMatchObject({
      name: "PosthornConnectionError",
      code: "unreachable",
      message: expect.stringContaining("http://127.0.0.1:1"),
    });
    proxy.doWith(() => "hang");
    const result = posthorn.gateway.getStatus({ timeoutMs: 20, retries: 1 });
    await expect(result).rejects.toMatchObject({ name: "PosthornConnectionError", code: "timeout" });
    expect(proxy.requests).toHaveLength(2);
  });

  it("is the caller's own where the caller gives up", async () => {
    proxy.doWith(() => "hang");
    const reason = new Error("enough");
    const controller = new AbortController();
    const result = posthorn.gateway.getStatus({ signal: controller.signal });
    await until(() => proxy.requests.length === 1);
    controller.abort(reason);
    await expect(result).rejects.toBe(reason);
    expect(proxy.requests).toHaveLength(1);
  });

  it("is told of an address that cannot be one", () => {
    expect(() => connect({ url: "ftp://127.0.0.1" })).toThrow(/http/);
    expect(() => connect({ url: "http://key@127.0.0.1" })).toThrow(/Give its key/);
  });
});

describe("what is sent again", () => {
  const refusal = (code: string, status: number, retryAfter: string) => ({
    status,
    headers: { "retry-after": retryAfter },
    body: JSON.stringify({ code, status, title: "t", detail: "d" }),
  });

  it("is what was refused for now, after the time that the gateway asks for", async () => {
    proxy.doWith((_, index) => (index < 2 ? refusal("overloaded", 503, "0") : "pass"));
    const made = await newSubscription();
    expect(proxy.requests).toHaveLength(3);
    proxy.doWith((_, index) => (index === 0 ? refusal("too_many_requests", 429, "0") : "pass"));
    await posthorn.subscriptions.pause(made.id);
    expect(proxy.requests).toHaveLength(2);
  });

  it("is not what the gateway wants to see no sooner than in an hour", async () => {
    proxy.doWith(() => refusal("quota_exceeded", 429, "3600"));
    expect(await errorOf(posthorn.gateway.getStatus())).toMatchObject({ retryAfterS: 3600 });
    expect(proxy.requests).toHaveLength(1);
  });

  it("is given up after so many tries", async () => {
    proxy.doWith(() => refusal("unavailable", 503, "0"));
    expect((await errorOf(posthorn.gateway.getStatus({ retries: 2 }))).status).toBe(503);
    expect(proxy.requests).toHaveLength(3);
  });

  it("is what is made once however often it is asked for, when the answer is lost", async () => {
    proxy.doWith((_, index) => (index === 0 ? "lose the answer" : index === 1 ? "cut the answer" : "pass"));
    const name = `once ${number++}`;
    await newSubscription({ name });
    const keys = proxy.requests.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    const all = await posthorn.subscriptions.list({ limit: 500 }).toArray();
    expect(all.filter((one) => one.name === name)).toHaveLength(1);
  });

  it("would be made twice without its key", async () => {
    proxy.doWith((_, index) => (index === 0 ? "lose the answer" : "pass"));
    const name = `twice ${number++}`;
    const careless = connect({ fetch: changing(({ headers }) => delete headers["idempotency-key"]) });
    await careless.subscriptions.create({ name, url: sink.url, events: ["never.once"] });
    const all = await posthorn.subscriptions.list({ limit: 500 }).toArray();
    expect(all.filter((one) => one.name === name)).toHaveLength(2);
  });

  it("is not what might be done twice", async () => {
    const { id } = await newSubscription();
    proxy.doWith(() => "lose the answer");
    await expect(posthorn.subscriptions.test(id)).rejects.toBeInstanceOf(PosthornConnectionError);
    await expect(posthorn.subscriptions.delete(id)).rejects.toBeInstanceOf(PosthornConnectionError);
    expect(proxy.requests.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
  });
});

describe("an event that is published", () => {
  it("is published once, also when the answer is lost", async () => {
    const event_type = freshType();
    proxy.doWith((_, index) => (index === 0 ? "lose the answer" : "pass"));
    const published = await posthorn.events.publish({ event_type, payload: { a: 1 } });
    expect(published).toMatchObject({ duplicate: true });
    expect(proxy.requests).toHaveLength(2);
    expect((await eventsOf(event_type)).map(({ event_id }) => event_id)).toEqual([published.event_id]);
  });

  it("would be published twice without an id of its own", async () => {
    const event_type = freshType();
    proxy.doWith((_, index) => (index === 0 ? "lose the answer" : "pass"));
    const careless = connect({
      fetch: changing((init) => (init.body = String(init.body).replace(/,?"event_id":"[0-9a-f]{32}"/, ""))),
    });
    await careless.events.publish({ event_type, payload: { a: 1 } });
    expect(await eventsOf(event_type)).toHaveLength(2);
  });

  it("keeps an id that it has", async () => {
    const event_id = `mine-${number++}`;
    const event = { event_type: freshType(), payload: {}, event_id };
    expect(await posthorn.events.publish(event)).toMatchObject({ event_id, duplicate: false });
    expect(await posthorn.events.publish(event)).toMatchObject({ event_id, duplicate: true });
  });

  it("keeps numbers beyond 2^53, on the way in and out", async () => {
    const event_type = freshType();
    await newSubscription({ events: [event_type], format: "raw" });
    const first = await posthorn.events.publish({ event_type, payload: { n: 12345678901234567890n } });
    const exact = '{"n" : 98765432109876543210, "e": 1.50}';
    const second = await posthorn.events.publish({ event_type, payload: rawJson(Buffer.from(exact)) });
    await until(() => sink.requests.some(({ body }) => body.toString() === exact));
    expect(sink.requests.map(({ body }) => body.toString())).toContain('{"n":12345678901234567890}');
    expect((await posthorn.events.get(first.event_id)).payload).toEqual({ n: 12345678901234567890n });
    expect((await posthorn.events.get(second.event_id)).payload).toEqual({ n: 98765432109876543210n, e: 1.5 });
    // The same through `JSON.parse` would have lost digits.
    expect(String((JSON.parse(exact) as { n: number }).n)).not.toBe("98765432109876543210");
  });

  it("is refused with a number that has lost digits already", async () => {
    // oxlint would say the same of a literal.
    const payload = { n: Number("12345678901234567890") };
    await expect(posthorn.events.publish({ event_type: freshType(), payload })).rejects.toThrow(
      /n is 123456789.*bigint/,
    );
    expect(proxy.requests).toEqual([]);
  });
});

describe("many events", () => {
  it("are published in requests of 1,000, each or why not", async () => {
    const event_type = freshType();
    const events = Array.from({ length: 1201 }, (_, n) => ({
      event_type: n === 7 ? "no type" : event_type,
      payload: { n },
    }));
    const results = await posthorn.events.publishMany(events);
    expect(proxy.requests.map(({ body }) => (JSON.parse(body) as unknown[]).length)).toEqual([1000, 201]);
    expect(results).toHaveLength(1201);
    expect(results[7]).toMatchObject({ code: "invalid_field", status: 422 });
    expect(results[7]).toBeInstanceOf(PosthornApiError);
    expect(results.filter((result) => "event_id" in result)).toHaveLength(1200);
  });

  it("are not lost with what comes behind them", async () => {
    const event_type = freshType();
    proxy.doWith((_, index) => (index === 0 ? "pass" : { status: 401, body: '{"code":"unauthorized","status":401}' }));
    const events = Array.from({ length: 1001 }, (_, n) => ({ event_type, payload: { n } }));
    const results = await posthorn.events.publishMany(events);
    expect(results.slice(998).map((one) => ("code" in one ? one.code : "published"))).toEqual([
      "published",
      "published",
      "unauthorized",
    ]);
    proxy.doWith(() => ({ status: 401, body: '{"code":"unauthorized","status":401}' }));
    expect((await errorOf(posthorn.events.publishMany(events))).code).toBe("unauthorized");
  });

  it("are collected by a publisher, in order, and each has a promise of its own", async () => {
    const event_type = freshType();
    const publisher = posthorn.createPublisher({ maxItems: 100, lingerMs: 1 });
    const results = await Promise.allSettled(
      Array.from({ length: 250 }, (_, n) =>
        publisher.publish({
          event_type: n === 3 ? "no type" : event_type,
          payload: { n },
          event_id: `${event_type.replace(".", "-")}-${n}`,
        }),
      ),
    );
    expect(proxy.requests.map(({ body }) => (JSON.parse(body) as unknown[]).length)).toEqual([100, 100, 50]);
    expect(results.map(({ status }) => status).filter((status) => status === "rejected")).toHaveLength(1);
    expect(results[3]).toMatchObject({ reason: { code: "invalid_field" } });
    const ids = (await eventsOf(event_type)).map(({ event_id }) => Number(event_id.split("-").at(-1)));
    expect(ids).toEqual(Array.from({ length: 250 }, (_, n) => 249 - n).filter((n) => n !== 3));
    await publisher.close();
    await expect(publisher.publish({ event_type, payload: {} })).rejects.toThrow(/closed/);
  });

  it("go out when there are bytes enough, or when they are flushed", async () => {
    const event_type = freshType();
    const publisher = posthorn.createPublisher({ maxBytes: 3000, lingerMs: 3_600_000 });
    const text = "x".repeat(1000);
    const published = Array.from({ length: 3 }, () => publisher.publish({ event_type, payload: { text } }));
    await Promise.all(published.slice(0, 2));
    await publisher.flush();
    await Promise.all(published);
    expect(proxy.requests.map(({ body }) => (JSON.parse(body) as unknown[]).length)).toEqual([2, 1]);
    expect(proxy.requests.every(({ body }) => body.length <= 3000)).toBe(true);
    await publisher.flush();
    const last = publisher.publish({ event_type, payload: {} });
    await publisher.close();
    expect(await last).toMatchObject({ duplicate: false });
  });

  it("are published once, also when the answer to all of them is lost", async () => {
    const event_type = freshType();
    proxy.doWith((_, index) => (index === 0 ? "lose the answer" : "pass"));
    const publisher = posthorn.createPublisher({ lingerMs: 1 });
    await Promise.all(Array.from({ length: 20 }, (_, n) => publisher.publish({ event_type, payload: { n } })));
    expect(proxy.requests).toHaveLength(2);
    expect(await eventsOf(event_type)).toHaveLength(20);
  });

  it("are tried again one by one where only some were refused for now", async () => {
    const refused = { code: "too_many_requests", status: 429, title: "t", detail: "d" };
    const taken = { event_id: "a", deliveries: 0, duplicate: false };
    const answer = (events: object[]) => ({ status: 202, body: JSON.stringify({ events }) });
    proxy.doWith((_, index) => answer(index === 0 ? [taken, refused] : [{ ...taken, event_id: "b" }]));
    const two = [1, 2].map((n) => ({ event_type: "a.b", payload: { n } }));
    expect(await posthorn.events.publishMany(two)).toEqual([taken, { ...taken, event_id: "b" }]);
    const [, second] = JSON.parse(proxy.requests[0]?.body ?? "") as unknown[];
    expect(JSON.parse(proxy.requests[1]?.body ?? "")).toEqual([second]);
  });

  it("are one promise that fails for each, when their request does", async () => {
    proxy.doWith(() => ({ status: 401, body: '{"code":"unauthorized","status":401}' }));
    const publisher = posthorn.createPublisher({ lingerMs: 1 });
    const results = await Promise.allSettled(
      [1, 2].map((n) => publisher.publish({ event_type: "a.b", payload: { n } })),
    );
    expect(results).toMatchObject([{ reason: { code: "unauthorized" } }, { reason: { code: "unauthorized" } }]);
  });
});

describe("a list", () => {
  it("goes on from page to page, and asks for no more than is read", async () => {
    const event_type = freshType();
    await posthorn.events.publishMany(Array.from({ length: 5 }, (_, n) => ({ event_type, payload: { n } })));
    proxy.doWith(() => "pass");
    const seen: string[] = [];
    for await (const { event_id } of posthorn.events.list({ event_type, limit: 2 })) seen.push(event_id);
    expect(new Set(seen).size).toBe(5);
    expect(proxy.requests).toHaveLength(3);
    const list = posthorn.events.list({ event_type, limit: 2 });
    expect((await list.toArray(3)).map(({ event_id }) => event_id)).toEqual(seen.slice(0, 3));
    expect(proxy.requests).toHaveLength(5);
    const { data, next_cursor } = await list.page();
    expect([data.length, next_cursor]).toEqual([2, expect.any(String)]);
    const sizes: number[] = [];
    for await (const page of list.pages()) sizes.push(page.data.length);
    expect(sizes).toEqual([2, 2, 1]);
  });
});

describe("an export", () => {
  it("gives event by event, with exact numbers, and does not end in the middle unnoticed", async () => {
    const event_type = freshType();
    const payloads = [{ n: 12345678901234567890n }, { text: "ä".repeat(100_000) }];
    await posthorn.events.publishMany(payloads.map((payload) => ({ event_type, payload })));
    const lines: unknown[] = [];
    for await (const { payload } of posthorn.events.export({ event_type })) lines.unshift(payload);
    expect(lines).toEqual(payloads);
    proxy.doWith(() => "cut the answer");
    const cut = async () => {
      for await (const line of posthorn.events.export({ event_type })) lines.push(line);
    };
    await expect(cut()).rejects.toBeInstanceOf(PosthornConnectionError);
    proxy.doWith(() => ({ status: 200, body: '{"a":1}\n{"a"' }));
    await expect(cut()).rejects.toThrow(/before the end of the export/);
  });
});

describe("the stream", () => {
  /** Reads until there are so many events, and gives the numbers in their payloads. */
  async function follow(
    client: Posthorn,
    event_type: string,
    act: (seen: number[]) => Promise<void> | void,
    count: number,
  ) {
    const controller = new AbortController();
    const seen: number[] = [];
    const frames: StreamFrame[] = [];
    for await (const frame of client.stream(
      { event_type, types: "event", body: "true" },
      { signal: controller.signal },
    )) {
      frames.push(frame);
      if (frame.event === "event") seen.push((frame.data.payload as { n: number }).n);
      await act(seen);
      if (seen.length >= count) break;
    }
    return { seen, frames };
  }
  const publish = (event_type: string, ...numbers: number[]) =>
    posthorn.events.publishMany(numbers.map((n) => ({ event_type, payload: { n } })));

  it("goes on after a lost connection and a restart of the gateway, without a gap", async () => {
    const event_type = freshType();
    let step = 0;
    const { seen, frames } = await follow(
      posthorn,
      event_type,
      async (soFar) => {
        if (step === 0 && soFar.length === 0) {
          step = 1;
          await publish(event_type, 1, 2);
        } else if (step === 1 && soFar.length === 2) {
          step = 2;
          proxy.cut();
          await publish(event_type, 3, 4);
        } else if (step === 2 && soFar.length === 4) {
          step = 3;
          await gateway.restart();
          await publish(event_type, 5);
        }
      },
      5,
    );
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(frames[0]).toMatchObject({ event: "ready", id: expect.any(String) });
    expect(frames.filter(({ event }) => event === "ready").length).toBeGreaterThanOrEqual(3);
  });

  it("would have a gap without its last id", async () => {
    const event_type = freshType();
    const forgetful = connect({ fetch: changing(({ headers }) => delete headers["last-event-id"]) });
    let step = 0;
    const { seen } = await follow(
      forgetful,
      event_type,
      async (soFar) => {
        if (step === 0) {
          step = 1;
          await publish(event_type, 1);
        } else if (step === 1 && soFar.length === 1) {
          step = 2;
          proxy.cut();
          await publish(event_type, 2);
        } else if (step === 2) {
          step = 3;
          await publish(event_type, 3);
        }
      },
      2,
    );
    expect(seen).toEqual([1, 3]);
  });

  it("ends when all was shown, where it is not to follow", async () => {
    const event_type = freshType();
    await publish(event_type, 1);
    const frames: StreamFrame[] = [];
    const [first] = await posthorn.events.list({ event_type }).toArray(1);
    for await (const frame of posthorn.stream({ follow: false })) frames.push(frame);
    expect(frames.map(({ event }) => event)).toEqual(["ready"]);
    expect(first?.event_type).toBe(event_type);
  });

  it("gives a connection up over which nothing comes", async () => {
    proxy.doWith((_, index) => (index === 0 ? "hang" : "pass"));
    for await (const frame of posthorn.stream({}, { idleTimeoutMs: 200 })) {
      expect(frame.event).toBe("ready");
      break;
    }
    expect(proxy.requests.length).toBeGreaterThan(1);
  });

  it("throws what waiting does not mend, and ends when the caller says so", async () => {
    const read = async (client: Posthorn, signal?: AbortSignal) => {
      for await (const frame of client.stream({}, { signal })) expect(frame.event).toBe("ready");
    };
    expect((await errorOf(read(connect({ key: "wrong" })))).code).toBe("unauthorized");
    const controller = new AbortController();
    const reading = read(posthorn, controller.signal);
    await until(() => proxy.requests.length === 2);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});
