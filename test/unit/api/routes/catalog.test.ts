import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { EventType } from "../../../../src/model/event-type.ts";
import { CATALOG_PAGE, writeCatalog } from "../../../../src/api/routes/event-types.ts";

const HOSTILE = `</pre><script>alert(1)</script>"'&`;
const type: EventType = {
  name: "order.created",
  description: HOSTILE,
  producer: HOSTILE,
  consumers: [HOSTILE],
  status: "deprecated",
  deprecatedAt: Date.UTC(2026, 0, 31),
  replacedBy: "order.placed",
  enforce: true,
  versions: [{ version: "1.0", schema: { title: HOSTILE }, example: { a: HOSTILE }, createdAt: 0 }],
  managedBy: "api",
  createdAt: 0,
  updatedAt: 0,
};

describe("the catalogue page", () => {
  const page = [...writeCatalog([type])].join("");

  it("shows what partners need, and leaves out what they do not", () => {
    for (const part of [
      "order.created",
      "Deprecated</strong> since 2026-01-31",
      'href="#order.placed"',
      "version 1.0",
    ]) {
      expect(page).toContain(part);
    }
    expect(page).not.toContain("managed");
  });

  it("names neither who sends such events nor who else gets them", () => {
    const named = { ...type, producer: "orders-service", consumers: ["Inventory", "Accounting"] };
    const text = [...writeCatalog([named])].join("");
    expect(text).toContain("order.created");
    expect(text).not.toMatch(/orders-service|Inventory|Accounting|Producer|Consumers/);
  });

  it("shows hostile text as text", () => {
    expect(page).not.toMatch(/<script|alert\(1\)<\/script/);
    expect(page).toContain("&#60;script&#62;alert(1)");
  });

  it("loads nothing, runs nothing, and allows nothing but its own style", () => {
    expect(page).not.toMatch(/\b(src|href)="(?!#)|@import|url\(|<link|<img|\son[a-z]+=/);
    const [, style = ""] = /<style>([^]*?)<\/style>/.exec(page) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    const policy = CATALOG_PAGE.headers["content-security-policy"];
    expect(policy).toContain(`style-src 'sha256-${hash}'`);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
  });
});
