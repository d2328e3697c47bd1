import { describe, expect, it } from "vitest";
import { parseUrl } from "../../../src/model/addresses.ts";

describe("parsing a URL", () => {
  it("gives it, or nothing for what is none", () => {
    expect(parseUrl("https://example.com/a")?.href).toBe("https://example.com/a");
    expect(parseUrl("../b?c", "https://example.com/a/")?.href).toBe("https://example.com/b?c");
    for (const text of ["", "example.com", "http://", "http://[::1", "http://a b/"]) {
      expect(parseUrl(text)).toBeUndefined();
    }
  });

  // What V8 optimises after some thousand calls went wrong in `URL.canParse`.
  it("is the same however often it is done", () => {
    const urls = new Set<string | undefined>();
    for (let time = 0; time < 50_000; time++) urls.add(parseUrl("http://m\u00fcnchen.example/\u00e4")?.href);
    expect([...urls]).toEqual(["http://xn--mnchen-3ya.example/%C3%A4"]);
  });
});
