import { afterEach, describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import { createConnectionTerms } from "../../../../src/destinations/wire/connection-terms.ts";
import type { Lookup } from "../../../../src/destinations/wire/names/name-lookup.ts";
import type { HttpClient, HttpRequest, HttpResult } from "../../../../src/destinations/wire/http.ts";
import { type HttpClientOptions, openHttpClient } from "../../../../src/destinations/wire/http-client.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { CLIENT_PAIR, SERVER_PAIR, TEST_CA } from "../../../support/certificates.ts";
import { openSinkServer, SINK_CERTIFICATE, type SinkServer } from "../../../support/sink-server.ts";
import { createVirtualClock, createVirtualTime } from "../../../support/virtual-clock.ts";

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function openSink(...options: Parameters<typeof openSinkServer>): Promise<SinkServer> {
  const sink = await openSinkServer(...options);
  opened.push(sink);
  return sink;
}

function openClient(options: Partial<HttpClientOptions> = {}): HttpClient {
  const guard = createAddressGuard({ allowPrivate: ["127.0.0.0/8"] });
  const client = openHttpClient({ guard, allowHttp: true, clock: createSystemClock(), ...options });
  opened.push(client);
  return client;
}

function post(client: HttpClient, url: string, more: Partial<HttpRequest> = {}): Promise<HttpResult> {
  const request = { method: "POST", url, headers: {}, body: Buffer.from("{}"), timeoutMs: 5000, ...more };
  return new Promise((resolve) => client.request(request, resolve));
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

const only = (...cidrs: string[]) => createConnectionTerms(cidrs);

describe("allowed_ips", () => {
  // shows: C53
  it("lets through what lies in them and nothing else, literal or by name", async () => {
    const sink = await openSink();
    const client = openClient({ lookup: leadingTo("127.0.0.1") });
    for (const url of [sink.url, `http://named.example:${sink.port}/`]) {
      expect(await post(client, url, { terms: only("127.0.0.0/30") })).toMatchObject({ kind: "response" });
      const refused = await post(client, url, { terms: only("127.0.0.2", "203.0.113.0/24", "::1") });
      expect(refused).toMatchObject({ kind: "blocked", error: expect.stringContaining("allowed_ips") });
      expect(await post(client, url)).toMatchObject({ kind: "response" });
    }
    expect(sink.requests).toHaveLength(4);
  });

  it("never reuse a connection that another subscription opened, nor lend theirs to one that rejects it", async () => {
    const sink = await openSink();
    const url = `http://named.example:${sink.port}/`;
    const client = openClient({ lookup: leadingTo("127.0.0.1") });
    await post(client, url);
    await post(client, url, { terms: only("127.0.0.1") });
    expect(await post(client, url, { terms: only("127.0.0.2") })).toMatchObject({ kind: "blocked" });
    await post(client, url, { terms: only("127.0.0.1") });
    await post(client, url);
    expect(sink.requests.map(({ connection }) => connection)).toEqual([1, 2, 2, 1]);
  });

  it("open nothing that the guard keeps closed", async () => {
    const sink = await openSink();
    const guard = createAddressGuard({ allowPrivate: false });
    const client = openClient({ guard, lookup: leadingTo("127.0.0.1") });
    for (const url of [sink.url, `http://named.example:${sink.port}/`]) {
      const result = await post(client, url, { terms: only("127.0.0.1", "0.0.0.0/0", "::/0") });
      expect(result).toMatchObject({ kind: "blocked", error: expect.stringContaining("loopback") });
    }
    expect(sink.accepted()).toBe(0);
  });

  it("leave out addresses of a name that do not lie in them, and use the others", async () => {
    const sink = await openSink();
    const client = openClient({ lookup: leadingTo("127.0.0.2", "127.0.0.1") });
    const result = await post(client, `http://two.example:${sink.port}/`, { terms: only("127.0.0.1/32") });
    expect(result).toMatchObject({ kind: "response", address: "127.0.0.1" });
  });

  it("hold for every hop of a redirect", async () => {
    const sink = await openSink();
    const inside = await openSink({ host: "127.0.0.2", port: sink.port });
    sink.answerWith({ redirectTo: inside.url });
    const client = openClient();
    expect(await post(client, sink.url, { terms: only("127.0.0.1") })).toMatchObject({ kind: "blocked" });
    expect(inside.accepted()).toBe(0);
    expect(await post(client, sink.url, { terms: only("127.0.0.0/8") })).toMatchObject({ address: "127.0.0.2" });
  });
});

describe("certificates of a subscription", () => {
  const mutual = { ...SERVER_PAIR, ca: TEST_CA, requestCert: true, rejectUnauthorized: true };
  const withClient = createConnectionTerms(undefined, TEST_CA, CLIENT_PAIR);
  const withCa = createConnectionTerms(undefined, TEST_CA);

  it("prove who the gateway is, on connections that nobody else uses", async () => {
    const sink = await openSink({ tls: mutual });
    const client = openClient();
    expect(await post(client, sink.url, { terms: withClient })).toMatchObject({ kind: "response", status: 200 });
    expect(sink.requests[0]?.clientName).toBe("posthorn");
    expect(await post(client, sink.url, { terms: withCa })).toMatchObject({ kind: "unreachable" });
    expect(await post(client, sink.url, { terms: withClient })).toMatchObject({ kind: "response", status: 200 });
    expect(sink.requests).toHaveLength(2);
  });

  it("are not shown to another origin that a redirect leads to", async () => {
    const asking = { ...SERVER_PAIR, ca: TEST_CA, requestCert: true, rejectUnauthorized: false };
    const [first, second] = [await openSink({ tls: asking }), await openSink({ tls: asking })];
    first.answerWith(({ path }) => (path === "/same" ? { redirectTo: "/again" } : { redirectTo: `${second.url}/` }));
    await post(openClient(), `${first.url}/same`, { terms: withClient });
    expect([...first.requests, ...second.requests].map(({ clientName }) => clientName)).toEqual([
      "posthorn",
      "posthorn",
      undefined,
    ]);
  });

  it("replace the usual authorities: what the world trusts is not enough, and the other way round", async () => {
    const [ours, theirs] = [await openSink({ tls: SERVER_PAIR }), await openSink({ tls: true })];
    const client = openClient({ tls: { ca: SINK_CERTIFICATE } });
    expect(await post(client, ours.url, { terms: withCa })).toMatchObject({ kind: "response" });
    expect(await post(client, theirs.url)).toMatchObject({ kind: "response" });
    expect(await post(client, ours.url)).toMatchObject({ kind: "unreachable" });
    expect(await post(client, theirs.url, { terms: withCa })).toMatchObject({ kind: "unreachable" });
  });
});

describe("the connections of a host", () => {
  it("are at most so many, over all terms that they are used under, and all requests get one", async () => {
    const sink = await openSink({ answer: { status: 200, delayMs: 2 } });
    const client = openClient({ connectionsPerHost: 4 });
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, sink.open())), 1);
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, n) => post(client, sink.url, { terms: only(`127.0.0.0/${8 + (n % 10)}`) })),
    );
    clearInterval(watch);
    expect(results.filter(({ kind }) => kind === "response")).toHaveLength(200);
    // The sink may still be about to notice that one was closed when the next comes.
    expect(most).toBeLessThanOrEqual(8);
  });

  // shows: C32
  it("stay open while unused, but no more of them than are to be kept", async () => {
    const sink = await openSink();
    const client = openClient({ idleConnectionsPerHost: 3, keepAliveMs: 60_000 });
    // None is free again before each has its own.
    sink.answerWith({ status: 200, after: sink.received(12) });
    await Promise.all(Array.from({ length: 12 }, () => post(client, sink.url)));
    expect(sink.accepted()).toBe(12);
    await expect.poll(() => sink.open()).toBe(3);
    await Promise.all(Array.from({ length: 3 }, () => post(client, sink.url)));
    expect(sink.accepted()).toBe(12);
  });

  it("beyond those to be kept are not closed between the requests of a burst", async () => {
    const sink = await openSink();
    // No time passes: what lies between two requests is short, however long it takes here.
    const clock = createVirtualClock(createVirtualTime(Date.now()));
    const client = openClient({ idleConnectionsPerHost: 1, clock });
    sink.answerWith({ status: 200, delayMs: 5 });
    for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 8 }, () => post(client, sink.url)));
    expect(sink.accepted()).toBeLessThanOrEqual(16);
  });
});
