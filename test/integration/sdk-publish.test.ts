import { describe, expect, it } from "vitest";
import { PosthornApiError, rawJson, type SubscriptionInput } from "../../sdk/src/index.ts";
import { until } from "../support/api-client.ts";
import { apiErrorOf, changing, freshName, useSdkWorld } from "../support/sdk-world.ts";

const world = useSdkWorld();
const eventsOf = (event_type: string) => world.posthorn.events.list({ event_type }).toArray();
const newSubscription = (more: Partial<SubscriptionInput> = {}) =>
  world.posthorn.subscriptions.create({ name: freshName("s"), url: world.sink.url, events: ["never.once"], ...more });

describe("an event that is published", () => {
  it("is published once, also when the answer is lost", async () => {
    const event_type = freshName("sdk.t");
    world.proxy.doWith((_, index) => (index === 0 ? "lose the answer" : "pass"));
    const published = await world.posthorn.events.publish({ event_type, payload: { a: 1 } });
    expect(published).toMatchObject({ duplicate: true });
    expect(world.proxy.requests).toHaveLength(2);
    expect((await eventsOf(event_type)).map(({ event_id }) => event_id)).toEqual([published.event_id]);
  });

  it("would be published twice without an id of its own (control)", async () => {
    const event_type = freshName("sdk.t");
    world.proxy.doWith((_, index) => (index === 0 ? "lose the answer" : "pass"));
    const careless = world.connect({
      fetch: changing((init) => (init.body = String(init.body).replace(/,?"event_id":"[0-9a-f]{32}"/, ""))),
    });
    await careless.events.publish({ event_type, payload: { a: 1 } });
    expect(await eventsOf(event_type)).toHaveLength(2);
  });

  it("keeps an id that it has", async () => {
    const event_id = `mine-${freshName("")}`;
    const event = { event_type: freshName("sdk.t"), payload: {}, event_id };
    expect(await world.posthorn.events.publish(event)).toMatchObject({ event_id, duplicate: false });
    expect(await world.posthorn.events.publish(event)).toMatchObject({ event_id, duplicate: true });
  });

  it("keeps numbers beyond 2^53, on the way in and out", async () => {
    const event_type = freshName("sdk.t");
    await newSubscription({ events: [event_type], format: "raw" });
    const first = await world.posthorn.events.publish({ event_type, payload: { n: 12345678901234567890n } });
    const exact = '{"n" : 98765432109876543210, "e": 1.50}';
    const second = await world.posthorn.events.publish({ event_type, payload: rawJson(Buffer.from(exact)) });
    await until(() => world.sink.requests.some(({ body }) => body.toString() === exact));
    expect(world.sink.requests.map(({ body }) => body.toString())).toContain('{"n":12345678901234567890}');
    expect((await world.posthorn.events.get(first.event_id)).payload).toEqual({ n: 12345678901234567890n });
    expect((await world.posthorn.events.get(second.event_id)).payload).toEqual({ n: 98765432109876543210n, e: 1.5 });
    // The same through `JSON.parse` would have lost digits.
    expect(String((JSON.parse(exact) as { n: number }).n)).not.toBe("98765432109876543210");
  });

  it("is rejected with a number that has lost digits already", async () => {
    // oxlint would say the same of a literal.
    const payload = { n: Number("12345678901234567890") };
    await expect(world.posthorn.events.publish({ event_type: freshName("sdk.t"), payload })).rejects.toThrow(
      /n is 123456789.*bigint/,
    );
    expect(world.proxy.requests).toEqual([]);
  });
});

describe("many events", () => {
  it("are published in requests of 1,000, each or why not", async () => {
    const event_type = freshName("sdk.t");
    const events = Array.from({ length: 1201 }, (_, n) => ({
      event_type: n === 7 ? "no type" : event_type,
      payload: { n },
    }));
    const results = await world.posthorn.events.publishMany(events);
    expect(world.proxy.requests.map(({ body }) => (JSON.parse(body) as unknown[]).length)).toEqual([1000, 201]);
    expect(results).toHaveLength(1201);
    expect(results[7]).toMatchObject({ code: "invalid_field", status: 422 });
    expect(results[7]).toBeInstanceOf(PosthornApiError);
    expect(results.filter((result) => "event_id" in result)).toHaveLength(1200);
  });

  it("are not lost with what comes behind them", async () => {
    const event_type = freshName("sdk.t");
    world.proxy.doWith((_, index) =>
      index === 0 ? "pass" : { status: 401, body: '{"code":"unauthorized","status":401}' },
    );
    const events = Array.from({ length: 1001 }, (_, n) => ({ event_type, payload: { n } }));
    const results = await world.posthorn.events.publishMany(events);
    expect(results.slice(998).map((one) => ("code" in one ? one.code : "published"))).toEqual([
      "published",
      "published",
      "unauthorized",
    ]);
    world.proxy.doWith(() => ({ status: 401, body: '{"code":"unauthorized","status":401}' }));
    expect((await apiErrorOf(world.posthorn.events.publishMany(events))).code).toBe("unauthorized");
  });

  it("are collected by a publisher, in order, and each has a promise of its own", async () => {
    const event_type = freshName("sdk.t");
    const publisher = world.posthorn.createPublisher({ maxItems: 100, lingerMs: 1 });
    const results = await Promise.allSettled(
      Array.from({ length: 250 }, (_, n) =>
        publisher.publish({
          event_type: n === 3 ? "no type" : event_type,
          payload: { n },
          event_id: `${event_type.replace(".", "-")}-${n}`,
        }),
      ),
    );
    expect(world.proxy.requests.map(({ body }) => (JSON.parse(body) as unknown[]).length)).toEqual([100, 100, 50]);
    expect(results.map(({ status }) => status).filter((status) => status === "rejected")).toHaveLength(1);
    expect(results[3]).toMatchObject({ reason: { code: "invalid_field" } });
    const ids = (await eventsOf(event_type)).map(({ event_id }) => Number(event_id.split("-").at(-1)));
    expect(ids).toEqual(Array.from({ length: 250 }, (_, n) => 249 - n).filter((n) => n !== 3));
    await publisher.close();
    await expect(publisher.publish({ event_type, payload: {} })).rejects.toThrow(/closed/);
  });

  it("go out when there are bytes enough, or when they are flushed", async () => {
    const event_type = freshName("sdk.t");
    const publisher = world.posthorn.createPublisher({ maxBytes: 3000, lingerMs: 3_600_000 });
    const text = "x".repeat(1000);
    const published = Array.from({ length: 3 }, () => publisher.publish({ event_type, payload: { text } }));
    await Promise.all(published.slice(0, 2));
    await publisher.flush();
    await Promise.all(published);
    expect(world.proxy.requests.map(({ body }) => (JSON.parse(body) as unknown[]).length)).toEqual([2, 1]);
    expect(world.proxy.requests.every(({ body }) => body.length <= 3000)).toBe(true);
    await publisher.flush();
    const last = publisher.publish({ event_type, payload: {} });
    await publisher.close();
    expect(await last).toMatchObject({ duplicate: false });
  });

  it("are published once, also when the answer to all of them is lost", async () => {
    const event_type = freshName("sdk.t");
    world.proxy.doWith((_, index) => (index === 0 ? "lose the answer" : "pass"));
    const publisher = world.posthorn.createPublisher({ lingerMs: 1 });
    await Promise.all(Array.from({ length: 20 }, (_, n) => publisher.publish({ event_type, payload: { n } })));
    expect(world.proxy.requests).toHaveLength(2);
    expect(await eventsOf(event_type)).toHaveLength(20);
  });

  it("are tried again one by one where only some were rejected for now", async () => {
    const refused = { code: "too_many_requests", status: 429, title: "t", detail: "d" };
    const taken = { event_id: "a", deliveries: 0, duplicate: false };
    const answer = (events: object[]) => ({ status: 202, body: JSON.stringify({ events }) });
    world.proxy.doWith((_, index) => answer(index === 0 ? [taken, refused] : [{ ...taken, event_id: "b" }]));
    const two = [1, 2].map((n) => ({ event_type: "a.b", payload: { n } }));
    expect(await world.posthorn.events.publishMany(two)).toEqual([taken, { ...taken, event_id: "b" }]);
    const [, second] = JSON.parse(world.proxy.requests[0]?.body ?? "") as unknown[];
    expect(JSON.parse(world.proxy.requests[1]?.body ?? "")).toEqual([second]);
  });

  it("are one promise that fails for each, when their request does", async () => {
    world.proxy.doWith(() => ({ status: 401, body: '{"code":"unauthorized","status":401}' }));
    const publisher = world.posthorn.createPublisher({ lingerMs: 1 });
    const results = await Promise.allSettled(
      [1, 2].map((n) => publisher.publish({ event_type: "a.b", payload: { n } })),
    );
    expect(results).toMatchObject([{ reason: { code: "unauthorized" } }, { reason: { code: "unauthorized" } }]);
  });
});
