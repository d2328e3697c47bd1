import { describe, expect, it } from "vitest";
import { nameForLog } from "../../../src/model/tenant.ts";

describe("the name of a subscription in the log", () => {
  it.each([
    ["contact: bob@acme.example", "contact: b***@acme.example"],
    ["contact: +493012345678", "contact: ***678"],
    ["contact: https://acme.example/hooks/secret?key=1", "contact: https://acme.example"],
    // The name was cut off before the @.
    [`contact: ${"b".repeat(191)}`, "contact: ***"],
  ])("masks the address of a contact: %s", (name, expected) => {
    expect(nameForLog({ name, managedBy: "contact" })).toBe(expected);
  });

  it("is the name itself where somebody else chose it", () => {
    expect(nameForLog({ name: "contact: bob@acme.example", managedBy: "api" })).toBe("contact: bob@acme.example");
  });
});
