import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findBase64Bytes, findHexBytes, findKeyProblem } from "../../../src/model/secrets.ts";
import { NO_BASE64, NO_HEX } from "../../support/weak-secrets.ts";

const bytes = fc.uint8Array({ minLength: 1, maxLength: 80 }).map((some) => Buffer.from(some));

describe("the bytes behind a text", () => {
  it("come back from hex, in small letters or capitals", () => {
    fc.assert(
      fc.property(bytes, (some) => {
        expect(findHexBytes(some.toString("hex"))).toEqual(some);
        expect(findHexBytes(some.toString("hex").toUpperCase())).toEqual(some);
      }),
    );
  });

  it("come back from base64 of either alphabet, with its padding or without", () => {
    fc.assert(
      fc.property(bytes, (some) => {
        const text = some.toString("base64");
        const urlSafe = text.replaceAll("+", "-").replaceAll("/", "_");
        for (const each of [text, urlSafe, text.replace(/=+$/, ""), urlSafe.replace(/=+$/, "")]) {
          expect(findBase64Bytes(each)).toEqual(some);
        }
      }),
    );
  });

  it("are found only in texts that can be written back as they were", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.base64String(),
          fc.string({ unit: fc.constantFrom(..."0123456789abcdefABx=-_+/".split("")) }),
        ),
        (text) => {
          const isHex = findHexBytes(text)?.toString("hex") === text.toLowerCase();
          expect(isHex || findHexBytes(text) === undefined).toBe(true);
          const standard = text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
          const isBase64 = findBase64Bytes(text)?.toString("base64").replace(/=+$/, "") === standard;
          expect(isBase64 || findBase64Bytes(text) === undefined).toBe(true);
        },
      ),
    );
  });

  it.each(NO_HEX)("are no key in %j as hex", (text) => {
    const key = findHexBytes(text);
    expect(key === undefined || findKeyProblem(key) !== undefined).toBe(true);
  });

  it.each(NO_BASE64)("are no key in %j as base64", (text) => {
    const key = findBase64Bytes(text);
    expect(key === undefined || findKeyProblem(key) !== undefined).toBe(true);
  });

  it("must be sixteen, and not all alike: HMAC takes zeros for no key at all", () => {
    expect(findKeyProblem(Buffer.from("0123456789abcde"))).toContain("15 bytes");
    expect(findKeyProblem(Buffer.from("0123456789abcdef"))).toBeUndefined();
    expect(findKeyProblem(Buffer.alloc(32))).toContain("zero bytes");
    expect(findKeyProblem(Buffer.alloc(32, "x"))).toContain("guessed");
    expect(findKeyProblem(Buffer.concat([Buffer.from("abcdefg"), Buffer.alloc(25)]))).toContain("zero bytes");
    expect(findKeyProblem(Buffer.concat([Buffer.from("abcdefghijklmn"), Buffer.alloc(2)]))).toBeUndefined();
    expect(findKeyProblem(Buffer.alloc(0))).toContain("0 bytes");
  });
});
