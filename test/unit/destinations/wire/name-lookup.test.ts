import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describe as describeFault } from "../../../../src/destinations/wire/network-fault.ts";
import {
  type NameLookup,
  type NameLookupOptions,
  openNameLookup,
} from "../../../../src/destinations/wire/names/name-lookup.ts";
import { type Clock, createSystemClock } from "../../../../src/model/clock.ts";
import { type DnsScript, type DnsServer, openDnsServer } from "../../../support/dns-server.ts";

let server: DnsServer;
let folder: string;
let opened: NameLookup[] = [];
/** The time by which names are kept passes only by this, while the deadlines of a look-up go by real time. */
let aheadMs = 0;

beforeEach(async () => {
  server = await openDnsServer();
  folder = mkdtempSync(join(tmpdir(), "posthorn-names-"));
  aheadMs = 0;
});
afterEach(async () => {
  for (const one of opened) one.close();
  opened = [];
  await server.close();
  rmSync(folder, { recursive: true });
});

function open(options: Partial<NameLookupOptions> = {}): NameLookup {
  const system = createSystemClock();
  const heldAt = Math.floor(system.now());
  const clock: Clock = {
    wall: () => system.wall(),
    now: () => heldAt + aheadMs,
    setTimer: (at, run) => system.setTimer(system.now() + at - clock.now(), run),
  };
  const files = { hostsFile: join(folder, "hosts"), resolverFile: join(folder, "resolv.conf") };
  // However slow the machine is, nothing is asked for twice because its answer is late.
  const names = openNameLookup({ clock, servers: [server.address], timeoutMs: 60_000, ...files, ...options });
  opened.push(names);
  return names;
}

function ask(names: NameLookup, name: string, owner = "acme"): Promise<string[] | string> {
  return new Promise((resolve) => {
    let isBefore = true;
    names.lookup(name, owner, (error, addresses) => {
      if (isBefore) return resolve("called at once");
      resolve(error === null ? addresses.map(({ address }) => address).toSorted() : describeFault(error));
    });
    isBefore = false;
  });
}

const leadsTo =
  (...addresses: string[]): DnsScript =>
  () => ({ addresses, ttlS: 300 });
const askedFor = (name: string) => server.asked.filter((one) => one.endsWith(` ${name}`)).length;
const write = (file: string, text: string) => {
  writeFileSync(join(folder, file), text);
  // Looked at once a second.
  aheadMs += 1000;
};

describe("the addresses of a name", () => {
  it("are those of both families", async () => {
    server.answerWith(leadsTo("192.0.2.1", "192.0.2.2", "2001:db8::7"));
    expect(await ask(open(), "both.example")).toEqual(["192.0.2.1", "192.0.2.2", "2001:db8::7"]);
    expect(server.asked.toSorted()).toEqual(["A both.example", "AAAA both.example"]);
  });

  it("are those of one family where the other has none, fails or stays silent", async () => {
    for (const [at, other] of [{ addresses: [] }, { fails: "SERVFAIL" } as const, "silent" as const].entries()) {
      server.answerWith((_, family) => (family === 4 ? { addresses: ["192.0.2.1"] } : other));
      expect(await ask(open(), `four-${at}.example`)).toEqual(["192.0.2.1"]);
      server.answerWith((_, family) => (family === 6 ? { addresses: ["2001:db8::7"] } : other));
      expect(await ask(open(), `six-${at}.example`)).toEqual(["2001:db8::7"]);
    }
  });

  it("are asked for once by all who want them at the same time, and kept for as long as they hold", async () => {
    const names = open();
    server.answerWith(leadsTo("192.0.2.1"));
    const all = await Promise.all(Array.from({ length: 50 }, (_, at) => ask(names, "many.example", `t${at}`)));
    expect(new Set(all.flat())).toEqual(new Set(["192.0.2.1"]));
    expect(askedFor("many.example")).toBe(2);
    aheadMs += 59_999;
    await ask(names, "many.example");
    expect(askedFor("many.example")).toBe(2);
    // 300 s are longer than anything is kept.
    aheadMs += 1;
    server.answerWith(() => ({ addresses: ["192.0.2.9"], ttlS: 0 }));
    expect(await ask(names, "MANY.example")).toEqual(["192.0.2.9"]);
    expect(askedFor("many.example")).toBe(4);
    // No time at all is a second.
    aheadMs += 1000;
    await ask(names, "many.example");
    expect(askedFor("many.example")).toBe(6);
  });

  it("are kept of so many names and no more", async () => {
    const names = open({ limits: { names: 2 } });
    server.answerWith(leadsTo("192.0.2.1"));
    for (const name of ["a.example", "b.example", "c.example", "a.example"]) await ask(names, name);
    expect(askedFor("a.example")).toBe(4);
  });

  it("stand in the hosts file first, also after it was changed", async () => {
    write("hosts", "# mine\n192.0.2.5\tnas  NAS.home.example # at home\n2001:db8::5 nas\nnonsense x.example\n\n");
    const names = open();
    expect(await ask(names, "nas")).toEqual(["192.0.2.5", "2001:db8::5"]);
    expect(await ask(names, "nas.home.example")).toEqual(["192.0.2.5"]);
    expect(await ask(names, "x.example")).toContain("ENOTFOUND");
    expect(server.asked).toHaveLength(2);
    write("hosts", "192.0.2.77 nas\n");
    expect(await ask(names, "nas")).toEqual(["192.0.2.77"]);
    rmSync(join(folder, "hosts"));
    aheadMs += 1000;
    expect(await ask(names, "nas")).toContain("ENOTFOUND");
  });

  it("are this machine's for localhost, also when others claim the name", async () => {
    server.answerWith(leadsTo("192.0.2.1"));
    for (const name of ["localhost", "a.localhost"]) expect(await ask(open(), name)).toEqual(["127.0.0.1", "::1"]);
    expect(await ask(open(), "notlocalhost")).toEqual(["192.0.2.1"]);
  });

  it("come from the system for names of multicast DNS, one at a time", async () => {
    const asked: string[] = [];
    const waiting: (() => void)[] = [];
    const names = open({
      timeoutMs: 600_000,
      systemLookup: (name, _, done) => {
        asked.push(name);
        waiting.push(() => done(null, [{ address: "192.0.2.8", family: 4 }]));
      },
    });
    const found = [ask(names, "nas.local"), ask(names, "tv.local")];
    await new Promise(setImmediate);
    expect([asked, server.asked]).toEqual([["nas.local"], []]);
    waiting.shift()?.();
    expect(await found[0]).toEqual(["192.0.2.8"]);
    await new Promise(setImmediate);
    expect(asked).toEqual(["nas.local", "tv.local"]);
    waiting.shift()?.();
    expect(await Promise.all([found[1], ask(names, "nas.local")])).toEqual([["192.0.2.8"], ["192.0.2.8"]]);
    expect(asked).toHaveLength(2);
  });

  it("are looked for in the search domains where a name is short, after the name as it is", async () => {
    write("resolv.conf", "search old.example\nsearch prod.svc.cluster.example. svc.cluster.example\noptions ndots:2\n");
    server.answerWith((name) =>
      name === "n8n.prod.svc.cluster.example" || name.endsWith("b.c.example")
        ? { addresses: ["192.0.2.1"] }
        : { fails: "NXDOMAIN" },
    );
    expect(await ask(open(), "n8n.prod")).toEqual(["192.0.2.1"]);
    const order = [...new Set(server.asked.map((one) => one.split(" ")[1]))];
    expect(order).toEqual(["n8n.prod", "n8n.prod.prod.svc.cluster.example", "n8n.prod.svc.cluster.example"]);
    expect(await ask(open(), "n8n.prod.")).toContain("ENOTFOUND");
    expect(await ask(open(), "x.b.c.example")).toEqual(["192.0.2.1"]);
    expect(askedFor("x.b.c.example")).toBe(2);
  });
});

describe("a name that cannot be looked up", () => {
  it("says why", async () => {
    server.answerWith(() => ({ fails: "NXDOMAIN" }));
    expect(await ask(open(), "none.example")).toBe("the host name has no address (ENOTFOUND)");
    server.answerWith(() => ({ addresses: [] }));
    expect(await ask(open(), "empty.example")).toBe("the host name has no address (ENOTFOUND)");
    server.answerWith(() => ({ fails: "SERVFAIL" }));
    expect(await ask(open(), "broken.example")).toBe(
      `the host name cannot be looked up: the DNS servers failed (ESERVFAIL from ${server.address})`,
    );
    server.answerWith(() => "silent");
    expect(await ask(open({ timeoutMs: 60 }), "silent.example")).toMatch(
      /^the host name cannot be looked up: no DNS server answered /,
    );
    expect(await ask(open(), `${"a".repeat(64)}.example`)).toMatch(
      /^the host name cannot be looked up: .* not a valid DNS name/,
    );
  });

  it("says that there is no DNS server, rather than that the destination rejected", async () => {
    const gone = await openDnsServer();
    await gone.close();
    const said = await ask(open({ servers: [gone.address] }), "any.example");
    expect(said).toBe(`the host name cannot be looked up: no DNS server can be reached (${gone.address})`);
  });

  it("is asked for again after a second, and after a longer wait each time that it fails", async () => {
    const names = open();
    server.answerWith(() => ({ fails: "NXDOMAIN" }));
    for (const waitS of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const before = askedFor("none.example");
      expect(await ask(names, "none.example")).toContain("ENOTFOUND");
      expect(askedFor("none.example")).toBe(before + 2);
      aheadMs += waitS * 1000 - 1;
      expect(await ask(names, "none.example")).toContain("ENOTFOUND");
      expect([waitS, askedFor("none.example")]).toEqual([waitS, before + 2]);
      aheadMs += 1;
    }
    server.answerWith(leadsTo("192.0.2.1"));
    expect(await ask(names, "none.example")).toEqual(["192.0.2.1"]);
    // From the beginning.
    aheadMs += 61_000;
    server.answerWith(() => ({ fails: "NXDOMAIN" }));
    await ask(names, "none.example");
    aheadMs += 1000;
    server.answerWith(leadsTo("192.0.2.1"));
    expect(await ask(names, "none.example")).toEqual(["192.0.2.1"]);
  });
});

describe("names that never answer", () => {
  const dead = (at: number) => `dead-${at}.example`;
  const answerTheLiving: DnsScript = (name) => (name.startsWith("dead") ? "silent" : { addresses: ["192.0.2.1"] });

  it("do not hold up the names of another tenant", async () => {
    server.answerWith(answerTheLiving);
    const names = open({ limits: { runningPerOwner: 4 }, timeoutMs: 600_000 });
    for (let at = 0; at < 20; at++) void names.lookup(dead(at), "loud", () => undefined);
    await expect.poll(() => server.asked.length).toBeGreaterThanOrEqual(8);
    expect(await ask(names, "alive.example", "quiet")).toEqual(["192.0.2.1"]);
    // Its own wait: four are under way, and no more were asked for.
    expect(new Set(server.asked.filter((one) => one.includes("dead"))).size).toBe(8);
  });

  it("hold up everybody where all share one lot, as the four threads of dns.lookup are shared", async () => {
    server.answerWith(answerTheLiving);
    const names = open({ limits: { running: 4, runningPerOwner: 4 }, timeoutMs: 600_000 });
    for (let at = 0; at < 20; at++) void names.lookup(dead(at), "loud", () => undefined);
    let isFound = false;
    names.lookup("alive.example", "quiet", () => void (isFound = true));
    await expect.poll(() => server.asked.length).toBeGreaterThanOrEqual(8);
    await ask(open(), "later.example", "quiet");
    expect([isFound, askedFor("alive.example")]).toEqual([false, 0]);
  });

  it("give their place to the next when their time is over, and are not asked for by those who gave up", async () => {
    server.answerWith(answerTheLiving);
    const names = open({ limits: { running: 2, runningPerOwner: 2 }, timeoutMs: 50 });
    const given = [0, 1, 2, 3].map((at) => ask(names, dead(at)));
    const asking = names.lookup("gave-up.example", "acme", () => expect.fail("it gave up"));
    void ask(names, "alive.example");
    asking.cancel();
    await expect.poll(() => askedFor("alive.example")).toBeGreaterThan(0);
    for (const one of await Promise.all(given)) expect(one).toContain("no DNS server answered");
    expect(askedFor("gave-up.example")).toBe(0);
  });

  it("are given up when the gateway stops", async () => {
    server.answerWith(answerTheLiving);
    const names = open({ limits: { running: 1 }, timeoutMs: 600_000 });
    const waiting = [ask(names, dead(0)), ask(names, dead(1))];
    names.close();
    expect(await Promise.all([...waiting, ask(names, "x.example")])).toHaveLength(3);
  });
});
