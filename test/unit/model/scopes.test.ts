import { describe, expect, it } from "vitest";
import { findGroupRule, parseGroupRule } from "../../../src/model/scopes.ts";

describe("a rule for a group", () => {
  it.each([
    ["ops=admin", { group: "ops", scopes: ["admin"], tenantId: undefined }],
    ["support=read+publish", { group: "support", scopes: ["read", "publish"], tenantId: undefined }],
    ["acme team=read@acme", { group: "acme team", scopes: ["read"], tenantId: "acme" }],
    ["cn=ops,ou=groups=admin", { group: "cn=ops,ou=groups", scopes: ["admin"], tenantId: undefined }],
    ["ops@example.com=read", { group: "ops@example.com", scopes: ["read"], tenantId: undefined }],
  ])("reads %s", (text, rule) => {
    expect(parseGroupRule(text)).toEqual(rule);
  });

  it.each([
    ["ops", /is not a rule for a group; write GROUP=SCOPES/],
    ["=admin", /is not a rule for a group/],
    ["ops=", /is not a rule for a group/],
    ["ops=admin@", /is not a rule for a group/],
    ["ops=root", /has the unknown scope "root"; use admin, publish, read/],
    ["ops=read+", /has the unknown scope ""/],
    ["ops=publish", /lacks the scope read/],
  ])("rejects %s", (text, message) => {
    expect(() => parseGroupRule(text)).toThrow(message);
  });

  it("decides when it is the first that names a group of the user, by its whole name", () => {
    const rules = ["acme=read@acme", "ops=admin"].map(parseGroupRule);
    expect(findGroupRule(rules, ["ops", "acme"])?.tenantId).toBe("acme");
    expect(findGroupRule(rules, ["ops"])?.scopes).toEqual(["admin"]);
    expect(findGroupRule(rules, ["op", "OPS", "ops2"])).toBeUndefined();
    expect(findGroupRule(rules, [])).toBeUndefined();
  });
});
