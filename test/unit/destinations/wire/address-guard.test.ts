import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import { isInRange, parseIp, parseIpRange } from "../../../../src/model/addresses.ts";

const closed = createAddressGuard({ allowPrivate: false });

const REFUSED = [
  "0.0.0.0",
  "0.255.255.255",
  "10.0.0.1",
  "100.64.0.1",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.31.196.1",
  "192.52.193.1",
  "192.88.99.1",
  "192.168.1.1",
  "192.175.48.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "168.63.129.16",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::ffff:169.254.169.254",
  "64:ff9b::7f00:1",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:1ff::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2620:4f:8000::1",
  "3fff::1",
  "4000::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
];

const PUBLIC = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "168.63.129.15",
  "172.15.255.255",
  "172.32.0.0",
  "192.0.1.0",
  "192.167.255.255",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "::ffff:8.8.8.8",
  "2001:200::1",
  "2001:4860:4860::8888",
  "2606:4700:4700::1111",
  "2a00:1450:4001::1",
  "3ffe::1",
];

describe("the address guard", () => {
  it.each(REFUSED)("rejects %s and names the setting that opens it", (address) => {
    const verdict = closed.check(address);
    expect(verdict).toMatchObject({ allowed: false });
    expect(verdict.allowed ? "" : verdict.reason).toContain("POSTHORN_ALLOW_PRIVATE_DESTINATIONS");
  });

  it.each(PUBLIC)("allows the public address %s", (address) => {
    expect(closed.check(address)).toEqual({ allowed: true, opened: false });
  });

  it.each(["", "localhost", "127.1", "0x7f.0.0.1", "2130706433", "1.2.3", "::g", "[::1]", "8.8.8.8 "])(
    "rejects %j, which is no address at all",
    (text) => {
      expect(closed.check(text).allowed).toBe(false);
      expect(createAddressGuard({ allowPrivate: true }).check(text).allowed).toBe(false);
    },
  );

  it("opens with a CIDR what it names and nothing else", () => {
    const guard = createAddressGuard({ allowPrivate: ["10.1.0.0/16", "fd00::/8", "127.0.0.1"] });
    expect(guard.check("10.1.255.1")).toEqual({ allowed: true, opened: true });
    expect(guard.check("::ffff:10.1.0.1")).toEqual({ allowed: true, opened: true });
    expect(guard.check("fd12::1").allowed).toBe(true);
    expect(guard.check("127.0.0.1").allowed).toBe(true);
    for (const address of ["10.2.0.1", "127.0.0.2", "fc00::1", "192.168.0.1"]) {
      expect(guard.check(address).allowed).toBe(false);
    }
    expect(guard.opensPrivate).toBe(true);
    expect(createAddressGuard({ allowPrivate: [] }).opensPrivate).toBe(false);
  });

  it("opens loopback and private networks with true, but not where credentials of the machine are served", () => {
    const guard = createAddressGuard({ allowPrivate: true });
    for (const address of ["127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "::1", "fd00::1"]) {
      expect(guard.check(address)).toEqual({ allowed: true, opened: true });
    }
    for (const address of ["169.254.169.254", "168.63.129.16", "0.0.0.0", "224.0.0.1", "fe80::1"]) {
      expect(guard.check(address).allowed).toBe(false);
    }
    expect(createAddressGuard({ allowPrivate: ["169.254.0.0/16"] }).check("169.254.1.1").allowed).toBe(true);
  });

  it("rejects the machine's own public addresses as they are at that moment", () => {
    let own: string[] = [];
    const guard = createAddressGuard({ allowPrivate: false, ownAddresses: () => own });
    expect(guard.check("8.8.4.4").allowed).toBe(true);
    own = ["8.8.4.4", "2a00:1450:4001:0:0:0:0:1"];
    expect(guard.check("8.8.4.4").allowed).toBe(false);
    expect(guard.check("::ffff:8.8.4.4").allowed).toBe(false);
    expect(guard.check("2a00:1450:4001::1").allowed).toBe(false);
    expect(createAddressGuard({ allowPrivate: true, ownAddresses: () => own }).check("8.8.4.4").allowed).toBe(true);
  });

  it.each(["10.0.0.0/33", "10.0.0/8", "fd00::/129", "10.0.0.0/", "10.0.0.0/-1", "everything", "::ffff:10.0.0.0/8"])(
    "does not start with %s for a CIDR",
    (cidr) => {
      expect(() => createAddressGuard({ allowPrivate: [cidr] })).toThrow(/is not a CIDR/);
    },
  );

  it("checks an IPv4 address and its IPv4-mapped form alike", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(closed.check(`::ffff:${address}`).allowed).toBe(closed.check(address).allowed);
      }),
    );
  });

  it("allows no IPv6 address outside of 2000::/3 unless it is a mapped one", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const bytes = parseIp(address) ?? [];
        fc.pre(bytes.length === 16);
        const isGlobal = (bytes[0] ?? 0) >> 5 === 1;
        expect(closed.check(address).allowed && !isGlobal).toBe(false);
      }),
    );
  });

  it("forgets old verdicts instead of keeping all of them, and still says the same", () => {
    for (let at = 0; at < 2500; at++) closed.check(`8.8.${at >> 8}.${at & 255}`);
    expect(closed.check("10.0.0.1").allowed).toBe(false);
    expect(closed.check("8.8.0.1").allowed).toBe(true);
  });
});

describe("address ranges", () => {
  it("hold an address exactly when its first bits are theirs", () => {
    const word = fc.integer({ min: 0, max: 0xffffffff });
    fc.assert(
      fc.property(word, word, fc.integer({ min: 0, max: 32 }), (one, other, bits) => {
        const range = parseIpRange(`${dotted(one)}/${bits}`);
        const isSamePrefix = bits === 0 || one >>> (32 - bits) === other >>> (32 - bits);
        expect(range !== undefined && isInRange(parseIp(dotted(other)) ?? [], range)).toBe(isSamePrefix);
      }),
    );
  });
});

function dotted(word: number): string {
  return [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255].join(".");
}
