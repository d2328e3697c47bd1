import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAddressGuard } from "../../src/destinations/wire/address-guard.ts";
import type { HttpClient, HttpResult } from "../../src/destinations/wire/http.ts";
import { openHttpClient } from "../../src/destinations/wire/http-client.ts";
import { type Lookup, type NameLookup, openNameLookup } from "../../src/destinations/wire/names/name-lookup.ts";
import { createSystemClock } from "../../src/model/clock.ts";
import { type DnsServer, openDnsServer } from "../support/dns-server.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";

const DEAD_NAMES = 20;
const NO_TIME_LIMIT_MS = 600_000;

describe("destinations whose names never resolve", () => {
  let dns: DnsServer;
  let sink: SinkServer;
  let names: NameLookup;
  let client: HttpClient;

  beforeEach(async () => {
    sink = await openSinkServer();
    dns = await openDnsServer((name) =>
      name.startsWith("dead") ? "silent" : { addresses: name === "inside.example" ? ["10.0.0.1"] : ["127.0.0.1"] },
    );
    names = openNameLookup({ clock: createSystemClock(), servers: [dns.address], timeoutMs: NO_TIME_LIMIT_MS });
  });
  afterEach(async () => {
    await client.close();
    names.close();
    await Promise.all([dns.close(), sink.close()]);
  });

  function open(lookup: Lookup): HttpClient {
    return openHttpClient({
      guard: createAddressGuard({ allowPrivate: ["127.0.0.1/32"] }),
      allowHttp: true,
      clock: createSystemClock(),
      connectTimeoutMs: NO_TIME_LIMIT_MS,
      lookup,
    });
  }

  function post(host: string, owner: string, timeoutMs = NO_TIME_LIMIT_MS): Promise<HttpResult> {
    const url = `http://${host}:${sink.port}/`;
    const body = new Uint8Array(0);
    return new Promise((resolve) =>
      client.request({ method: "POST", url, headers: {}, body, owner, timeoutMs }, resolve),
    );
  }

  const postToTheDead = () => {
    for (let at = 0; at < DEAD_NAMES; at++) void post(`dead-${at}.example`, "loud");
  };

  it("do not stop the deliveries of another tenant", async () => {
    client = open(names.lookup);
    postToTheDead();
    await expect.poll(() => dns.asked.length).toBeGreaterThanOrEqual(8);
    for (let at = 0; at < 10; at++) {
      expect(await post(`alive-${at}.example`, "quiet")).toMatchObject({ kind: "response", status: 200 });
    }
    expect(await post("inside.example", "quiet")).toMatchObject({ kind: "blocked" });
    expect(await post("inside.example", "quiet")).toMatchObject({ kind: "blocked" });
  });

  it("would stop them with four threads for all, as dns.lookup has them (control)", async () => {
    client = open(withFourThreads(names.lookup));
    postToTheDead();
    await expect.poll(() => dns.asked.length).toBeGreaterThanOrEqual(8);
    expect(await post("alive.example", "quiet", 500)).toMatchObject({ kind: "timed_out" });
    expect(dns.asked.filter((one) => one.includes("alive"))).toEqual([]);
  });
});

describe("a name that is bound anew", () => {
  it("is checked at each connection, also while its first answer is kept", async () => {
    const sink = await openSinkServer({ answer: { status: 200, headers: { connection: "close" } } });
    const dns = await openDnsServer(() => ({ addresses: ["127.0.0.1"], ttlS: 0 }));
    const clock = createSystemClock();
    const names = openNameLookup({ clock, servers: [dns.address] });
    let isOpen = true;
    const opened = createAddressGuard({ allowPrivate: ["127.0.0.1/32"] });
    const closed = createAddressGuard({ allowPrivate: false });
    const guard = { opensPrivate: true, check: (address: string) => (isOpen ? opened : closed).check(address) };
    const client = openHttpClient({ guard, allowHttp: true, clock, lookup: names.lookup });
    const post = () =>
      new Promise<string>((resolve) => {
        const url = `http://anew.example:${sink.port}/`;
        const request = { method: "POST", url, headers: {}, body: new Uint8Array(0), timeoutMs: 60_000 };
        client.request(request, ({ kind }) => resolve(kind));
      });
    expect(await post()).toBe("response");
    isOpen = false;
    expect(await post()).toBe("blocked");
    isOpen = true;
    expect(await post()).toBe("response");
    // One forbidden address spoils the answer.
    dns.answerWith(() => ({ addresses: ["127.0.0.1", "169.254.169.254"], ttlS: 0 }));
    await expect.poll(post).toBe("blocked");
    const reached = sink.requests.length;
    for (const addresses of [["169.254.169.254"], ["10.0.0.1", "127.0.0.1"], ["fe80::1", "127.0.0.1"]]) {
      dns.answerWith(() => ({ addresses, ttlS: 0 }));
      expect(await post()).toBe("blocked");
    }
    expect(sink.requests.length).toBe(reached);
    await client.close();
    names.close();
    await Promise.all([dns.close(), sink.close()]);
  });
});

/** Those who come later wait for one of the first four, whoever they are. */
function withFourThreads(lookup: Lookup): Lookup {
  const waiting: (() => void)[] = [];
  let free = 4;
  return (name, owner, done) => {
    const run = () =>
      lookup(name, owner, (error, addresses) => {
        free += 1;
        waiting.shift()?.();
        done(error, addresses);
      });
    if (free > 0) {
      free -= 1;
      run();
    } else {
      waiting.push(run);
    }
  };
}
