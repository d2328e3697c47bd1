import { describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../src/deliver/address-guard.ts";
import { checkHeaders, checkSignatureHeader, parseDestination } from "../../../src/deliver/destination.ts";
import { isCredentialHeader } from "../../../src/domain/credential-header.ts";

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

describe("a destination's headers", () => {
  it("may carry credentials and anything of the user's own", () => {
    const headers = { Authorization: "Bearer x", "X-Api-Key": "k", "User-Agent": "mine", "x-tenant": "a\tb é" };
    expect(() => checkHeaders(headers)).not.toThrow();
  });

  it.each([
    "Host",
    "content-length",
    "CONTENT-LENGTH",
    "Transfer-Encoding",
    "Connection",
    "Upgrade",
    "Proxy-Authorization",
    "proxy-connection",
    "Forwarded",
    "X-Forwarded-For",
    "Metadata-Flavor",
    "Metadata",
    "X-Google-Metadata-Request",
    "X-aws-ec2-metadata-token",
    "Webhook-Signature",
    "webhook-id",
    "X-Webhook-Attempt",
    "X-My-Signature",
    "Content-Type",
    "Accept-Encoding",
    "traceparent",
    "bad name",
    "bad:name",
    "",
  ])("may not have %j", (name) => {
    expect(() => checkHeaders({ [name]: "x" })).toThrow(
      expect.objectContaining({ code: "invalid_field", field: "headers" }),
    );
  });

  it.each(["a\r\nHost: evil", "a\nb", "a\rb", "a\0b", "snow ☃", "\x7f"])("may not have the value %j", (value) => {
    expect(() => checkHeaders({ "x-own": value })).toThrow(/cannot be sent/);
  });

  it("may not name one header twice in different case", () => {
    expect(() => checkHeaders({ "x-own": "1", "X-Own": "2" })).toThrow(/twice/);
  });

  it("has a free choice of the signature's name, except for names that are taken", () => {
    for (const name of ["X-Webhook-Signature", "X-Hub-Signature-256", "X-Signed"]) {
      expect(() => checkSignatureHeader(name)).not.toThrow();
    }
    for (const name of ["Host", "webhook-signature", "X-Webhook-ID", "Content-Type", "Proxy-Signature"]) {
      expect(() => checkSignatureHeader(name)).toThrow(expect.objectContaining({ field: "signature_header" }));
    }
  });

  it("is known to hold a secret by its name", () => {
    for (const name of ["Authorization", "Cookie", "set-cookie", "X-API-Key", "x-auth-token", "Client-Secret"]) {
      expect(isCredentialHeader(name)).toBe(true);
    }
    for (const name of ["Content-Type", "webhook-signature", "X-Webhook-ID", "Idempotency-Key"]) {
      expect(isCredentialHeader(name)).toBe(false);
    }
  });
});
