import { describe, expect, it } from "vitest";
import { createHeaderSeal } from "../../../src/queues/sealed-headers.ts";

const headers = { authorization: "Bearer canary-secret", cookie: "session=canary-cookie" };
const seal = createHeaderSeal("a key that both gateways have, 32+");

describe("sealed headers", () => {
  it("come back with the same key and for the same event", () => {
    expect(seal.open(seal.seal(headers, "evt_1"), "evt_1")).toEqual(headers);
  });

  it("show nothing of what they hold, and are never the same twice", () => {
    const sealed = seal.seal(headers, "evt_1");
    expect(Buffer.from(sealed, "base64").toString("latin1")).not.toContain("canary");
    expect(seal.seal(headers, "evt_1")).not.toBe(sealed);
  });

  // shows: Q46
  it("do not open for another event, with another key, or when a bit was changed", () => {
    const sealed = seal.seal(headers, "evt_1");
    expect(seal.open(sealed, "evt_2")).toBeUndefined();
    expect(createHeaderSeal("another key of another gateway, 32").open(sealed, "evt_1")).toBeUndefined();
    const bytes = Buffer.from(sealed, "base64");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(seal.open(changed.toString("base64"), "evt_1")).toBeUndefined();
    }
  });

  it("do not open when they are garbage or cut short", () => {
    for (const text of ["", "e30=", "AAAA".repeat(9), seal.seal(headers, "evt_1").slice(0, 44)]) {
      expect(seal.open(text, "evt_1")).toBeUndefined();
    }
  });
});
