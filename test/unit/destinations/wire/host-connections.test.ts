import { afterEach, describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import { createConnectionTerms, createTokenTerms } from "../../../../src/destinations/wire/connection-terms.ts";
import type { HttpClient, HttpRequest, HttpResult } from "../../../../src/destinations/wire/http.ts";
import { openHttpClient } from "../../../../src/destinations/wire/http-client.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { TEST_CA } from "../../../support/certificates.ts";
import { openSinkServer, type SinkServer } from "../../../support/sink-server.ts";

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function openSink(...options: Parameters<typeof openSinkServer>): Promise<SinkServer> {
  const sink = await openSinkServer(...options);
  opened.push(sink);
  return sink;
}

function openClient(options: { connectionsPerHost: number }): HttpClient {
  const guard = createAddressGuard({ allowPrivate: ["127.0.0.1/32"] });
  const client = openHttpClient({ guard, allowHttp: true, clock: createSystemClock(), ...options });
  opened.push(client);
  return client;
}

function post(client: HttpClient, url: string, more: Partial<HttpRequest>): Promise<HttpResult> {
  const request = { method: "POST", url, headers: {}, body: new Uint8Array(0), timeoutMs: 60_000, ...more };
  return new Promise((resolve) => client.request(request, resolve));
}

describe("a request", () => {
  it("finds a connection at a host where another owner would hold all of them for long", async () => {
    const sink = await openSink({
      answer: ({ headers }) => (headers["x-owner"] === "loud" ? "hang" : { status: 200 }),
    });
    const send = (client: HttpClient, owner: string, more: Partial<HttpRequest> = {}) =>
      post(client, sink.url, { headers: { "x-owner": owner }, owner, ...more });
    const client = openClient({ connectionsPerHost: 8 });
    for (let at = 0; at < 20; at++) void send(client, "loud");
    await sink.received(6);
    for (const owner of ["quiet", "calm", "quiet"]) {
      expect(await send(client, owner)).toMatchObject({ kind: "response", status: 200 });
    }
    expect(sink.requests.filter(({ headers }) => headers["x-owner"] === "loud")).toHaveLength(6);

    // The control: what belongs to no tenant has no share, and takes all of them.
    const shared = openClient({ connectionsPerHost: 8 });
    for (let at = 0; at < 20; at++) void send(shared, "loud", { owner: "" });
    await sink.received(6 + 3 + 8);
  });

  it("finds one where others together hold all of them, up to twice the limit", async () => {
    const sink = await openSink({
      answer: ({ headers }) => (String(headers["x-owner"]).startsWith("loud") ? "hang" : { status: 200 }),
    });
    const client = openClient({ connectionsPerHost: 8 });
    const send = (owner: string, more: Partial<HttpRequest> = {}) =>
      post(client, sink.url, { headers: { "x-owner": owner }, owner, ...more });
    for (const n of [1, 2, 3]) for (let at = 0; at < 20; at++) void send(`loud-${n}`);
    await sink.received(8);
    for (const owner of ["quiet", "calm", "quiet"]) {
      expect(await send(owner, { timeoutMs: 5000 })).toMatchObject({ kind: "response", status: 200 });
    }
    // One that has one beyond the limit gets no second.
    void send("loud-4");
    await sink.received(8 + 3 + 1);
    expect(await send("loud-4", { timeoutMs: 100 })).toMatchObject({ kind: "timed_out" });
    for (let n = 5; n <= 11; n++) void send(`loud-${n}`);
    await sink.received(8 + 3 + 8);
    expect(await send("quiet", { timeoutMs: 100 })).toMatchObject({ kind: "timed_out" });
    expect(sink.requests).toHaveLength(8 + 3 + 8);
  });

  it("finds one beyond the limit in another pool too, as soon as its owner has none", async () => {
    const sink = await openSink({
      answer: ({ headers }) => (headers["x-owner"] === "loud" ? "hang" : { status: 200, delayMs: 20 }),
    });
    const client = openClient({ connectionsPerHost: 1 });
    const send = (owner: string, terms?: HttpRequest["terms"]) =>
      post(client, sink.url, { headers: { "x-owner": owner }, owner, terms });
    void send("loud");
    await sink.received(1);
    const others = [undefined, createConnectionTerms(["127.0.0.0/8"]), createTokenTerms(TEST_CA)];
    const results = await Promise.all(others.map((terms) => send("quiet", terms)));
    expect(results.map(({ kind }) => kind)).toEqual(["response", "response", "response"]);
  });

  it("waits while its owner holds its share, and goes on as soon as one of them is free", async () => {
    const sink = await openSink({ answer: { status: 200, delayMs: 1 } });
    const client = openClient({ connectionsPerHost: 4 });
    const terms = [undefined, createConnectionTerms(["127.0.0.0/8"]), createTokenTerms(TEST_CA)];
    const send = (at: number) => post(client, sink.url, { owner: at % 7 === 0 ? "b" : "a", terms: terms[at % 3] });
    const results = await Promise.all(Array.from({ length: 200 }, (_, at) => send(at)));
    expect(results.filter(({ kind }) => kind !== "response")).toEqual([]);
    expect(sink.requests).toHaveLength(200);
  });
});
