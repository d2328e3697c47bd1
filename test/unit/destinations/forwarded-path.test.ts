import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildForwardedPath } from "../../../src/destinations/forward.ts";

const HOOK = { pathname: "/hook/orders", search: "" };
const ROOT = { pathname: "/", search: "" };

const forward = (rest: string, query = "", base = HOOK) => buildForwardedPath(base, `/webhook/orders${rest}`, query);

describe("where a forwarded request goes", () => {
  it("is the destination's own path when nothing follows the source's name", () => {
    expect(forward("")).toBe("/hook/orders");
    expect(forward("", "", ROOT)).toBe("/");
    expect(forward("", "", { pathname: "/hook/", search: "?k=1" })).toBe("/hook/?k=1");
  });

  it("goes on with the rest of the path and the query as they came", () => {
    expect(forward("/eu/7", "x=%20&y=a+b&z='")).toBe("/hook/orders/eu/7?x=%20&y=a+b&z='");
    expect(forward("/")).toBe("/hook/orders/");
    expect(forward("/a//b/")).toBe("/hook/orders/a//b/");
    expect(forward("/a%2Fb%20c/%C3%A4~!$&'()*+,;=:@")).toBe("/hook/orders/a%2Fb%20c/%C3%A4~!$&'()*+,;=:@");
    expect(forward("/...", "", ROOT)).toBe("/...");
  });

  it("makes one slash of two where both have one, and one query of two", () => {
    expect(forward("/eu", "b=2", { pathname: "/hook/", search: "?a=1" })).toBe("/hook/eu?a=1&b=2");
    expect(forward("/eu", "", ROOT)).toBe("/eu");
  });

  it("takes steps upwards within the rest and never above it", () => {
    expect(forward("/a/../b")).toBe("/hook/orders/b");
    expect(forward("/../../rest/credentials")).toBe("/hook/orders/rest/credentials");
    expect(forward("/%2e%2E/.%2e/admin")).toBe("/hook/orders/admin");
    expect(forward("/a/./b/.")).toBe("/hook/orders/a/b/");
    expect(forward("/a/..")).toBe("/hook/orders/");
    expect(forward("/..", "", ROOT)).toBe("/");
  });

  it("leaves encoded slashes alone, unless they hide a step upwards: then they are mere text", () => {
    expect(forward("/group%2Fproject")).toBe("/hook/orders/group%2Fproject");
    expect(forward("/..%2f..%2fadmin")).toBe("/hook/orders/..%252f..%252fadmin");
    expect(forward("/x%5c..%5cadmin")).toBe("/hook/orders/x%255c..%255cadmin");
    expect(forward("/%252e%252e%252fadmin")).toBe("/hook/orders/%25252e%25252e%25252fadmin");
    expect(forward("/..;a=1/admin")).toBe("/hook/orders/..%3Ba=1/admin");
  });

  it("never names another host", () => {
    expect(forward("//evil.example/x", "", ROOT)).toBe("/evil.example/x");
    expect(forward("//evil.example/x")).toBe("/hook/orders//evil.example/x");
    expect(forward("/\\evil.example\\x", "", ROOT)).toBe("/%5Cevil.example%5Cx");
    expect(forward("/@evil.example/", "", ROOT)).toBe("/@evil.example/");
    expect(forward("/\\evil.example\\..\\", "", ROOT)).toBe("/%255Cevil.example%255C..%255C");
    expect(forward("/https://evil.example/", "u=http://evil.example/")).toBe(
      "/hook/orders/https://evil.example/?u=http://evil.example/",
    );
  });

  it("encodes what would end the request line, begin a fragment or be no ASCII", () => {
    expect(forward("/a b\r\nHost: evil", "q=\r\nX: 1")).toBe("/hook/orders/a%20b%0D%0AHost:%20evil?q=%0D%0AX:%201");
    expect(forward("/a#b", "c#d")).toBe("/hook/orders/a%23b?c%23d");
    expect(forward("/\u00e4\u0001\u20ac")).toBe("/hook/orders/%E4%01%EF%BF%BD");
  });

  const hostile = fc
    .array(
      fc.oneof(
        fc.constantFrom("/", "..", ".", "%2e", "%2E%2E", "%2f", "%5c", "\\", "@", ";", "%25", "//", "?", "#", "\r\n"),
        fc.string({ maxLength: 4, unit: "binary" }),
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join(""));
  const bases = fc.constantFrom(HOOK, ROOT, { pathname: "/hook/", search: "?k=1" }, { pathname: "/a", search: "?" });

  it("stays below the destination's path at the same host, whatever was sent", () => {
    fc.assert(
      fc.property(bases, hostile, hostile, (base, rest, query) => {
        const path = buildForwardedPath(base, `/webhook/orders/${rest}`, query);
        expect(path).toMatch(/^\/[\x21-\x7e]*$/);
        expect(path.slice(0, 2)).not.toBe("//");
        const stem = base.pathname.replace(/\/$/, "");
        const url = new URL(path, "https://target.example");
        expect(url.origin).toBe("https://target.example");
        expect(url.hash).toBe("");
        expect(`${url.pathname}/`.startsWith(`${stem}/`)).toBe(true);
        // A parser finds no step to take that was not taken.
        expect(url.pathname.toLowerCase()).toBe(
          (path.split("?", 1)[0] ?? "").replace(/["<>`{}^]/g, encode).toLowerCase(),
        );
        // And neither does a server that decodes first.
        const decoded = url.pathname.replace(/%(2e|2f|5c|3b)/gi, (_, code: string) =>
          String.fromCharCode(Number.parseInt(code, 16)),
        );
        expect(decoded.split(/[/\\]/).filter((part) => part === "..")).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("changes nothing in a path that is an ordinary one", () => {
    const segment = fc.stringMatching(/^[A-Za-z0-9_~!$&'()*+,=:@-]{1,8}(%[0-9A-D][0-9A-D])?$/);
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 5 }),
        fc.stringMatching(/^[A-Za-z0-9_=&%+'-]{0,20}$/),
        (parts, query) => {
          const rest = parts.map((part) => `/${part}`).join("");
          expect(forward(rest, query)).toBe(`/hook/orders${rest}${query === "" ? "" : `?${query}`}`);
        },
      ),
    );
  });
});

function encode(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`;
}
