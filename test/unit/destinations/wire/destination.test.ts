import { describe, expect, it } from "vitest";
import { createAddressGuard, parseDestination } from "../../../../src/destinations/wire/address-guard.ts";

const closed = { allowHttp: false, guard: createAddressGuard({ allowPrivate: false }) };
const withHttp = { ...closed, allowHttp: true };
const inside = { allowHttp: true, guard: createAddressGuard({ allowPrivate: ["127.0.0.0/8", "10.0.0.0/8"] }) };

describe("a destination's URL", () => {
  it.each([
    "https://example.com/hook",
    "https://example.com:8443/hook?x=1",
    "https://example.com:80/",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
    "https://xn--mnchen-3ya.de/",
  ])("may be %s", (url) => {
    expect(parseDestination(url, closed).href).toBe(new URL(url).href);
  });

  // shows: C51
  it.each([
    ["", "not a URL"],
    ["example.com/hook", "not a URL"],
    ["https://", "not a URL"],
    ["http://example.com/", "POSTHORN_ALLOW_HTTP_DESTINATIONS"],
    ["ftp://example.com/", "ftp:"],
    ["file:///etc/passwd", "file:"],
    ["https://user@example.com/", "user name"],
    ["https://user:password@example.com/", "user name"],
    ["https://example.com/#part", "fragment"],
    ["https://example.com/#", "fragment"],
    ["https://example.com:22/", "port 22"],
    ["https://example.com:25/", "port 25"],
    ["https://example.com:6379/", "port 6379"],
    ["https://8.8.8.8:5432/", "port 5432"],
    ["https://localhost/", "POSTHORN_ALLOW_PRIVATE_DESTINATIONS"],
    ["https://LOCALHOST./", "POSTHORN_ALLOW_PRIVATE_DESTINATIONS"],
    ["https://api.localhost/", "private network"],
    ["https://printer.local/", "private network"],
    ["https://metadata.google.internal./", "private network"],
    ["https://intranet/", "private network"],
    ["https://127.0.0.1/", "loopback"],
    ["https://127.1/", "loopback"],
    ["https://0x7f000001/", "loopback"],
    ["https://2130706433/", "loopback"],
    ["https://0177.0.0.1/", "loopback"],
    ["https://①②⑦.⓪.⓪.①/", "loopback"],
    ["https://[::1]/", "loopback"],
    ["https://[::ffff:169.254.169.254]/", "link-local"],
    ["https://[::7f00:1]/", "global unicast"],
  ])("may not be %j, and it is said why", (url, reason) => {
    expect(() => parseDestination(url, closed)).toThrow(
      expect.objectContaining({ code: "invalid_field", field: "url", message: expect.stringContaining(reason) }),
    );
  });

  it("may be http where that is allowed, which opens nothing else", () => {
    expect(parseDestination("http://example.com/", withHttp).protocol).toBe("http:");
    expect(() => parseDestination("http://127.0.0.1/", withHttp)).toThrow(/loopback/);
  });

  it("may have any port and private names where private addresses are opened, within what was opened", () => {
    for (const url of ["http://127.0.0.1:81/", "http://10.0.0.1:6379/", "http://localhost:3000/", "http://n8n:5678/"]) {
      expect(parseDestination(url, inside).href).toBe(url);
    }
    expect(() => parseDestination("http://192.168.0.1/", inside)).toThrow(/private/);
    expect(() => parseDestination("http://8.8.8.8:6379/", inside)).toThrow(/port 6379/);
  });
});
