import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { parseUrl } from "../../src/model/addresses.ts";
import { type AddressGuard, createAddressGuard, parseDestination } from "../../src/destinations/wire/address-guard.ts";
import type { Lookup } from "../../src/destinations/wire/names/name-lookup.ts";
import type { HttpClient, HttpResult } from "../../src/destinations/wire/http.ts";
import { type HttpClientOptions, openHttpClient } from "../../src/destinations/wire/http-client.ts";
import { parseEgressProxy } from "../../src/destinations/wire/proxy-tunnel.ts";
import { createSystemClock } from "../../src/model/clock.ts";
import { PATIENCE_MS } from "../support/api-client.ts";
import { type ConnectProxy, openConnectProxy } from "../support/connect-proxy.ts";
import { count, report } from "../support/report.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { A_PUBLIC_ADDRESS, buildSsrfCorpus, type SsrfCorpus, type SsrfVector } from "../support/ssrf-vectors.ts";

const SEED = 18;
const MIN_VECTORS = 1000;
const MIN_CONTROLS = 100;
const closed = createAddressGuard({ allowPrivate: false });
/** The negative control: a guard that looks away. */
const broken: AddressGuard = { opensPrivate: true, check: () => ({ allowed: true, opened: true }) };

/**
 * R18. Nothing here reaches the network: what is let through goes to a proxy on loopback that leads everywhere to a
 * canary, and every connection that this process begins is seen.
 */
describe("what must not be reached", () => {
  let canary: SinkServer;
  let proxy: ConnectProxy;
  let corpus: SsrfCorpus;
  const clients: HttpClient[] = [];
  const begun: string[] = [];
  const noteSocket = (message: unknown): void => {
    const socket: unknown = Reflect.get(Object(message), "socket");
    if (socket instanceof Socket) {
      socket.on("connectionAttempt", (address: string, port: number) => begun.push(`${address} ${port}`));
    }
  };

  beforeAll(async () => {
    canary = await openSinkServer();
    proxy = await openConnectProxy(() => canary.port);
    corpus = buildSsrfCorpus(canary.port, SEED);
    subscribe("net.client.socket", noteSocket);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    begun.length = 0;
  });
  afterAll(async () => {
    unsubscribe("net.client.socket", noteSocket);
    await Promise.all([proxy.close(), canary.close()]);
  });

  /** What the DNS says, changed by each test before each request. */
  let answers: (readonly string[])[] = [];
  const lookup: Lookup = (_, __, done) => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    const found = (answer ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    setImmediate(() => done(null, found));
  };

  function openClient(options: Partial<HttpClientOptions> = {}): HttpClient {
    const client = openHttpClient({
      guard: closed,
      allowHttp: true,
      clock: createSystemClock(),
      lookup,
      connectTimeoutMs: PATIENCE_MS,
      ...options,
    });
    clients.push(client);
    return client;
  }

  const through = () => ({ proxy: parseEgressProxy(proxy.url) });

  function post(client: HttpClient, url: string, ...answer: (readonly string[])[]): Promise<HttpResult> {
    answers = answer;
    const request = { method: "POST", url, headers: {}, body: Buffer.from("{}"), timeoutMs: PATIENCE_MS } as const;
    return new Promise((resolve) => client.request(request, resolve));
  }

  const postVector = (client: HttpClient, { url, answer = [] }: SsrfVector) => post(client, url, answer);
  const fresh = (from: number) => proxy.asked.slice(from).map(({ authority }) => authority);

  it("is rejected in every spelling, directly and through a proxy, and public destinations are not", async () => {
    const { refused, publicControls } = corpus;
    const passed: string[] = [];
    const [direct, proxied] = [openClient(), openClient(through())];
    for (const vector of refused) {
      for (const client of [direct, proxied]) {
        const result = await postVector(client, vector);
        if (result.kind !== "blocked")
          passed.push(`${vector.kind} ${vector.url} ${vector.answer?.join()}: ${result.kind}`);
      }
    }
    expect(passed).toEqual([]);
    const reached = begun.length + proxy.asked.length + canary.accepted();

    const blocked: string[] = [];
    for (const vector of publicControls) {
      const result = await postVector(proxied, vector);
      if (result.kind !== "response") blocked.push(`${vector.url}: ${result.error}`);
    }
    report(
      `R18 SSRF corpus: ${count(refused.length)} vectors, each directly and through a proxy, reached ${reached} ` +
        `(target 0); ${publicControls.length} public controls, blocked ${blocked.length} (target 0)`,
    );
    expect(new Set(refused.map(({ url, answer }) => `${url} ${answer?.join()}`)).size).toBeGreaterThanOrEqual(
      MIN_VECTORS,
    );
    expect(publicControls.length).toBeGreaterThanOrEqual(MIN_CONTROLS);
    expect(reached).toBe(0);
    expect(blocked).toEqual([]);
    // The controls did go out, to the addresses that were judged: the watch is not blind.
    expect(canary.requests.length).toBeGreaterThanOrEqual(MIN_CONTROLS);
    // By the client to the proxy, and by the proxy to the canary.
    expect(new Set(begun)).toEqual(new Set([proxy, canary].map(({ port }) => `127.0.0.1 ${port}`)));
  });

  it("is rejected already when a subscription is made, as far as the URL tells", () => {
    const rules = { guard: closed, allowHttp: true };
    const told = corpus.refused.filter(({ kind }) => kind !== "dns" && kind !== "mixed");
    const accepted = told.filter(({ url }) => {
      try {
        parseDestination(url, rules);
        return true;
      } catch {
        return false;
      }
    });
    expect(accepted).toEqual([]);
    for (const { url } of corpus.publicControls) expect(parseDestination(url, rules)).toBeInstanceOf(URL);
  });

  it("is not reached by a redirect from a public destination", async () => {
    const client = openClient(through());
    const from = proxy.asked.length;
    const targets = corpus.refused.filter(
      ({ kind, url }, n) => n % 5 === 0 && kind !== "form" && parseUrl(url) !== undefined,
    );
    const passed: string[] = [];
    let sent = 0;
    for (const { url, answer = [] } of targets) {
      canary.answerWith({ redirectTo: new URL(url).href, status: [301, 302, 307, 308][sent++ % 4] ?? 307 });
      const result = await post(client, `http://${A_PUBLIC_ADDRESS}/`, answer);
      if (result.kind !== "blocked") passed.push(url);
    }
    canary.answerWith({ status: 200 });
    report(`R18 redirects into private: ${count(targets.length)}, followed ${passed.length} (target 0)`);
    expect(targets.length).toBeGreaterThan(300);
    expect(passed).toEqual([]);
    expect(new Set(fresh(from))).toEqual(new Set([`${A_PUBLIC_ADDRESS}:80`]));
  });

  it("is not reached by a name that leads elsewhere when it is asked again", async () => {
    const client = openClient(through());
    const from = proxy.asked.length;
    canary.answerWith({ status: 200, headers: { connection: "close" } });
    let rebound = 0;
    for (const [n, address] of corpus.addresses.entries()) {
      const url = `http://rebound-${n}.example/`;
      expect(await post(client, url, [A_PUBLIC_ADDRESS])).toMatchObject({ kind: "response" });
      const again = await post(client, url, [address]);
      if (again.kind !== "blocked") rebound += 1;
    }
    canary.answerWith({ status: 200 });
    report(`R18 names bound anew: ${count(corpus.addresses.length)}, reached ${rebound} (target 0)`);
    expect(rebound).toBe(0);
    expect(new Set(fresh(from))).toEqual(new Set([`${A_PUBLIC_ADDRESS}:80`]));
  });

  it("is reached by nearly all of these when the guard looks away, so that they prove something (control)", async () => {
    const client = openClient({ ...through(), guard: broken });
    const able = corpus.refused.filter(({ kind }) => kind !== "form");
    let reached = 0;
    for (const vector of able) if ((await postVector(client, vector)).kind === "response") reached += 1;
    report(`R18 negative control: without a guard ${count(reached)} of ${count(able.length)} vectors get through`);
    expect(reached).toBeGreaterThan(able.length * 0.95);
    const here = openClient({ guard: createAddressGuard({ allowPrivate: true }) });
    const before = canary.accepted();
    for (const vector of able.filter(
      ({ answer, url }) => answer?.join() === "127.0.0.1" || /\/\/127\.0\.0\.1:/.test(url),
    )) {
      const { kind, error } = await postVector(here, vector);
      expect([vector.url, kind, error]).toEqual([vector.url, "response", undefined]);
    }
    expect(canary.accepted()).toBeGreaterThan(before);
  });
});
