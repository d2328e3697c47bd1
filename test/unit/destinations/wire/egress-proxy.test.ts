import { afterEach, describe, expect, it, vi } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import type { Lookup } from "../../../../src/destinations/wire/names/name-lookup.ts";
import type { HttpClient, HttpResult } from "../../../../src/destinations/wire/http.ts";
import { type HttpClientOptions, openHttpClient } from "../../../../src/destinations/wire/http-client.ts";
import { parseEgressProxy } from "../../../../src/destinations/wire/proxy-tunnel.ts";
import { classify } from "../../../../src/destinations/classify-answer.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { type ConnectProxy, openConnectProxy, type ProxyScript } from "../../../support/connect-proxy.ts";
import { NO_RETRY_ON } from "../../../support/http-outcomes.ts";
import { openSinkServer, SINK_CERTIFICATE, type SinkServer } from "../../../support/sink-server.ts";

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

async function openProxy(script: ProxyScript): Promise<ConnectProxy> {
  const proxy = await openConnectProxy(script);
  opened.push(proxy);
  return proxy;
}

/** Nothing private may be reached: what arrives came through the proxy. */
function openClient(proxy: string, options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = openHttpClient({
    guard: createAddressGuard({ allowPrivate: false }),
    allowHttp: true,
    clock: createSystemClock(),
    proxy: parseEgressProxy(proxy),
    lookup: leadingTo("8.8.4.4"),
    tls: { ca: SINK_CERTIFICATE },
    ...options,
  });
  opened.push(client);
  return client;
}

const leadingTo =
  (...addresses: string[]): Lookup =>
  (_, __, done) =>
    void setImmediate(() =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      ),
    );

function post(client: HttpClient, url: string, timeoutMs = 5000): Promise<HttpResult> {
  const request = { method: "POST", url, headers: { "X-One": "1" }, body: Buffer.from("{}"), timeoutMs } as const;
  return new Promise((resolve) => client.request(request, resolve));
}

describe("the egress proxy", () => {
  it("is asked for the address that was checked, while the destination sees its name", async () => {
    const [plain, secure] = [await openSink(), await openSink({ tls: true })];
    const proxy = await openProxy((authority) => (authority.endsWith(":443") ? secure.port : plain.port));
    const client = openClient(proxy.url);
    expect(await post(client, "http://sink.test/a?b=1")).toMatchObject({ status: 200, address: "8.8.4.4" });
    expect(await post(client, "https://sink.test/c")).toMatchObject({ status: 200, address: "8.8.4.4" });
    expect(await post(client, "http://[2606:4700::1]:8443/d")).toMatchObject({ status: 200, address: "2606:4700::1" });
    expect(proxy.asked.map(({ authority }) => authority)).toEqual(["8.8.4.4:80", "8.8.4.4:443", "[2606:4700::1]:8443"]);
    expect(plain.requests[0]).toMatchObject({ path: "/a?b=1", headers: { host: "sink.test", "x-one": "1" } });
    expect(secure.requests[0]).toMatchObject({ path: "/c", headers: { host: "sink.test" } });
    expect(JSON.stringify([...plain.requests, ...secure.requests])).not.toMatch(/proxy-/i);
  });

  it("carries the next request over the tunnel that is open", async () => {
    const sink = await openSink();
    const proxy = await openProxy(() => sink.port);
    const client = openClient(proxy.url);
    for (let n = 0; n < 3; n++) await post(client, "http://sink.test/");
    expect([proxy.asked.length, sink.accepted()]).toEqual([1, 1]);
  });

  it("gets the credentials in its URL, and no error shows them", async () => {
    const sink = await openSink();
    const proxy = await openProxy(() => sink.port);
    const client = openClient(proxy.url.replace("//", "//u%40x:p%3Aw@"));
    await post(client, "http://sink.test/");
    expect(proxy.asked[0]?.authorization).toBe(`Basic ${Buffer.from("u@x:p:w").toString("base64")}`);
    const refusing = await openProxy(() => "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const result = await post(openClient(refusing.url.replace("//", "//user:s3cret@")), "http://sink.test/");
    expect(result).toMatchObject({ kind: "error", error: expect.stringContaining("407") });
    expect(JSON.stringify(result)).not.toMatch(/s3cret|c2VjcmV0/);
  });

  it("is not asked for what the guard rejects, be it a literal, a name or a redirect", async () => {
    const sink = await openSink({ answer: { redirectTo: "http://169.254.169.254/" } });
    const proxy = await openProxy(() => sink.port);
    const client = openClient(proxy.url, { lookup: leadingTo("10.0.0.1") });
    for (const url of ["http://127.0.0.1/", "https://[::1]/", "http://inside.example/", "http://localhost/"]) {
      expect(await post(client, url)).toMatchObject({ kind: "blocked" });
    }
    const mixed = openClient(proxy.url, { lookup: leadingTo("8.8.4.4", "127.0.0.1") });
    expect(await post(mixed, "http://mixed.example/")).toMatchObject({ kind: "blocked" });
    expect(proxy.asked).toEqual([]);
    expect(await post(client, "http://8.8.8.8/")).toMatchObject({ kind: "blocked" });
    expect(proxy.asked).toHaveLength(1);
  });

  it.each<[string, string]>([
    ["wants other credentials", "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n"],
    ["cannot reach the destination", "HTTP/1.1 502 Bad Gateway\r\n\r\n"],
    ["is overloaded", "HTTP/1.1 503 Busy\r\n\r\n"],
    ["forbids it", "HTTP/1.1 403 Forbidden\r\n\r\nno"],
    ["is no proxy", "SSH-2.0-OpenSSH_9\r\n\r\n"],
    ["closes the connection", ""],
    ["answers without an end", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(20_000)}`],
  ])("is at fault, and not the destination, when it %s", async (_, answer) => {
    const proxy = await openProxy(() => answer);
    const result = await post(openClient(proxy.url), "https://sink.test/");
    expect(result).toMatchObject({ kind: "error", error: expect.stringMatching(/^egress proxy: /) });
    if (result.kind !== "error") return;
    expect(classify(result, NO_RETRY_ON, () => 0)).toMatchObject({ kind: "failed", says: "nothing" });
  });

  it("is at fault when nobody listens there, and when it does not answer in time", async () => {
    const gone = await openConnectProxy(() => "hang");
    await gone.close();
    expect(await post(openClient(gone.url), "http://sink.test/")).toMatchObject({
      kind: "error",
      error: expect.stringContaining("ECONNREFUSED"),
    });
    const stuck = await openProxy(() => "hang");
    expect(await post(openClient(stuck.url, { connectTimeoutMs: 100 }), "http://sink.test/")).toMatchObject({
      kind: "error",
      error: expect.stringContaining("within 100 ms"),
    });
  });

  it("does not take the blame for a destination that fails behind it", async () => {
    const sink = await openSink({ answer: "reset" });
    const proxy = await openProxy(() => sink.port);
    expect(await post(openClient(proxy.url), "http://sink.test/")).toMatchObject({ kind: "unreachable" });
    expect(await post(openClient(proxy.url), "https://sink.test/")).toMatchObject({ kind: "unreachable" });
  });

  it("is tried with the next address of a name that it cannot reach by the first", async () => {
    const sink = await openSink();
    const proxy = await openProxy((authority) =>
      authority.startsWith("[") ? "HTTP/1.1 502 No IPv6 here\r\n\r\n" : sink.port,
    );
    const client = openClient(proxy.url, { lookup: leadingTo("2606:4700::1", "8.8.4.4") });
    expect(await post(client, "http://sink.test/")).toMatchObject({ kind: "response", address: "8.8.4.4" });
  });

  it("holds no socket of a request that was given up", async () => {
    const stuck = await openProxy(() => "hang");
    const client = openClient(stuck.url);
    expect(await post(client, "http://sink.test/", 100)).toMatchObject({ kind: "timed_out" });
    await client.close();
  });

  it("is the one that was set and none that the environment names", async () => {
    const trap = await openProxy(() => "HTTP/1.1 500 A trap\r\n\r\n");
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    for (const name of names) vi.stubEnv(name, trap.url);
    vi.stubEnv("NODE_USE_ENV_PROXY", "1");
    const [plain, secure] = [await openSink(), await openSink({ tls: true })];
    const guard = createAddressGuard({ allowPrivate: ["127.0.0.1"] });
    const direct = openClient("http://unused.test", { guard, proxy: undefined, lookup: leadingTo("127.0.0.1") });
    expect(await post(direct, plain.url)).toMatchObject({ kind: "response" });
    expect(await post(direct, `https://sink.test:${secure.port}/`)).toMatchObject({ kind: "response" });
    const proxy = await openProxy(() => plain.port);
    expect(await post(openClient(proxy.url), "http://sink.test/")).toMatchObject({ kind: "response" });
    expect(trap.asked).toEqual([]);
  });
});
