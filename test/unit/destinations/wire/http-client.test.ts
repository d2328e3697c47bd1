import { type AddressInfo, createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import type { Lookup } from "../../../../src/destinations/wire/names/name-lookup.ts";
import type { HttpClient, HttpRequest, HttpResult } from "../../../../src/destinations/wire/http.ts";
import { type HttpClientOptions, openHttpClient } from "../../../../src/destinations/wire/http-client.ts";
import { createSeededRandom } from "../../../support/seeded-random.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { createMovableTime } from "../../../support/movable-time.ts";
import { openSinkServer, SINK_CERTIFICATE, type SinkAnswer, type SinkServer } from "../../../support/sink-server.ts";

const BODY = Buffer.from('{"n":12345678901234567890}');
const HOUR_MS = 3_600_000;
const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function openSink(...options: Parameters<typeof openSinkServer>): Promise<SinkServer> {
  const sink = await openSinkServer(...options);
  opened.push(sink);
  return sink;
}

function openClient(options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = openHttpClient({
    guard: createAddressGuard({ allowPrivate: ["127.0.0.1/32"] }),
    allowHttp: true,
    clock: createSystemClock(),
    ...options,
  });
  opened.push(client);
  return client;
}

function post(client: HttpClient, url: string, more: Partial<HttpRequest> = {}): Promise<HttpResult> {
  const request = { method: "POST", url, headers: {}, body: BODY, timeoutMs: 10_000, ...more };
  return new Promise((resolve, reject) => {
    let calls = 0;
    client.request(request, (result) => {
      calls += 1;
      if (calls > 1) throw new Error("done was called twice");
      resolve(result);
    });
    if (calls > 0) reject(new Error("done was called before request returned"));
  });
}

/** Answers with these addresses, one list for each time that it is asked; the last one from then on. */
function scriptedLookup(...answers: string[][]): Lookup & { asked: number } {
  const lookup = Object.assign(
    ((_, __, done) => {
      const addresses = answers[Math.min(lookup.asked, answers.length - 1)] ?? [];
      lookup.asked += 1;
      setImmediate(() =>
        done(
          null,
          addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
        ),
      );
    }) as Lookup,
    { asked: 0 },
  );
  return lookup;
}

describe("a request", () => {
  it("arrives byte for byte, with no encodings asked for, and brings the answer back", async () => {
    const sink = await openSink({ answer: { status: 201, headers: { "x-a": ["1", "2"] }, body: "made" } });
    const result = await post(openClient(), `${sink.url}/hook?x=1`, { headers: { "X-One": "1" } });
    expect(result).toMatchObject({
      kind: "response",
      status: 201,
      headers: { "x-a": "1, 2" },
      body: new Uint8Array(Buffer.from("made")),
      address: "127.0.0.1",
      url: `${sink.url}/hook?x=1`,
    });
    const [request] = sink.requests;
    expect(request).toMatchObject({ method: "POST", path: "/hook?x=1", body: BODY });
    expect(request?.headers).toMatchObject({ "x-one": "1", "accept-encoding": "identity", "content-length": "26" });
  });

  it("is sent with an empty body, too", async () => {
    const sink = await openSink();
    expect(await post(openClient(), sink.url, { body: new Uint8Array(0) })).toMatchObject({ status: 200 });
    expect(sink.requests[0]?.headers["content-length"]).toBe("0");
  });

  it("uses the connections there are, and no more of them than allowed", async () => {
    const sink = await openSink({ answer: { status: 200, delayMs: 1 } });
    const client = openClient({ connectionsPerHost: 5 });
    const results = await Promise.all(Array.from({ length: 200 }, () => post(client, sink.url)));
    expect(results.every((result) => result.kind === "response")).toBe(true);
    expect(sink.requests).toHaveLength(200);
    expect(sink.accepted()).toBeLessThanOrEqual(5);
  });

  it("does not wait for all that another owner sends to the same host", async () => {
    const sink = await openSink({ answer: { status: 200, delayMs: 1 } });
    const client = openClient({ connectionsPerHost: 1 });
    const send = (owner: string) => post(client, sink.url, { owner, headers: { "x-owner": owner } });
    const flood = Array.from({ length: 50 }, () => send("loud"));
    await Promise.all([...flood, send("quiet"), send("quiet")]);
    expect(sink.requests.findLastIndex(({ headers }) => headers["x-owner"] === "quiet")).toBeLessThan(6);
  });

  it("ignores the proxies of the environment", async () => {
    for (const name of ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"]) vi.stubEnv(name, "http://127.0.0.1:9");
    const sink = await openSink();
    expect(await post(openClient(), sink.url)).toMatchObject({ kind: "response", status: 200 });
  });

  it("that cannot be written down is an error of ours", async () => {
    const sink = await openSink();
    const client = openClient();
    expect(await post(client, sink.url, { headers: { "bad name": "x" } })).toMatchObject({ kind: "error" });
    expect(await post(client, sink.url)).toMatchObject({ kind: "response" });
  });

  it("ends as an error when the client is closed, and so does any later one", async () => {
    const sink = await openSink({ answer: "hang" });
    const client = openClient({ connectionsPerHost: 1 });
    const results = [post(client, sink.url), post(client, sink.url)];
    await sink.received(1);
    await client.close();
    for (const result of await Promise.all(results)) {
      expect(result).toMatchObject({ kind: "error", error: "the gateway stopped" });
    }
    expect(await post(client, sink.url)).toMatchObject({ kind: "error" });
    await expect.poll(() => sink.open()).toBe(0);
  });
});

describe("the deadline", () => {
  it("for connecting is a shorter one", async () => {
    const client = openClient({ lookup: () => {}, connectTimeoutMs: 100 });
    expect(await post(client, "https://silent.test/")).toEqual({
      kind: "unreachable",
      error: "the host name was not looked up within 100 ms",
      address: undefined,
      response: undefined,
    });
  });
});

describe("an answer", () => {
  // shows: C39
  it("is cut when it does not end, and its status counts", async () => {
    const sink = await openSink({ answer: "flood" });
    const result = await post(openClient(), sink.url);
    expect(result).toMatchObject({ kind: "response", status: 200 });
    expect(result.kind === "response" && result.body.length).toBe(8192);
    await expect.poll(() => sink.open()).toBe(0);
  });

  it("of up to 64 KB is read to its end, so that the connection can be used again", async () => {
    const sink = await openSink({ answer: { status: 200, body: "x".repeat(60_000) } });
    const client = openClient();
    for (let at = 0; at < 3; at++) await post(client, sink.url);
    expect(sink.accepted()).toBe(1);
  });

  it("is never unpacked", async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    const sink = await openSink({ answer: { status: 200, headers: { "content-encoding": "gzip" }, body: bomb } });
    const result = await post(openClient(), sink.url);
    expect(result.kind === "response" && Buffer.from(result.body).equals(bomb.subarray(0, 8192))).toBe(true);
  });

  it.each<[string, SinkAnswer, string]>([
    ["a reset", "reset", "connection reset (ECONNRESET)"],
    ["a reset in the body", "reset in body", "connection"],
    ["an early end", "close", "connection closed before the answer was complete"],
    ["another protocol", { garbage: "SMTP ready\r\n\r\n" }, "HTTP"],
    ["endless headers", { status: 200, headers: { "x-long": "y".repeat(20_000) } }, "headers are too large"],
    ["an upgrade", { garbage: "HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n" }, "another protocol"],
  ])("that is none makes the destination unreachable: %s", async (_, answer, error) => {
    const sink = await openSink({ answer });
    const client = openClient();
    expect(await post(client, sink.url)).toMatchObject({ kind: "unreachable", error: expect.stringContaining(error) });
    expect(sink.requests).toHaveLength(1);
    sink.answerWith({ status: 200 });
    expect(await post(client, sink.url)).toMatchObject({ kind: "response", status: 200 });
  });

  it.each<[string, string, string]>([
    ["a status line", `HTTP/1.1 200 ${"x".repeat(1_000_000)}`, "headers are too large"],
    ["headers", `HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(100_000)}`, "headers are too large"],
    [
      "trailers",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"x-a: b\r\n".repeat(99_999)}`,
      "sent far more than",
    ],
    [
      "a chunk extension",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${"x".repeat(1_000_000)}`,
      "sent far more than",
    ],
    [
      "chunks of one byte",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(50_000)}`,
      "sent far more than",
    ],
    [
      "answers with 1xx",
      "HTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\n".repeat(20_000),
      "too many answers with a 1xx status",
    ],
    ["a status below 100", "HTTP/1.1 000 OK\r\ncontent-length: 0\r\n\r\n", "not HTTP"],
  ])("that has no end is cut off long before the deadline: %s", async (_, garbage, error) => {
    const sink = await openSink({ answer: { garbage } });
    const client = openClient();
    const result = await post(client, sink.url);
    expect(result).toMatchObject({ kind: "unreachable", error: expect.stringContaining(error) });
    sink.answerWith({ status: 200 });
    expect(await post(client, sink.url)).toMatchObject({ kind: "response", status: 200 });
  });

  it("may be announced by some answers with 1xx, and may come byte by byte", async () => {
    const bytes = Array.from({ length: 3000 }, (_, n) => `1\r\n${n % 10}\r\n`).join("");
    const answer = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${bytes}0\r\n\r\n`;
    const sink = await openSink({ answer: { garbage: "HTTP/1.1 102 Processing\r\n\r\n".repeat(50) + answer } });
    const result = await post(openClient(), sink.url);
    expect(result).toMatchObject({ kind: "response", status: 200 });
    expect(result.kind === "response" && Buffer.from(result.body).toString()).toBe("0123456789".repeat(300));
  });

  it("on a connection that its owner had just closed is asked for once more, and only once", async () => {
    const sink = await openSink();
    const client = openClient();
    await post(client, sink.url);
    sink.answerWith(({ connection }) => (connection === 1 ? "close" : { status: 202 }));
    expect(await post(client, sink.url)).toMatchObject({ kind: "response", status: 202 });
    expect(sink.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    sink.answerWith("reset");
    expect(await post(client, sink.url)).toMatchObject({ kind: "unreachable" });
    expect(sink.requests).toHaveLength(5);
  });

  it("comes from nobody at a closed port or an unknown name", async () => {
    const sink = await openSinkServer();
    await sink.close();
    expect(await post(openClient(), sink.url)).toMatchObject({
      kind: "unreachable",
      error: expect.stringMatching(/refused/),
    });
    const notFound = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
    const client = openClient({ lookup: (_, __, done) => done(notFound, []) });
    expect(await post(client, "https://nowhere.test/")).toMatchObject({
      kind: "unreachable",
      error: expect.stringMatching(/no address/),
    });
  });
});

describe("TLS", () => {
  const lookup = scriptedLookup(["127.0.0.1"]);

  it("is used where the certificate is trusted and names the host", async () => {
    const sink = await openSink({ tls: true });
    const client = openClient({ tls: { ca: SINK_CERTIFICATE }, lookup });
    for (const host of ["127.0.0.1", "sink.test"]) {
      const result = await post(client, `https://${host}:${sink.port}/`);
      expect(result).toMatchObject({ kind: "response", status: 200, address: "127.0.0.1" });
    }
    expect(await post(client, `https://other.test:${sink.port}/`)).toMatchObject({
      kind: "unreachable",
      error: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
    });
  });

  it("that is broken off in the handshake is a fault of the destination, and none of the guard's", async () => {
    const server = createServer((socket) => socket.on("error", () => {}).resetAndDestroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    opened.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
    const { port } = server.address() as AddressInfo;
    const client = openClient();
    const results = await Promise.all(Array.from({ length: 20 }, () => post(client, `https://127.0.0.1:${port}/`)));
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(["unreachable"]));
  });

  it("tells in plain words what went wrong", async () => {
    const plain = await openSink();
    const result = await post(openClient(), `https://127.0.0.1:${plain.port}/`);
    expect(result).toMatchObject({
      error: "the TLS handshake failed: wrong version number (ERR_SSL_WRONG_VERSION_NUMBER)",
    });
  });

  it("rejects a certificate that nobody vouches for, and a server without TLS", async () => {
    const [sink, plain] = [await openSink({ tls: true }), await openSink()];
    const client = openClient();
    expect(await post(client, sink.url)).toMatchObject({
      kind: "unreachable",
      error: expect.stringMatching(/CERT|certificate/i),
    });
    expect(await post(client, `https://127.0.0.1:${plain.port}/`)).toMatchObject({ kind: "unreachable" });
    expect([sink.requests.length, plain.requests.length]).toEqual([0, 0]);
  });
});

describe("the guard", () => {
  const noPrivate = createAddressGuard({ allowPrivate: false });

  it.each(["http://127.0.0.1", "http://127.1", "http://0x7f000001", "http://[::ffff:127.0.0.1]", "http://localhost"])(
    "lets nothing out to %s, which is reached without it",
    async (origin) => {
      const sink = await openSink();
      const result = await post(openClient({ guard: noPrivate }), `${origin}:${sink.port}/`);
      expect(result).toMatchObject({
        kind: "blocked",
        error: expect.stringMatching(/POSTHORN_ALLOW_PRIVATE_DESTINATIONS/),
      });
      expect(sink.accepted()).toBe(0);
      const lookup = scriptedLookup(["127.0.0.1"]);
      const control = openClient({ guard: createAddressGuard({ allowPrivate: true }), lookup });
      expect(await post(control, `${origin}:${sink.port}/`)).toMatchObject({ kind: "response" });
    },
  );

  it("checks what a name leads to, and connects to nothing else", async () => {
    const sink = await openSink();
    const url = `http://harmless.example:${sink.port}/`;
    const lookup = scriptedLookup(["127.0.0.1"]);
    const result = await post(openClient({ guard: noPrivate, lookup }), url);
    expect(result).toMatchObject({
      kind: "blocked",
      error: expect.stringMatching(/harmless\.example: 127\.0\.0\.1 is a loopback/),
    });
    expect([sink.accepted(), lookup.asked]).toEqual([0, 1]);
    expect(await post(openClient({ lookup }), url)).toMatchObject({ kind: "response", address: "127.0.0.1" });
    expect(lookup.asked).toBe(2);
  });

  it("rejects an answer of the DNS with one forbidden address among others", async () => {
    const sink = await openSink();
    const url = `http://mixed.example:${sink.port}/`;
    for (const answer of [
      ["127.0.0.1", "127.0.0.2"],
      ["127.0.0.2", "127.0.0.1"],
      ["127.0.0.1", "::1"],
    ]) {
      expect(await post(openClient({ lookup: scriptedLookup(answer) }), url)).toMatchObject({ kind: "blocked" });
    }
    expect(sink.accepted()).toBe(0);
    const control = openClient({
      guard: createAddressGuard({ allowPrivate: ["127.0.0.0/8"] }),
      lookup: scriptedLookup(["127.0.0.2", "127.0.0.1"]),
    });
    expect(await post(control, url)).toMatchObject({ kind: "response", address: "127.0.0.1" });
  });

  it("checks again at every connection, so that a name cannot be bound anew", async () => {
    const sink = await openSink({ answer: { status: 200, headers: { connection: "close" } } });
    const secret = await openSink({ host: "127.0.0.2", port: sink.port });
    const url = `http://rebound.example:${sink.port}/`;
    const client = openClient({ lookup: scriptedLookup(["127.0.0.1"], ["127.0.0.2"]) });
    expect(await post(client, url)).toMatchObject({ kind: "response", address: "127.0.0.1" });
    await expect.poll(() => sink.open()).toBe(0);
    expect(await post(client, url)).toMatchObject({ kind: "blocked" });
    expect(secret.accepted()).toBe(0);
    const guard = createAddressGuard({ allowPrivate: ["127.0.0.0/8"] });
    const control = openClient({ guard, lookup: scriptedLookup(["127.0.0.1"], ["127.0.0.2"]) });
    await post(control, url);
    await expect.poll(() => sink.open()).toBe(0);
    expect(await post(control, url)).toMatchObject({ kind: "response", address: "127.0.0.2" });
  });

  it("keeps internal ports closed at public addresses, also behind a name", async () => {
    const client = openClient({ lookup: scriptedLookup(["8.8.8.8"]) });
    const result = await post(client, "http://database.example:5432/");
    expect(result).toMatchObject({ kind: "blocked", error: expect.stringMatching(/port 5432/) });
  });

  // shows: C51
  it("allows no plain http unless told so", async () => {
    const sink = await openSink();
    const result = await post(openClient({ allowHttp: false }), sink.url);
    expect(result).toMatchObject({ kind: "blocked", error: expect.stringMatching(/POSTHORN_ALLOW_HTTP_DESTINATIONS/) });
  });
});

describe("a redirect", () => {
  it.each([301, 302, 307, 308])("with %i is followed as a POST with the same body", async (status) => {
    const sink = await openSink({
      answer: ({ path }) => (path === "/old" ? { redirectTo: "new?x=1#part", status } : { status: 200 }),
    });
    const result = await post(openClient(), `${sink.url}/old`);
    expect(result).toMatchObject({ kind: "response", status: 200, url: `${sink.url}/new?x=1` });
    expect(sink.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /old", "POST /new?x=1"]);
    expect(sink.requests[1]?.body.equals(BODY)).toBe(true);
  });

  it.each([300, 303, 304, 305])("with %i is not followed", async (status) => {
    const sink = await openSink({ answer: { redirectTo: "/new", status } });
    expect(await post(openClient(), sink.url)).toMatchObject({ kind: "response", status });
    expect(sink.requests).toHaveLength(1);
  });

  // shows: C37
  it("is followed three times and no more", async () => {
    const sink = await openSink({
      answer: ({ path }) => (path === "/0" ? { status: 200 } : { redirectTo: `/${Number(path.slice(1)) - 1}` }),
    });
    const client = openClient();
    expect(await post(client, `${sink.url}/3`)).toMatchObject({ status: 200 });
    const result = await post(client, `${sink.url}/4`);
    expect(result).toMatchObject({
      kind: "response",
      status: 307,
      error: expect.stringMatching(/too many redirects/),
    });
    expect(sink.requests).toHaveLength(8);
  });

  it("without a usable Location is the answer", async () => {
    const sink = await openSink({ answer: { status: 302 } });
    const client = openClient();
    expect(await post(client, sink.url)).toMatchObject({ kind: "response", status: 302 });
    sink.answerWith({ redirectTo: "http://[bad" });
    expect(await post(client, sink.url)).toMatchObject({
      kind: "response",
      status: 307,
      error: expect.stringMatching(/not a URL/),
    });
    sink.answerWith({ status: 308, headers: { location: "/new" }, body: "x".repeat(100_000) });
    expect(await post(client, sink.url)).toMatchObject({
      kind: "response",
      status: 308,
      error: expect.stringMatching(/too long/),
    });
  });

  it("keeps credentials on the same origin and drops them on the way to another", async () => {
    const [first, second] = [await openSink(), await openSink()];
    first.answerWith(({ path }) => ({ redirectTo: path === "/a" ? "/b" : `${second.url}/c` }));
    const headers = { Authorization: "Bearer x", Cookie: "c", "X-Api-Key": "k", "webhook-signature": "v1,s" };
    await post(openClient(), `${first.url}/a`, { headers });
    expect(first.requests[1]?.headers).toMatchObject({ authorization: "Bearer x", cookie: "c", "x-api-key": "k" });
    const { headers: received } = second.requests[0] ?? {};
    expect(received).toMatchObject({ "webhook-signature": "v1,s", "accept-encoding": "identity" });
    expect(received).not.toHaveProperty("authorization");
    expect(received).not.toHaveProperty("cookie");
    expect(received).not.toHaveProperty("x-api-key");
  });

  // shows: C37
  it("goes through the guard like the first address", async () => {
    const sink = await openSink();
    const secret = await openSink({ host: "127.0.0.2", port: sink.port });
    const lookup = scriptedLookup(["127.0.0.2"]);
    const guard = createAddressGuard({ allowPrivate: ["127.0.0.0/8"] });
    const targets = [secret.url, `http://inside.example:${sink.port}/`];
    for (const redirectTo of [...targets, "http://user:pw@127.0.0.1/", "ftp://127.0.0.1/", "http://169.254.169.254/"]) {
      sink.answerWith({ redirectTo });
      expect(await post(openClient({ lookup }), sink.url)).toMatchObject({ kind: "blocked" });
    }
    expect(secret.accepted()).toBe(0);
    for (const redirectTo of targets) {
      sink.answerWith({ redirectTo });
      expect(await post(openClient({ guard, lookup }), sink.url)).toMatchObject({ address: "127.0.0.2" });
    }
  });

  it("never leads from https to http", async () => {
    const plain = await openSink();
    const sink = await openSink({ tls: true, answer: { redirectTo: plain.url } });
    const result = await post(openClient({ tls: { ca: SINK_CERTIFICATE } }), sink.url);
    expect(result).toMatchObject({ kind: "response", status: 307, error: expect.stringMatching(/from https to http/) });
    expect(plain.accepted()).toBe(0);
  });
});

describe("the limit on all sockets", () => {
  it("closes the connection that was unused for longest to make room", async () => {
    const [one, two, three] = [await openSink(), await openSink(), await openSink()];
    const client = openClient({ maxSockets: 2 });
    for (const sink of [one, two, one, three]) await post(client, sink.url);
    await expect.poll(() => [one.open(), two.open(), three.open()]).toEqual([1, 0, 1]);
  });

  it("lets an origin without any connection go before more requests of a busy one", async () => {
    const [busy, other] = [await openSink({ answer: { status: 200, delayMs: 5 } }), await openSink()];
    const client = openClient({ maxSockets: 2 });
    const order: string[] = [];
    const all = Array.from({ length: 10 }, () => post(client, busy.url).then(() => order.push("busy")));
    all.push(post(client, other.url).then(() => order.push("other")));
    await Promise.all(all);
    expect(order).toHaveLength(11);
    expect(order.indexOf("other")).toBeLessThan(6);
  });

  it("holds and every request ends once, whatever the destinations do", async () => {
    const random = createSeededRandom(7);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;
    const sinks = [await openSink(), await openSink(), await openSink()];
    const answers: SinkAnswer[] = ["hang", "reset", "reset in body", "close", "flood", "drip body"];
    const good: SinkAnswer[] = [{ status: 200 }, { status: 500 }, { status: 200, headers: { connection: "close" } }];
    for (const sink of sinks)
      sink.answerWith(() => pick([...answers, ...good, ...good, { redirectTo: sinks[0]?.url ?? "" }]));
    const time = createMovableTime();
    const client = openClient({ connectionsPerHost: 3, maxSockets: 5, clock: createSystemClock(time) });
    const kinds = new Set<string>();
    const requests = Array.from({ length: 300 }, async () => {
      kinds.add((await post(client, pick(sinks).url, { timeoutMs: HOUR_MS })).kind);
    });
    const open: number[] = [];
    const watch = setInterval(() => open.push(sinks.reduce((sum, sink) => sum + sink.open(), 0)), 5);
    onTestFinished(() => clearInterval(watch));
    // Some end by themselves; the rest by the deadline.
    await expect
      .poll(() => [kinds.has("response"), kinds.has("unreachable"), open.length > 40])
      .toEqual([true, true, true]);
    time.moveOn(HOUR_MS);
    await Promise.all(requests);
    clearInterval(watch);
    expect([...kinds].toSorted()).toEqual(["response", "timed_out", "unreachable"]);
    for (const sink of sinks) {
      sink.answerWith({ status: 200 });
      expect(await post(client, sink.url)).toMatchObject({ kind: "response", status: 200 });
    }
    // The sinks may still be about to notice that a few were closed.
    expect(open.toSorted((a, b) => a - b)[Math.floor(open.length / 2)]).toBeLessThanOrEqual(5);
  });
});
