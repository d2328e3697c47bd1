import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERRORS } from "../../src/model/errors.ts";
import type { Answer, ApiClient } from "../support/api-client.ts";
import { openRawSocket } from "../support/raw-socket.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** Each row of "bad input gets", against the real server. */
describe("bad input", () => {
  let gateway: TestGateway;
  let reader: ApiClient;
  let publisher: ApiClient;
  let nobody: ApiClient;

  beforeAll(async () => {
    gateway = await startTestGateway({
      yaml: "sources: [{ name: shop, id_from: 'body:/id', ordering_key_from: 'body:/key' }]",
    });
    reader = gateway.as(await gateway.createKey(["read"]));
    publisher = gateway.as(await gateway.createKey(["publish"]));
    nobody = gateway.as(undefined);
  });
  afterAll(() => gateway.close());

  /** What of an answer makes it the right refusal. */
  function problemOf({ status, headers, json }: Answer): object {
    return { ...json, httpStatus: status, contentType: headers.get("content-type")?.split(";", 1)[0] };
  }

  function problem(code: keyof typeof ERRORS, field?: string): object {
    const { status, title } = ERRORS[code];
    const contentType = "application/problem+json";
    return { httpStatus: status, contentType, code, status, title, ...(field !== undefined && { field }) };
  }

  const jsonBody = (body: string) => ({ body, headers: { "content-type": "application/json" } });
  const VALID = { name: "ok", url: "http://127.0.0.1:9/", events: ["*"] };

  it("without a key is 401, on every route that wants one", async () => {
    const routes: [string, string][] = [
      ["POST", "/api/v1/events"],
      ["GET", "/api/v1/events"],
      ["GET", "/api/v1/events/evt_1"],
      ["POST", "/api/v1/events/evt_1/replay"],
      ["GET", "/api/v1/subscriptions"],
      ["POST", "/api/v1/subscriptions"],
      ["GET", "/api/v1/subscriptions/sub_1"],
      ["PATCH", "/api/v1/subscriptions/sub_1"],
      ["DELETE", "/api/v1/subscriptions/sub_1"],
      ["POST", "/api/v1/subscriptions/sub_1/pause"],
      ["POST", "/api/v1/subscriptions/sub_1/resume"],
      ["GET", "/api/v1/deliveries"],
      ["GET", "/api/v1/deliveries/dlv_1"],
      ["POST", "/api/v1/deliveries/dlv_1/retry"],
      ["POST", "/api/v1/deliveries/dlv_1/cancel"],
      ["GET", "/api/v1/dead-letters"],
      ["POST", "/api/v1/dead-letters/replay"],
      ["GET", "/api/v1/sources/shop/requests"],
      ["GET", "/api/v1/requests/req_1"],
      ["GET", "/status"],
      ["GET", "/metrics"],
    ];
    for (const [method, path] of routes) {
      const without = await nobody.request(method, path);
      expect([method, path, without.status]).toEqual([method, path, 401]);
      expect(problemOf(without)).toMatchObject(problem("unauthorized"));
      expect(without.headers.get("www-authenticate")).toBe("Bearer");
      const wrong = await gateway.as("phk_wrong").request(method, path);
      expect([method, path, wrong.status]).toEqual([method, path, 401]);
    }
  });

  it("takes a key from x-api-key too, and none from the URL", async () => {
    const byHeader = await nobody.request("GET", "/status", { headers: { "x-api-key": "test-admin-key-0123456789" } });
    expect(byHeader.status).toBe(200);
    expect((await nobody.get("/status?api_key=test-admin-key-0123456789")).status).toBe(401);
    const basic = { authorization: `Basic ${btoa("admin:test-admin-key-0123456789")}` };
    expect((await nobody.request("GET", "/status", { headers: basic })).status).toBe(401);
  });

  it("with a key of the wrong scope is 403", async () => {
    expect(problemOf(await reader.publish({ event_type: "a.b", payload: {} }))).toMatchObject(problem("forbidden"));
    expect(problemOf(await reader.post("/api/v1/subscriptions", VALID))).toMatchObject(problem("forbidden"));
    expect(problemOf(await reader.post("/api/v1/dead-letters/replay", { id: "dlv_1" }))).toMatchObject(
      problem("forbidden"),
    );
    expect(problemOf(await publisher.get("/api/v1/events"))).toMatchObject(problem("forbidden"));
    expect(problemOf(await publisher.get("/metrics"))).toMatchObject(problem("forbidden"));
    expect(problemOf(await publisher.request("DELETE", "/api/v1/subscriptions/sub_1"))).toMatchObject(
      problem("forbidden"),
    );
    expect((await reader.get("/api/v1/events")).status).toBe(200);
    expect((await publisher.publish({ event_type: "a.b", payload: {} })).status).toBe(202);
  });

  it("at a path that is not there is 404, with a method that is not there 405", async () => {
    expect(problemOf(await gateway.get("/api/v1/nothing"))).toMatchObject(problem("not_found"));
    expect(problemOf(await gateway.get("/webhook"))).toMatchObject(problem("not_found"));
    expect(problemOf(await gateway.request("QUERY", "/api/v1/nothing"))).toMatchObject(problem("not_found"));
    for (const [method, path, allow] of [
      ["PUT", "/api/v1/events", "GET, HEAD, POST"],
      ["DELETE", "/api/v1/events/evt_1", "GET, HEAD"],
      ["GET", "/api/v1/dead-letters/replay", "POST"],
      ["POST", "/api/v1/subscriptions/sub_1", "DELETE, GET, HEAD, PATCH, PUT"],
      ["POST", "/health", "GET, HEAD"],
      // Which Fastify refuses by itself without a content type.
      ["QUERY", "/", "GET, HEAD"],
      ["QUERY", "/api/v1/events", "GET, HEAD, POST"],
    ] as const) {
      const answer = await gateway.request(method, path);
      expect([method, path, answer.status]).toEqual([method, path, 405]);
      expect(problemOf(answer)).toMatchObject(problem("method_not_allowed"));
      expect(answer.headers.get("allow")).toBe(allow);
    }
  });

  // shows: B24, B39
  it("that cannot be read as JSON is 400 with the place", async () => {
    const published = await gateway.request("POST", "/api/v1/events", jsonBody('{"event_type": }'));
    expect(problemOf(published)).toMatchObject(problem("unreadable_body"));
    expect(published.json).toMatchObject({ line: 1, column: 16, position: 15 });
    expect(problemOf(await gateway.request("POST", "/api/v1/subscriptions", jsonBody('{"name": ')))).toMatchObject(
      problem("unreadable_body"),
    );
    expect(problemOf(await gateway.request("POST", "/api/v1/subscriptions", jsonBody("")))).toMatchObject(
      problem("unreadable_body"),
    );
    expect(problemOf(await gateway.request("POST", "/api/v1/events", jsonBody("")))).toMatchObject(
      problem("unreadable_body"),
    );
    const poisoned = jsonBody('{"__proto__":{"x":1},"name":"a","url":"http://127.0.0.1:9","events":["*"]}');
    expect((await gateway.request("POST", "/api/v1/subscriptions", poisoned)).status).toBeLessThan(500);
  });

  it("in an encoding that is not known is 415", async () => {
    const headers = { "content-encoding": "gzip", "content-type": "application/json" };
    for (const path of ["/webhook/any", "/api/v1/events", "/api/v1/subscriptions"]) {
      expect(problemOf(await gateway.request("POST", path, { body: "{}", headers }))).toMatchObject(
        problem("unsupported_encoding"),
      );
      expect(
        problemOf(
          await gateway.request("POST", path, { body: "{}", headers: { ...headers, "content-encoding": "br, gzip" } }),
        ),
      ).toMatchObject(problem("unsupported_encoding"));
    }
    const transfer = await openRawSocket(gateway.port);
    transfer.write("POST /webhook/any HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
    expect((await transfer.answer()).status).toBe(415);
    transfer.destroy();
    const identity = { ...headers, "content-encoding": "identity" };
    expect((await gateway.request("POST", "/webhook/any", { body: "{}", headers: identity })).status).toBe(202);
    const form = { body: "a=1", headers: { "content-type": "application/x-www-form-urlencoded" } };
    expect(problemOf(await gateway.request("POST", "/api/v1/subscriptions", form))).toMatchObject(
      problem("unsupported_content_type"),
    );
  });

  it("in a field of a published event is 422 naming the field", async () => {
    const cases: [Record<string, unknown> | unknown[], string | undefined][] = [
      [{ payload: {} }, "event_type"],
      [{ event_type: "a b", payload: {} }, "event_type"],
      [{ event_type: "a..b", payload: {} }, "event_type"],
      [{ event_type: "a.b" }, "payload"],
      [{ event_type: "a.b", payload: [] }, "payload"],
      [{ event_type: "a.b", payload: null }, "payload"],
      [{ event_type: "a.b", payload: {}, event_id: "with.dot" }, "event_id"],
      [{ event_type: "a.b", payload: {}, event_id: "x".repeat(129) }, "event_id"],
      [{ event_type: "a.b", payload: {}, priority: "urgent" }, "priority"],
      [{ event_type: "a.b", payload: {}, deliver_at: "tomorrow" }, "deliver_at"],
      [{ event_type: "a.b", payload: {}, expires_at: 5 }, "expires_at"],
      [{ event_type: "a.b", payload: {}, timestamp: "2026-02-30T00:00:00Z" }, "timestamp"],
      [{ event_type: "a.b", payload: {}, metadata: "x" }, "metadata"],
      [{ event_type: "a.b", payload: {}, tenant_id: {} }, "tenant_id"],
      [{ event_type: "a.b", payload: {}, ordering_key: 5 }, "ordering_key"],
      [{ event_type: "a.b", payload: {}, colour: "red" }, "colour"],
    ];
    for (const [event, field] of cases)
      expect(problemOf(await gateway.publish(event))).toMatchObject(problem("invalid_field", field));
    for (const event of [5, "x", null, true])
      expect(problemOf(await gateway.publish(event))).toMatchObject(problem("invalid_field"));
  });

  it("with NUL in an id, a name or a type is 422", async () => {
    const event = { event_type: "a.b", payload: {} };
    for (const field of ["event_id", "event_type", "source", "tenant_id", "ordering_key", "user_id", "source_id"]) {
      expect(problemOf(await gateway.publish({ ...event, [field]: "a\0b" }))).toMatchObject(
        problem("invalid_field", field),
      );
    }
    for (const field of ["name", "tenant_id", "description"]) {
      expect(problemOf(await gateway.post("/api/v1/subscriptions", { ...VALID, [field]: "a\0b" }))).toMatchObject(
        problem("invalid_field", field),
      );
    }
    expect(problemOf(await gateway.post("/api/v1/subscriptions", { ...VALID, events: ["a.\0"] }))).toMatchObject(
      problem("invalid_field", "events[0]"),
    );
    expect(problemOf(await gateway.webhook("shop", '{"id":"a\\u0000b"}'))).toMatchObject(
      problem("invalid_field", "id"),
    );
    expect(problemOf(await gateway.webhook("shop", '{"id":"a","key":"\\u0000"}'))).toMatchObject(
      problem("invalid_field", "ordering_key"),
    );
    expect(problemOf(await gateway.webhook("shop", '{"id":"a\\ud800b"}'))).toMatchObject(
      problem("invalid_field", "id"),
    );
    for (const path of ["events/a%00b", "subscriptions/a%00b", "deliveries/a%00b", "requests/a%00b"]) {
      expect(problemOf(await gateway.get(`/api/v1/${path}`))).toMatchObject(problem("not_found"));
    }
    for (const path of ["events?source=%00", "events?event_type=%00", "events?tenant_id=%00"]) {
      expect((await gateway.get(`/api/v1/${path}`)).status).toBeLessThan(500);
    }
  });

  it("in a field of a subscription is 422 naming the field", async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ name: undefined }, "name"],
      [{ name: "" }, "name"],
      [{ url: "not a url" }, "url"],
      [{ url: "ftp://example.com/" }, "url"],
      [{ url: "https://user:pw@example.com/" }, "url"],
      [{ events: [] }, "events"],
      [{ events: ["a..b"] }, "events[0]"],
      [{ retry_policy: "never" }, "retry_policy"],
      [{ retry_policy: { delays_s: [-1] } }, "retry_policy.delays_s.0"],
      [{ retry_policy: "dairy", retry_count: 3 }, "retry_policy"],
      [{ timeout: 0 }, "timeout"],
      [{ concurrency: 1.5 }, "concurrency"],
      [{ secret: "short" }, "secret"],
      [{ headers: { Host: "x" } }, "headers.Host"],
      [{ headers: { "X-A": "line\nbreak" } }, "headers.X-A"],
      [{ colour: "red" }, "colour"],
      [{ status: "suspended" }, "status"],
      [{ rate_limit: 0 }, "rate_limit"],
      [{ max_age_s: "1" }, "max_age_s"],
    ];
    for (const [change, field] of cases) {
      const answer = await gateway.post("/api/v1/subscriptions", { ...VALID, ...change });
      expect([change, answer.json["field"]]).toEqual([change, field]);
      expect(problemOf(answer)).toMatchObject(problem("invalid_field", field));
    }
    expect((await gateway.get("/api/v1/subscriptions")).json["data"]).toEqual([]);
  });

  it("in a query is 422 naming the parameter", async () => {
    for (const [path, field] of [
      ["events?limit=0", "limit"],
      ["events?limit=abc", "limit"],
      ["events?limit=501", "limit"],
      ["events?cursor=zzz", "cursor"],
      ["events?cursor=1.2", "cursor"],
      ["events?since=yesterday", "since"],
      ["events?colour=red", "colour"],
      ["deliveries?status=lost", "status"],
      ["deliveries?cursor=1", "cursor"],
      ["dead-letters?cursor=1.1", "cursor"],
      ["dead-letters?status=dead", "status"],
      ["sources/shop/requests?cursor=-1", "cursor"],
    ] as const) {
      expect(problemOf(await gateway.get(`/api/v1/${path}`))).toMatchObject(problem("invalid_field", field));
    }
    expect(problemOf(await gateway.get("/api/v1/deliveries?subscription_id=sub_none"))).toMatchObject(
      problem("not_found"),
    );
  });

  it("that has no body where one is needed says so, and names no field", async () => {
    const { status, json } = await gateway.request("POST", "/api/v1/subscriptions");
    expect([status, json["code"], json["detail"]]).toEqual([
      422,
      "invalid_field",
      expect.stringMatching(/^The request has no body\. Send a JSON object/),
    ]);
    expect(json).not.toHaveProperty("field");
  });

  it("that names what is not there is 404", async () => {
    for (const path of [
      "events/evt_none",
      "deliveries/dlv_none",
      "deliveries/none",
      "requests/req_none",
      "subscriptions/sub_none",
      "sources/-not-a-name/requests",
    ]) {
      expect(problemOf(await gateway.get(`/api/v1/${path}`))).toMatchObject(problem("not_found"));
    }
    expect(problemOf(await gateway.post("/api/v1/deliveries/dlv_none/retry"))).toMatchObject(problem("not_found"));
    expect(problemOf(await gateway.post("/api/v1/deliveries/dlv_none/cancel"))).toMatchObject(problem("not_found"));
    expect(problemOf(await gateway.post("/api/v1/dead-letters/replay", { id: "dlv_none" }))).toMatchObject(
      problem("not_found"),
    );
    expect(problemOf(await gateway.post("/api/v1/events/evt_none/replay"))).toMatchObject(problem("not_found"));
    expect(problemOf(await gateway.request("DELETE", "/api/v1/subscriptions/sub_none"))).toMatchObject(
      problem("not_found"),
    );
  });

  it("in the URL itself is no server error", async () => {
    for (const path of ["/api/v1/events/%zz", "/%", "/api/v1/events?limit=%zz", `/api/v1/events/${"x".repeat(5000)}`]) {
      const answer = await gateway.get(path);
      expect([path.slice(0, 40), answer.status]).toEqual([
        path.slice(0, 40),
        expect.toSatisfy((n) => n >= 400 && n < 500),
      ]);
      expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    }
  });
});
