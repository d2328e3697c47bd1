import { DatabaseSync } from "@photostructure/sqlite";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { CLIENT_PAIR, OTHER_KEY, SERVER_PAIR, TEST_CA, WRONG_HOST_PAIR } from "../support/certificates.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { openConnectProxy } from "../support/connect-proxy.ts";
import { openSinkServer, type SinkAnswer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

function readSettings(dataDir: string): string[] {
  const db = new DatabaseSync(join(dataDir, "posthorn.db"));
  const rows = db.prepare("select data from records where kind = 'subscription'").all() as { data: string }[];
  db.close();
  return rows.map(({ data }) => data);
}

const CANARY = "canary-0123456789";
const once = { retry_policy: { delays_s: [] } };

describe("destination auth", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let number = 0;
  let name = "";
  let type = "";

  beforeAll(async () => {
    gateway = await startTestGateway({ env: { LOG_LEVEL: "trace" } });
  });
  afterAll(() => gateway.close());
  beforeEach(async () => {
    name = `auth ${number++}`;
    type = `auth.event${number}`;
    sink = await openSink();
  });

  async function openSink(...options: Parameters<typeof openSinkServer>): Promise<SinkServer> {
    const opened = await openSinkServer(...options);
    onTestFinished(() => opened.close());
    return opened;
  }

  /** An endpoint for tokens that gives t1, t2, …, and a destination that knows which are good. */
  async function openOAuth(isGood: (token: string) => boolean, tokenAnswer?: (n: number) => SinkAnswer) {
    const endpoint = await openSink({
      answer: (_, index) =>
        tokenAnswer?.(index + 1) ?? {
          status: 200,
          body: JSON.stringify({ access_token: `${CANARY}-t${index + 1}`, token_type: "Bearer", expires_in: 3600 }),
        },
    });
    sink.answerWith(({ headers }) => ({
      status: isGood(String(headers["authorization"]).replace(`Bearer ${CANARY}-`, "")) ? 200 : 401,
    }));
    const auth = {
      type: "oauth2",
      token_url: `${endpoint.url}/token`,
      client_id: "client:1",
      client_secret: `${CANARY} +secret`,
      scope: "hooks write",
    };
    return { endpoint, auth };
  }

  async function deliver(): Promise<Awaited<ReturnType<TestGateway["deliveryOf"]>>> {
    const { json } = await gateway.publish({ event_type: type, payload: {} });
    await gateway.settled();
    return gateway.deliveryOf(String(json["event_id"]));
  }

  it.each<[string, object, string]>([
    ["basic", { username: "ä user", password: CANARY }, `Basic ${Buffer.from(`ä user:${CANARY}`).toString("base64")}`],
    ["bearer", { token: CANARY }, `Bearer ${CANARY}`],
  ])("of the type %s is sent, and shown nowhere", async (kind, fields, expected) => {
    const created = await gateway.subscribe({ name, url: sink.url, events: [type], auth: { type: kind, ...fields } });
    expect(created["auth"]).toMatchObject({ type: kind, [kind === "basic" ? "password" : "token"]: "***" });
    const delivery = await deliver();
    expect(sink.requests[0]?.headers["authorization"]).toBe(expected);
    expect(delivery.attempts[0]?.["request_headers"]).toMatchObject({ Authorization: "***" });
    expect(JSON.stringify([created, delivery])).not.toContain(CANARY);
    expect((await gateway.get("/api/v1/subscriptions?limit=500")).text).not.toContain(CANARY);
  });

  it("by client credentials fetches one token for many, and keeps it", async () => {
    const { endpoint, auth } = await openOAuth((token) => token === "t1");
    await gateway.subscribe({ name, url: sink.url, events: [type], auth });
    await gateway.publish(Array.from({ length: 30 }, () => ({ event_type: type, payload: {} })));
    await gateway.settled();
    expect([endpoint.requests.length, sink.requests.length]).toEqual([1, 30]);
    const [request] = endpoint.requests;
    const [id, secret] = Buffer.from(String(request?.headers["authorization"]).slice(6), "base64")
      .toString()
      .split(":");
    // RFC 6749 §2.3.1: each is form-encoded before the two are joined.
    expect([id, secret]).toEqual(["client%3A1", `${CANARY}+%2Bsecret`]);
    expect(Object.fromEntries(new URLSearchParams(request?.body.toString()))).toEqual({
      grant_type: "client_credentials",
      scope: "hooks write",
    });
    expect((await deliver()).attempts[0]?.["request_headers"]).toMatchObject({ Authorization: "***" });
  });

  it("by client credentials may put them into the body, with an audience", async () => {
    const { endpoint, auth } = await openOAuth(() => true);
    const inBody = { ...auth, client_auth: "body", audience: "https://api.example" };
    await gateway.subscribe({ name, url: sink.url, events: [type], auth: inBody });
    await deliver();
    expect(endpoint.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(Object.fromEntries(new URLSearchParams(endpoint.requests[0]?.body.toString()))).toMatchObject({
      client_id: "client:1",
      client_secret: `${CANARY} +secret`,
      audience: "https://api.example",
    });
  });

  it("fetches another token on 401 and repeats the attempt once", async () => {
    const { endpoint, auth } = await openOAuth((token) => token === "t2");
    await gateway.subscribe({ name, url: sink.url, events: [type], auth, ...once });
    const delivery = await deliver();
    expect([delivery.status, delivery.attempt_count]).toEqual(["delivered", 1]);
    expect([endpoint.requests.length, sink.requests.length]).toEqual([2, 2]);
    expect(sink.requests[1]?.headers["webhook-id"]).toBe(sink.requests[0]?.headers["webhook-id"]);
  });

  it("takes a second 401 for an answer, and does not ask for a token at each of the next", async () => {
    const { endpoint, auth } = await openOAuth(() => false);
    await gateway.subscribe({ name, url: sink.url, events: [type], auth });
    const delivery = await deliver();
    expect([delivery.status, delivery.dead_reason]).toEqual(["dead", "refused"]);
    expect(delivery.attempts.map(({ response_code: code }) => code)).toEqual([401]);
    for (let n = 0; n < 5; n++) await deliver();
    expect([endpoint.requests.length, sink.requests.length]).toEqual([2, 7]);
  });

  it.each<[string, SinkAnswer, string]>([
    [
      "says 401",
      { status: 401, body: `{"error":"invalid_client","secret":"${CANARY}"}` },
      "answered 401 (invalid_client)",
    ],
    ["says 500", { status: 500, body: CANARY }, "answered 500"],
    ["redirects", { redirectTo: "/elsewhere" }, "answered 307"],
    ["gives no token", { status: 200, body: "{}" }, "without an access_token"],
    ["gives no JSON", { status: 200, body: "<html>" }, "without an access_token"],
    ["gives a token with a line break", { status: 200, body: '{"access_token":"a\\nb"}' }, "without an access_token"],
    ["gives another kind of token", { status: 200, body: '{"access_token":"a","token_type":"mac"}' }, "not a bearer"],
    ["resets", "reset", "connection reset"],
  ])("is retried and is no dead letter of the destination when the token endpoint %s", async (_, answer, error) => {
    const { endpoint, auth } = await openOAuth(
      () => true,
      (n) => (n === 1 ? answer : { status: 200, body: `{"access_token":"ok","expires_in":60}` }),
    );
    await gateway.subscribe({ name, url: sink.url, events: [type], auth, retry_policy: { delays_s: [0.01] } });
    const delivery = await deliver();
    expect([delivery.status, delivery.attempt_count]).toEqual(["delivered", 2]);
    const [failed] = delivery.attempts;
    expect(failed).toMatchObject({ result: "connection_error", response_code: null });
    expect(String(failed?.["error"])).toContain("token endpoint: ");
    expect(String(failed?.["error"])).toContain(error);
    expect(JSON.stringify(delivery)).not.toContain(CANARY);
    expect([endpoint.requests.length, sink.requests.length]).toEqual([2, 1]);
  });

  it("ends within the attempt's time, also when no token comes", async () => {
    const { endpoint, auth } = await openOAuth(
      () => true,
      () => "hang",
    );
    await gateway.subscribe({ name, url: sink.url, events: [type], auth, timeout: 9, ...once });
    const delivered = deliver();
    await endpoint.received(1);
    gateway.moveClock(9_500);
    const [attempt] = (await delivered).attempts;
    expect(attempt).toMatchObject({ result: "timeout", error: expect.stringContaining("token endpoint") });
    expect(sink.requests).toHaveLength(0);
  });

  it("fetches a token anew shortly before the old one ends", async () => {
    const short = (n: number): SinkAnswer => ({ status: 200, body: `{"access_token":"t${n}","expires_in":3600}` });
    const { endpoint, auth } = await openOAuth(() => true, short);
    await gateway.subscribe({ name, url: sink.url, events: [type], auth });
    await deliver();
    await deliver();
    expect(endpoint.requests).toHaveLength(1);
    gateway.moveClock(3_599_000);
    await deliver();
    expect(endpoint.requests).toHaveLength(2);
    expect(sink.requests.at(-1)?.headers["authorization"]).toBe("Bearer t2");
  });

  it("shows a client certificate, and believes a custom authority", async () => {
    const tls = { ...SERVER_PAIR, ca: TEST_CA, requestCert: true, rejectUnauthorized: true };
    const mutual = await openSink({ tls });
    const auth = { type: "mtls", ...CLIENT_PAIR, ca: TEST_CA };
    const created = await gateway.subscribe({ name, url: mutual.url, events: [type], auth });
    expect(created["auth"]).toEqual({ type: "mtls", cert: CLIENT_PAIR.cert, key: "***", ca: TEST_CA });
    expect((await deliver()).status).toBe("delivered");
    expect(mutual.requests[0]?.clientName).toBe("posthorn");
    await gateway.restart();
    expect((await deliver()).status).toBe("delivered");
  });

  it("is believed by `ca` alone, and not without it", async () => {
    const secure = await openSink({ tls: SERVER_PAIR });
    await gateway.subscribe({ name, url: secure.url, events: [type], auth: { type: "ca", ca: TEST_CA } });
    expect((await deliver()).status).toBe("delivered");
    await gateway.subscribe({ name: `${name} b`, url: secure.url, events: [`${type}b`], ...once });
    type = `${type}b`;
    expect((await deliver()).attempts[0]).toMatchObject({ result: "connection_error" });
  });

  it("can be changed and taken away", async () => {
    const created = await gateway.subscribe({
      name,
      url: sink.url,
      events: [type],
      auth: { type: "bearer", token: "one" },
    });
    const patch = (body: object) =>
      gateway.request("PATCH", `/api/v1/subscriptions/${created.id}`, {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      });
    await patch({ timeout: 5 });
    await deliver();
    expect((await patch({ auth: { type: "basic", username: "u", password: "***" } })).json["field"]).toBe(
      "auth.password",
    );
    // As it was shown: it stays what it was.
    expect((await patch({ auth: { type: "bearer", token: "***" } })).status).toBe(200);
    await deliver();
    await patch({ auth: { type: "bearer", token: "two" } });
    await deliver();
    expect((await patch({ auth: null })).json["auth"]).toBeNull();
    await deliver();
    expect(sink.requests.map(({ headers }) => headers["authorization"])).toEqual([
      "Bearer one",
      "Bearer one",
      "Bearer two",
      undefined,
    ]);
  });

  it.each<[string, object, string, string]>([
    ["an unknown type", { auth: { type: "digest" } }, "auth.type", "must be one of"],
    ["a missing field", { auth: { type: "basic", username: "u" } }, "auth.password", "is missing"],
    [
      "a field of another type",
      { auth: { type: "bearer", token: "t", username: "u" } },
      "auth.username",
      "does not belong",
    ],
    ["an unknown field", { auth: { type: "bearer", token: "t", realm: "r" } }, "auth.realm", "not a known field"],
    [
      "a colon in the user name",
      { auth: { type: "basic", username: "a:b", password: CANARY } },
      "auth.username",
      "colon",
    ],
    ["a token with a space", { auth: { type: "bearer", token: `${CANARY} b` } }, "auth.token", "printable ASCII"],
    ["a NUL", { auth: { type: "basic", username: "u", password: `${CANARY}\0` } }, "auth.password", "control"],
    [
      "a token URL that is none",
      { auth: { type: "oauth2", token_url: "x", client_id: "c", client_secret: CANARY } },
      "auth.token_url",
      "not a URL",
    ],
    [
      "a token URL of a cloud's metadata",
      { auth: { type: "oauth2", token_url: "http://169.254.169.254/", client_id: "c", client_secret: CANARY } },
      "auth.token_url",
      "link-local",
    ],
    ["a certificate that is none", { auth: { type: "mtls", cert: "x", key: CANARY } }, "auth.cert", "no certificate"],
    [
      "a broken certificate",
      { auth: { type: "mtls", cert: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", key: CANARY } },
      "auth.cert",
      "cannot be read",
    ],
    [
      "a key that is none",
      { auth: { type: "mtls", cert: CLIENT_PAIR.cert, key: CANARY } },
      "auth.key",
      "cannot be read",
    ],
    [
      "a key of another certificate",
      { auth: { type: "mtls", cert: CLIENT_PAIR.cert, key: WRONG_HOST_PAIR.key } },
      "auth.key",
      "not the private key",
    ],
    [
      "a key of none",
      { auth: { type: "mtls", cert: CLIENT_PAIR.cert, key: OTHER_KEY } },
      "auth.key",
      "not the private key",
    ],
    ["an authority that is none", { auth: { type: "ca", ca: "trust me" } }, "auth.ca", "no certificate"],
    ["a key among the authorities", { auth: { type: "ca", ca: TEST_CA + OTHER_KEY } }, "auth.ca", "private key"],
    [
      "auth beside a header for it",
      { auth: { type: "bearer", token: CANARY }, headers: { authorization: CANARY } },
      "headers.authorization",
      "one of the two",
    ],
    ["an address that is no CIDR", { allowed_ips: ["203.0.113.0/24", "10.0.0.0/33"] }, "allowed_ips[1]", "not a CIDR"],
    ["an empty list of addresses", { allowed_ips: [] }, "allowed_ips", "fewer than 1"],
    [
      "addresses that exclude the url's",
      { allowed_ips: ["203.0.113.0/24"] },
      "allowed_ips",
      "does not contain 127.0.0.1",
    ],
  ])("is rejected with the field and the reason for %s", async (_, settings, field, reason) => {
    const answer = await gateway.post("/api/v1/subscriptions", { name, url: sink.url, events: [type], ...settings });
    expect([answer.status, answer.json["field"]]).toEqual([422, field]);
    expect(answer.json["detail"]).toContain(reason);
    expect(answer.text).not.toContain(CANARY);
    expect((await gateway.get("/api/v1/subscriptions?limit=500")).text).not.toContain(`"${name}"`);
  });

  it("and credential headers are encrypted at rest, and sent as they were given after a restart", async () => {
    const headers = { "X-Team": "red", Authorization: `Bearer ${CANARY}-header`, "X-Api-Key": `${CANARY}-key` };
    const auth = { type: "mtls", ...CLIENT_PAIR };
    const created = await gateway.subscribe({ name, url: sink.url, events: [type], headers, auth });
    const secretLine = CLIENT_PAIR.key.split("\n")[1] ?? "?";
    await gateway.stop();
    const found = (texts: readonly string[]) =>
      readdirSync(gateway.dataDir).flatMap((file) => {
        const bytes = readFileSync(join(gateway.dataDir, file));
        return texts.filter((text) => bytes.includes(text));
      });
    expect(found([`${CANARY}-header`, `${CANARY}-key`, secretLine])).toEqual([]);
    await gateway.restart();
    await gateway.publish({ event_type: type, payload: {} });
    await gateway.settled();
    for (const request of sink.requests) {
      expect(request.headers).toMatchObject({ authorization: `Bearer ${CANARY}-header`, "x-api-key": `${CANARY}-key` });
      const sent = request.rawHeaders.filter((_, at) => at % 2 === 0);
      expect(sent.filter((header) => header in headers)).toEqual(Object.keys(headers));
    }
    expect(sink.requests).toHaveLength(1);
    await gateway.stop();
    expect(readSettings(gateway.dataDir).filter((settings) => settings.includes(CANARY))).toEqual([]);
    await collectGarbage();
    await gateway.restart();
    expect(await gateway.get(`/api/v1/subscriptions/${created.id}`)).toMatchObject({ status: 200 });
  });

  it("never shows in the log", () => {
    expect(gateway.logText()).not.toContain(CANARY);
  });
});

describe("allowed_ips of a subscription", () => {
  // shows: C53
  it("block what leads elsewhere, and say so", async () => {
    const [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
    const url = `http://localhost:${sink.port}/`;
    await gateway.subscribe({ name: "in", url, events: ["in.event"], allowed_ips: ["127.0.0.0/8"] });
    const out = await gateway.subscribe({ name: "out", url, events: ["out.event"], allowed_ips: ["203.0.113.0/24"] });
    expect(out["allowed_ips"]).toEqual(["203.0.113.0/24"]);
    await gateway.publish([
      { event_type: "in.event", payload: {}, event_id: "in" },
      { event_type: "out.event", payload: {}, event_id: "out" },
    ]);
    await gateway.settled();
    expect((await gateway.deliveryOf("in")).status).toBe("delivered");
    expect(await gateway.deliveryOf("out")).toMatchObject({
      status: "dead",
      dead_reason: "blocked",
      attempts: [{ result: "blocked", error: expect.stringContaining("allowed_ips") }],
    });
    expect(sink.requests).toHaveLength(1);
  });
});

describe("POSTHORN_EGRESS_PROXY", () => {
  it("is the way of all deliveries, and its faults are not the destination's", async () => {
    const sink = await openSinkServer();
    let works = false;
    const proxy = await openConnectProxy(() => (works ? sink.port : "HTTP/1.1 503 Busy\r\n\r\n"));
    const gateway = await startTestGateway({
      env: { EGRESS_PROXY: proxy.url.replace("//", `//user:${CANARY}@`), LOG_LEVEL: "trace" },
    });
    onTestFinished(() => Promise.all([gateway.close(), sink.close(), proxy.close()]).then(() => undefined));
    const retry_policy = { delays_s: [0.01, 0.01, 0.01, 0.01, 0.01, 60] };
    await gateway.subscribe({ name: "far", url: "http://192.168.77.1:9999/hook", retry_policy });
    await gateway.publish({ event_type: "a.b", payload: {}, event_id: "one" });
    await until(async () => (await gateway.deliveryOf("one")).attempt_count === 6);
    const failed = await gateway.deliveryOf("one");
    expect(new Set(failed.attempts.map(({ result }) => result))).toEqual(new Set(["error"]));
    expect([failed.status, failed.hold_reason]).toEqual(["pending", null]);
    works = true;
    await gateway.publish({ event_type: "a.b", payload: {}, event_id: "two" });
    await sink.received(1);
    await until(async () => (await gateway.deliveryOf("two")).status === "delivered");
    expect((await gateway.deliveryOf("two")).attempts[0]).toMatchObject({ address: "192.168.77.1" });
    expect(proxy.asked.at(-1)).toEqual({
      authority: "192.168.77.1:9999",
      authorization: `Basic ${Buffer.from(`user:${CANARY}`).toString("base64")}`,
    });
    expect(sink.requests[0]?.headers["host"]).toBe("192.168.77.1:9999");
    expect(gateway.logText() + JSON.stringify(failed)).not.toContain(CANARY);
  });
});
