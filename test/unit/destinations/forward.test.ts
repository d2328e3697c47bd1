import { describe, expect, it } from "vitest";
import { prepareForward } from "../../../src/destinations/forward.ts";
import type { Attempt } from "../../../src/destinations/sender.ts";
import { parseHeaderBlock } from "../../../src/model/headers.ts";
import type { HttpDestination } from "../../../src/destinations/http/settings.ts";
import { HTTP_DESTINATION } from "../../support/http-outcomes.ts";

const URL_OF_HOOK = "https://a.example/hook";

function forward(
  request: object | undefined,
  { timeoutMs = 30_000, ...more }: Partial<HttpDestination> & { timeoutMs?: number } = {},
  options: Partial<Parameters<typeof prepareForward>[1]> & { number?: number } = {},
) {
  const attempt = {
    number: options.number ?? 1,
    event: { id: "evt_1", tenantId: "t" },
    request: request === undefined ? undefined : JSON.stringify(request),
    subscription: { timeoutMs },
  } as Attempt;
  const made = prepareForward(
    { ...HTTP_DESTINATION, ...more },
    { userAgent: undefined, openCredentials: () => ({}), ...options },
  );
  const forwarded = made(attempt, URL_OF_HOOK);
  return { ...forwarded, headers: parseHeaderBlock(forwarded.headers), recorded: parseHeaderBlock(forwarded.recorded) };
}

const REQUEST = {
  method: "PUT",
  path: "/webhook/orders/eu",
  query: "x=1",
  remote_address: "192.0.2.7",
  headers: { accept: "*/*", "x-shop": "7", authorization: "***", "content-length": "3", "user-agent": "shopbot" },
};

describe("what of a request is handed on", () => {
  it("is its method, the rest of its path, its query and the usual headers", () => {
    const { method, path, url, headers } = forward(REQUEST);
    expect({ method, path, url }).toEqual({
      method: "PUT",
      path: "/hook/eu?x=1",
      url: "https://a.example/hook/eu?x=1",
    });
    expect(headers).toEqual({ accept: "*/*", "x-shop": "7", "X-Forwarded-For": "192.0.2.7" });
  });

  it("is nothing but a POST to the destination itself for an event that came by no request", () => {
    const { method, path, url, headers } = forward(undefined);
    expect({ method, path, url, headers }).toEqual({ method: "POST", path: undefined, url: URL_OF_HOOK, headers: {} });
  });

  // shows: B14
  it("has ten seconds at its first attempt and the usual time later", () => {
    expect(forward(REQUEST).timeoutMs).toBe(10_000);
    expect(forward(REQUEST, {}, { number: 2 }).timeoutMs).toBe(30_000);
    expect(forward(REQUEST, { timeoutMs: 3000 }).timeoutMs).toBe(3000);
  });

  it("has credentials that are named, from where they are sealed, and shows them to nobody", () => {
    const named = { forwardHeaders: ["authorization", "x-api-key"] };
    const openCredentials = () => ({ authorization: "Bearer s3cret", "x-api-key": "k", cookie: "c" });
    const { headers, recorded } = forward({ ...REQUEST, sealed: "…" }, named, { openCredentials });
    expect(headers).toEqual({ authorization: "Bearer s3cret", "x-api-key": "k", "X-Forwarded-For": "192.0.2.7" });
    expect(recorded).toEqual({ authorization: "***", "x-api-key": "***", "X-Forwarded-For": "192.0.2.7" });
  });

  it("never has the sign that stands for a hidden value, nor what HTTP cannot say", () => {
    const headers = {
      authorization: "***",
      "x-gate": "***",
      "x-bad": "a\r\nb",
      "x-wide": "\u20ac",
      "": "x",
      "x-ok": "1",
    };
    const sent = forward({ ...REQUEST, headers }, { forwardHeaders: ["*", "authorization"] }).headers;
    expect(sent).toEqual({ "x-ok": "1", "X-Forwarded-For": "192.0.2.7" });
  });

  it("says nothing that the subscription says itself", () => {
    const headers = { "x-team": "evil", x_team: "evil", authorization: "Bearer x", "x-sig": "1", "x-sig-next": "2" };
    const destination: Partial<HttpDestination> = {
      headers: { "X-Team": "blue" },
      auth: { type: "bearer", token: "t" },
      signatureHeader: "X-Sig",
      forwardHeaders: ["*", "authorization"],
    };
    expect(forward({ ...REQUEST, headers }, destination).headers).toEqual({ "X-Forwarded-For": "192.0.2.7" });
  });

  it("has the sender's User-Agent where that is named, and ours where there was none", () => {
    const named = { forwardHeaders: ["user-agent"] };
    const userAgent = "Posthorn/1";
    expect(forward(REQUEST, named, { userAgent }).headers["user-agent"]).toBe("shopbot");
    expect(forward({ ...REQUEST, headers: {} }, named, { userAgent }).headers["User-Agent"]).toBe(userAgent);
    expect(forward(undefined, named, { userAgent }).headers["User-Agent"]).toBe(userAgent);
  });

  it("tells the address that the gateway saw, and no way or address that the sender claims", () => {
    const headers = {
      "x-forwarded-for": "198.51.100.1",
      forwarded: "for=198.51.100.1",
      "x-real-ip": "198.51.100.1",
      "true-client-ip": "198.51.100.1",
      "cf-connecting-ip": "198.51.100.1",
      x_forwarded_for: "198.51.100.1",
    };
    expect(forward({ ...REQUEST, headers }).headers).toEqual({ "X-Forwarded-For": "192.0.2.7" });
    expect(forward({ ...REQUEST, headers, remote_address: "" }).headers).toEqual({});
  });

  it("never makes another request of it: no other path, host or method, and nothing of the connection", () => {
    const headers = {
      "x-original-url": "/admin",
      "x-rewrite-url": "/admin",
      x_original_url: "/admin",
      "x-http-method-override": "DELETE",
      "x-http-method": "DELETE",
      "x-method-override": "DELETE",
      connection: "close, X-Internal-User, Authorization",
      "x-internal-user": "root",
      x_internal_user: "root",
      "x-shop": "7",
    };
    const openCredentials = () => ({ authorization: "Bearer s3cret" });
    const named = { forwardHeaders: ["*", "authorization", "x-internal-user"] };
    expect(forward({ ...REQUEST, headers, sealed: "…" }, named, { openCredentials }).headers).toEqual({
      "x-shop": "7",
      "X-Forwarded-For": "192.0.2.7",
    });
    // The control: without what `Connection` says they are handed on.
    const { connection: _, ...others } = headers;
    const sent = forward({ ...REQUEST, headers: others, sealed: "…" }, named, { openCredentials }).headers;
    expect(sent).toMatchObject({ "x-internal-user": "root", authorization: "Bearer s3cret" });
  });

  it("is a POST where the method is none that is known", () => {
    for (const method of ["HEAD", "TRACE", "CONNECT", "X\r\nY", undefined]) {
      expect(forward({ ...REQUEST, method }).method).toBe("POST");
    }
  });
});
