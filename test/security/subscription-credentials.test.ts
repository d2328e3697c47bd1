import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** None of these names tells that it holds a secret. */
const HEADERS = { "X-Functions-Key": "canary-fk-11", "X-Site": "canary-site-22", "x-sas": "canary-sas-33" };
const MASKED = { "X-Functions-Key": "***", "X-Site": "***", "x-sas": "***" };
const JSON_TYPE = { "content-type": "application/json" };

describe("what a subscription sends to its destination alone", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let other: SinkServer;

  beforeEach(async () => {
    [gateway, sink, other] = await Promise.all([startTestGateway(), openSinkServer(), openSinkServer()]);
  });
  afterEach(() => Promise.all([gateway.close(), sink.close(), other.close()]));

  const send = (method: string, id: string, body: object) =>
    gateway.request(method, `/api/v1/subscriptions/${id}`, { body: JSON.stringify(body), headers: JSON_TYPE });
  const settingsOf = (name: string, url: string) => ({ name, url, events: ["*"] });

  it("does not follow a redirect to another origin, nor from there back", async () => {
    sink.answerWith(({ path }) => {
      if (path === "/first") return { redirectTo: "/second", status: 307 };
      return path === "/second" ? { redirectTo: `${other.url}/third`, status: 307 } : { status: 200 };
    });
    other.answerWith({ redirectTo: `${sink.url}/back`, status: 307 });
    const auth = { type: "bearer", token: "canary-token-44" };
    await gateway.subscribe({ name: "a", url: `${sink.url}/first`, headers: HEADERS, auth });
    await gateway.publish({ event_type: "a.b", payload: { n: 1 } });
    await gateway.settled();
    const [first, second, back] = sink.requests;
    const own = { "x-functions-key": "canary-fk-11", authorization: "Bearer canary-token-44" };
    // The control: the same headers do reach the destination itself, also by a redirect within its origin.
    for (const request of [first, second]) expect(request?.headers).toMatchObject(own);
    expect([back?.path, other.requests[0]?.path]).toEqual(["/back", "/third"]);
    for (const request of [other.requests[0], back]) {
      expect(request?.headers).toMatchObject({ "webhook-id": expect.any(String), "x-posthorn-hops": "1" });
      expect(JSON.stringify(request?.headers)).not.toContain("canary");
      expect(request?.body).toEqual(first?.body);
    }
  });

  it("is shown to no key and stands in no file", async () => {
    const made = await gateway.subscribe({ name: "a", url: sink.url, headers: HEADERS });
    await gateway.publish({ event_type: "a.b", payload: {} });
    await gateway.settled();
    expect(sink.requests[0]?.headers).toMatchObject({ "x-sas": "canary-sas-33" });
    expect(made["headers"]).toEqual(MASKED);
    const [delivery] = await gateway.deliveries();
    const { attempts } = await gateway.delivery(delivery?.id ?? "");
    expect(attempts[0]?.["request_headers"]).toMatchObject(MASKED);
    const tried = await gateway.post(`/api/v1/subscriptions/${made.id}/test`);
    expect(tried.text).toContain('"X-Site":"***"');
    for (const scope of ["read", "admin"] as const) {
      const client = gateway.as(await gateway.createKey([scope]));
      for (const path of ["subscriptions", `subscriptions/${made.id}`, `deliveries/${delivery?.id}`, "events/export"]) {
        expect((await client.get(`/api/v1/${path}`)).text).not.toContain("canary");
      }
    }
    await gateway.stop();
    for (const file of readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const bytes = readFileSync(join(file.parentPath, file.name));
      expect([file.name, bytes.includes("canary")]).toEqual([file.name, false]);
    }
    await gateway.restart();
    await gateway.publish({ event_type: "a.b", payload: {} });
    await gateway.settled();
    expect(sink.requests.at(-1)?.headers).toMatchObject({ "x-sas": "canary-sas-33" });
  });

  it("stays what it was when it comes back as it was shown, and never becomes the mask itself", async () => {
    const auth = { type: "basic", username: "u", password: "canary-pw-55" };
    const { id } = await gateway.subscribe({ name: "a", url: sink.url, headers: HEADERS, auth });
    const shown = { type: "basic", username: "u", password: "***" };
    expect((await send("PATCH", id, { headers: { ...MASKED, "X-New": "n" }, auth: shown })).status).toBe(200);
    expect((await send("PUT", id, { ...settingsOf("b", sink.url), headers: MASKED, auth: shown })).status).toBe(200);
    await gateway.publish({ event_type: "a.b", payload: {} });
    await gateway.settled();
    expect(sink.requests[0]?.headers).toMatchObject({
      "x-functions-key": "canary-fk-11",
      "x-site": "canary-site-22",
      authorization: `Basic ${Buffer.from("u:canary-pw-55").toString("base64")}`,
    });
    const unknown = await send("PATCH", id, { headers: { "X-Unknown": "***" } });
    expect(unknown).toMatchObject({ status: 422, json: { field: "headers.X-Unknown" } });
    const otherType = await send("PATCH", id, { auth: { type: "bearer", token: "***" } });
    expect(otherType).toMatchObject({ status: 422, json: { field: "auth.token" } });
  });

  it("is not sent to a token endpoint at another origin", async () => {
    const auth = { type: "oauth2", token_url: `${sink.url}/token`, client_id: "c", client_secret: "canary-cs-66" };
    const { id } = await gateway.subscribe({ name: "a", url: sink.url, auth });
    const shown = { ...auth, client_secret: "***" };
    expect((await send("PATCH", id, { auth: { ...shown, scope: "x" } })).status).toBe(200);
    const moved = await send("PATCH", id, { auth: { ...shown, token_url: `${other.url}/token` } });
    expect(moved).toMatchObject({ status: 422, json: { field: "auth.client_secret" } });
  });

  it("must be given again, or taken away, when the destination moves to another origin", async () => {
    const auth = { type: "bearer", token: "canary-token-44" };
    const { id } = await gateway.subscribe({ name: "a", url: `${sink.url}/a`, headers: HEADERS, auth });
    const url = `${other.url}/b`;
    const refusals: [string, object, string][] = [
      ["PATCH", { url }, "headers"],
      ["PATCH", { url, headers: MASKED, auth }, "headers"],
      ["PATCH", { url, headers: { ...HEADERS, "x-sas": "***" }, auth }, "headers"],
      ["PATCH", { url, headers: HEADERS }, "auth"],
      ["PATCH", { url, headers: null, auth: { ...auth, token: "***" } }, "auth"],
      ["PUT", { ...settingsOf("a", url), headers: MASKED }, "headers"],
      ["PUT", { ...settingsOf("a", url), auth: { ...auth, token: "***" } }, "auth"],
    ];
    for (const [method, body, field] of refusals) {
      expect([body, await send(method, id, body)]).toMatchObject([body, { status: 422, json: { field } }]);
    }
    // The control: within the origin nothing has to be said, and elsewhere it is enough to say it.
    expect((await send("PATCH", id, { url: `${sink.url}/c` })).status).toBe(200);
    expect((await send("PATCH", id, { url, headers: { "X-Site": "new" }, auth: null })).status).toBe(200);
    await gateway.publish({ event_type: "a.b", payload: {} });
    await until(() => Promise.resolve(other.requests.length === 1));
    expect(other.requests[0]?.headers).toMatchObject({ "x-site": "new" });
    expect(JSON.stringify([other.requests[0]?.headers, sink.requests])).not.toContain("canary");
    expect((await send("PATCH", id, { url: `${sink.url}/d`, headers: null })).json).toMatchObject({ headers: {} });
    expect((await send("PUT", id, settingsOf("a", url))).status).toBe(200);
  });
});
