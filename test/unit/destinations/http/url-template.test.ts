import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandUrl, findTemplateProblem } from "../../../../src/destinations/http/request-templates.ts";

describe("a URL with a place for the source", () => {
  // shows: B29
  it("gets the name of the source wherever it says so", () => {
    expect(expandUrl("https://a.example/hook/{source}/in?from={source}", "orders")).toBe(
      "https://a.example/hook/orders/in?from=orders",
    );
    expect(expandUrl("https://a.example/hook", "orders")).toBe("https://a.example/hook");
  });

  it("stays at its host and in its folder, whatever a source is called", () => {
    const template = "https://a.example/hook/{source}";
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom(".", "..", "$&", "a/../b")),
        (name) => {
          const url = new URL(expandUrl(template, name));
          expect(url.origin).toBe("https://a.example");
          expect(url.search + url.hash).toBe("");
          expect(url.pathname).toMatch(/^\/hook\/[^/]*$/);
        },
      ),
    );
  });

  it.each([
    "https://{source}/hook",
    "https://{source}.example/hook",
    "https://a.example:{source}/",
    "https://u{source}@a.example/",
    "https:{source}",
    "https:\\\\{source}\\hook",
    "{source}://a.example/",
  ])("cannot have it where it would choose the host: %s", (url) => {
    expect(findTemplateProblem(url)).toBeDefined();
  });

  it("knows no other places, so that a slip of the pen is told", () => {
    expect(findTemplateProblem("https://a.example/{sources}")).toContain("{sources}");
    expect(findTemplateProblem("https://a.example/{}")).toBeDefined();
    expect(findTemplateProblem("https://a.example/{source}?q={source}")).toBeUndefined();
    expect(findTemplateProblem("https://a.example/plain")).toBeUndefined();
  });
});
