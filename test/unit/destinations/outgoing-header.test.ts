import { describe, expect, it } from "vitest";
import { isCredentialHeader } from "../../../src/model/headers.ts";
import { findHeaderProblem, findSignatureHeaderProblem } from "../../../src/destinations/outgoing-header.ts";

describe("a header that goes out", () => {
  it("may carry credentials and anything of the user's own", () => {
    const headers = { Authorization: "Bearer x", "X-Api-Key": "k", "x-tenant": "a\tb" };
    for (const [name, value] of Object.entries(headers)) expect(findHeaderProblem(name, value)).toBeUndefined();
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
    "User-Agent",
    "Accept-Encoding",
    "traceparent",
    "bad name",
    "bad:name",
    "",
  ])("may not have %j", (name) => {
    expect(findHeaderProblem(name, "x")).toEqual(expect.any(String));
  });

  it.each(["a\r\nHost: evil", "a\nb", "a\rb", "a\0b", "snow ☃", "\x7f", " a", "é"])(
    "may not have the value %j",
    (value) => {
      expect(findHeaderProblem("x-own", value)).toMatch(/printable/);
    },
  );

  it("has a free choice of the signature's name, except for names that are taken", () => {
    for (const name of ["X-Webhook-Signature", "X-Hub-Signature-256", "X-Signed"]) {
      expect(findSignatureHeaderProblem(name)).toBeUndefined();
    }
    for (const name of ["Host", "webhook-signature", "X-Webhook-ID", "Content-Type", "Proxy-Signature"]) {
      expect(findSignatureHeaderProblem(name)).toEqual(expect.any(String));
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
