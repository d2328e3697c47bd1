import { describe, expect, expectTypeOf, it } from "vitest";
import { findStaleClient } from "../../scripts/write-sdk-client.ts";
import {
  etagOf,
  PosthornConnectionError,
  type Event,
  type Page,
  type Pages,
  type Published,
  type StreamFrame,
  type SubscriptionInput,
  type SubscriptionWithSecret,
} from "../../sdk/src/index.ts";
import { until } from "../support/api-client.ts";
import { apiErrorOf, changing, freshName, useSdkWorld } from "../support/sdk-world.ts";

const world = useSdkWorld();
const newSubscription = (more: Partial<SubscriptionInput> = {}) =>
  world.posthorn.subscriptions.create({ name: freshName("s"), url: world.sink.url, events: ["never.once"], ...more });

describe("the generated client", () => {
  it("is what the gateway's routes say", async () => {
    const { json } = await world.gateway.get("/openapi.json");
    expect(findStaleClient(json)).toEqual([]);
    const { ["/api/v1/keys"]: _, ...paths } = json["paths"] as Record<string, unknown>;
    expect(findStaleClient({ ...json, paths })).toEqual([
      expect.stringContaining("sdk/src/generated/shapes.ts is out of date; run `npm run write:sdk`"),
      expect.stringContaining("sdk/src/generated/resources.ts is out of date"),
    ]);
  });

  it("has typed requests and answers", () => {
    expectTypeOf(world.posthorn.subscriptions.create).parameter(0).toEqualTypeOf<SubscriptionInput>();
    expectTypeOf(world.posthorn.subscriptions.create).returns.resolves.toEqualTypeOf<SubscriptionWithSecret>();
    expectTypeOf(world.posthorn.events.list).returns.toExtend<Pages<Event, Page<Event>>>();
    expectTypeOf(world.posthorn.events.publish).returns.resolves.toEqualTypeOf<Published>();
    expectTypeOf(world.posthorn.deliveries.list).parameter(0).toExtend<{ limit?: number | undefined } | undefined>();
    expectTypeOf<{ name: string; url: number; events: string[] }>().not.toExtend<SubscriptionInput>();
    expectTypeOf<Extract<StreamFrame, { event: "event" }>["data"]["event_id"]>().toEqualTypeOf<string>();
    expectTypeOf<Extract<StreamFrame, { event: "event" }>["data"]>().not.toHaveProperty("attempt");
    expectTypeOf<StreamFrame["event"]>().toEqualTypeOf<"event" | "attempt" | "mode" | "alert" | "ready" | "gap">();
  });

  it("creates, reads, changes and deletes", async () => {
    const made = await newSubscription();
    expect(made.secret).toMatch(/^whsec_/);
    const read = await world.posthorn.subscriptions.get(made.id);
    expect(read.name).toBe(made.name);
    const changed = await world.posthorn.subscriptions.update(made.id, { name: "renamed" }, { ifMatch: etagOf(read) });
    expect(changed.name).toBe("renamed");
    const stale = await apiErrorOf(
      world.posthorn.subscriptions.update(made.id, { name: "x" }, { ifMatch: etagOf(read) }),
    );
    expect(stale.code).toBe("precondition_failed");
    await world.posthorn.subscriptions.delete(made.id);
    expect((await apiErrorOf(world.posthorn.subscriptions.get(made.id))).status).toBe(404);
  });

  it("answers nothing where there is nothing, and text where there is text", async () => {
    await world.posthorn.eventTypes.create({ name: "sdk.typed", versions: [{ version: "1.0", schema: {} }] });
    expect(await world.posthorn.eventTypes.delete("sdk.typed")).toBeUndefined();
    expect(await world.posthorn.gateway.getMetrics()).toContain("posthorn_requests_total");
  });

  it("sends webhooks as they are, also below a source", async () => {
    const { event_id } = (await world.posthorn.webhooks.sendToPath("shop", "a b/c", '{"n": 1}')) as {
      event_id: string;
    };
    expect(await world.posthorn.events.get(event_id)).toMatchObject({ payload: { n: 1 } });
    expect(world.proxy.requests[0]).toMatchObject({ path: "/webhook/shop/a%20b/c", body: '{"n": 1}' });
  });

  it("rejects an id that would lead elsewhere", () => {
    for (const id of ["", ".", ".."]) expect(() => world.posthorn.events.get(id)).toThrow(/cannot be part of a path/);
  });
});

describe("an error", () => {
  it("has what the gateway said of it", async () => {
    const wrong = { name: "x", url: 3, events: ["*"] } as unknown as SubscriptionInput;
    const error = await apiErrorOf(world.posthorn.subscriptions.create(wrong));
    expect(error).toMatchObject({ code: "invalid_field", status: 422, field: "url", name: "PosthornApiError" });
    expect(error.title).toBe("A field is not valid");
    expect(error.detail).toContain("url");
    expect(error.message).toContain(error.detail);
    expect((await apiErrorOf(world.connect({ key: "wrong" }).subscriptions.get("x"))).code).toBe("unauthorized");
  });

  it("has the id of the request where one is known", async () => {
    const body = JSON.stringify({ code: "internal_error", status: 500, title: "t", detail: "d", request_id: "r1" });
    world.proxy.doWith(() => ({ status: 500, body }));
    expect(await apiErrorOf(world.posthorn.gateway.getStatus())).toMatchObject({
      requestId: "r1",
      problem: { detail: "d" },
    });
  });

  it("says when what answers is not a gateway", async () => {
    world.proxy.doWith(() => ({ status: 404, body: "<html>nginx" }));
    expect(await apiErrorOf(world.posthorn.gateway.getStatus())).toMatchObject({
      code: "unexpected_answer",
      status: 404,
    });
    world.proxy.doWith(() => ({ status: 200, body: "<html>" }));
    expect((await apiErrorOf(world.posthorn.gateway.getStatus())).detail).toContain("not JSON");
    world.proxy.doWith(() => ({ status: 301, headers: { location: "http://127.0.0.1:1/" } }));
    expect((await apiErrorOf(world.posthorn.gateway.getStatus())).detail).toContain("redirects");
  });

  it("says that nobody answers, or not in time", async () => {
    const nobody = world.connect({ url: "http://127.0.0.1:1", retry: { retries: 0 } });
    await expect(nobody.gateway.getStatus()).rejects.toMatchObject({
      name: "PosthornConnectionError",
      code: "unreachable",
      message: expect.stringContaining("http://127.0.0.1:1"),
    });
    world.proxy.doWith(() => "hang");
    // Counted where they leave: on a busy machine the time of one may be over before it reaches the proxy.
    let sent = 0;
    const counting = world.connect({ fetch: changing(() => sent++) });
    const result = counting.gateway.getStatus({ timeoutMs: 20, retries: 1 });
    await expect(result).rejects.toMatchObject({ name: "PosthornConnectionError", code: "timeout" });
    expect(sent).toBe(2);
  });

  it("is the caller's own where the caller gives up", async () => {
    world.proxy.doWith(() => "hang");
    const reason = new Error("enough");
    const controller = new AbortController();
    const result = world.posthorn.gateway.getStatus({ signal: controller.signal });
    await until(() => world.proxy.requests.length === 1);
    controller.abort(reason);
    await expect(result).rejects.toBe(reason);
    expect(world.proxy.requests).toHaveLength(1);
  });

  it("is told of a key that cannot be one", () => {
    expect(() => world.connect({ key: "" })).toThrow(/key is empty/);
    expect(() => world.connect({ key: "phk_1\n" })).toThrow(/line ends/);
  });

  it("is told of an address that cannot be one", () => {
    for (const url of ["ftp://127.0.0.1", "", undefined as unknown as string]) {
      expect(() => world.connect({ url })).toThrow(/^url is .*Give the address/);
    }
    expect(() => world.connect({ url: "http://key@127.0.0.1" })).toThrow(/Give its key/);
  });
});

describe("what is sent again", () => {
  const refusal = (code: string, status: number, retryAfter: string) => ({
    status,
    headers: { "retry-after": retryAfter },
    body: JSON.stringify({ code, status, title: "t", detail: "d" }),
  });

  it("is what was rejected for now, after the time that the gateway asks for", async () => {
    world.proxy.doWith((_, index) => (index < 2 ? refusal("overloaded", 503, "0") : "pass"));
    const made = await newSubscription();
    expect(world.proxy.requests).toHaveLength(3);
    world.proxy.doWith((_, index) => (index === 0 ? refusal("too_many_requests", 429, "0") : "pass"));
    await world.posthorn.subscriptions.pause(made.id);
    expect(world.proxy.requests).toHaveLength(2);
  });

  it("is not what the gateway wants to see no sooner than in an hour", async () => {
    world.proxy.doWith(() => refusal("quota_exceeded", 429, "3600"));
    expect(await apiErrorOf(world.posthorn.gateway.getStatus())).toMatchObject({ retryAfterS: 3600 });
    expect(world.proxy.requests).toHaveLength(1);
  });

  it("is given up after so many tries", async () => {
    world.proxy.doWith(() => refusal("unavailable", 503, "0"));
    expect((await apiErrorOf(world.posthorn.gateway.getStatus({ retries: 2 }))).status).toBe(503);
    expect(world.proxy.requests).toHaveLength(3);
  });

  it("is what is made once however often it is asked for, when the answer is lost", async () => {
    world.proxy.doWith((_, index) => (index === 0 ? "lose the answer" : index === 1 ? "cut the answer" : "pass"));
    const name = `once ${freshName("")}`;
    await newSubscription({ name });
    const keys = world.proxy.requests.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    const all = await world.posthorn.subscriptions.list({ limit: 500 }).toArray();
    expect(all.filter((one) => one.name === name)).toHaveLength(1);
  });

  it("would be taken for another one without its key (control)", async () => {
    world.proxy.doWith((_, index) => (index === 0 ? "lose the answer" : "pass"));
    const name = `twice ${freshName("")}`;
    const careless = world.connect({
      fetch: changing(({ headers }) => delete headers["idempotency-key"]),
    });
    // With a name that may be there twice there would be two.
    const error = await apiErrorOf(
      careless.subscriptions.create({ name, url: world.sink.url, events: ["never.once"] }),
    );
    expect(error.code).toBe("conflict");
  });

  it("is not what might be done twice", async () => {
    const { id } = await newSubscription();
    world.proxy.doWith(() => "lose the answer");
    await expect(world.posthorn.subscriptions.test(id)).rejects.toBeInstanceOf(PosthornConnectionError);
    await expect(world.posthorn.subscriptions.delete(id)).rejects.toBeInstanceOf(PosthornConnectionError);
    expect(world.proxy.requests.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
  });
});
