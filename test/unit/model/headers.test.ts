import { describe, expect, it } from "vitest";
import {
  headerLine,
  maskCredentials,
  parseHeaderBlock,
  toHeaderBlock,
  withoutCredentials,
} from "../../../src/model/headers.ts";

describe("a block of headers", () => {
  const headers = { Authorization: "Bearer a: b", "X-Auth-Signature": "sha256=1", "X-Team": "blue", Empty: "" };
  const block = toHeaderBlock(headers);

  it("is what goes over the wire, and can be read again", () => {
    expect(block.startsWith("Authorization: Bearer a: b\r\nX-Auth-Signature: sha256=1\r\n")).toBe(true);
    expect(parseHeaderBlock(block)).toEqual(headers);
    expect([toHeaderBlock({}), parseHeaderBlock("")]).toEqual(["", {}]);
  });

  it("takes nothing that would end a line early or cannot be written", () => {
    for (const value of ["a\r\nx: y", "a\nb", "a\rb", "a\0b", "€", "\x7f"]) {
      expect(() => headerLine("x", value)).toThrow(TypeError);
    }
    for (const name of ["", "a b", "a:", "a\r\n", "ä"]) expect(() => headerLine(name, "x")).toThrow(TypeError);
    expect(headerLine("x", "a\tb é")).toBe("x: a\tb é\r\n");
  });

  it("shows no credentials, and takes none to another origin", () => {
    expect(parseHeaderBlock(maskCredentials(block))).toMatchObject({ Authorization: "***", "X-Team": "blue" });
    const { Authorization: _, ...rest } = headers;
    expect(parseHeaderBlock(withoutCredentials(block))).toEqual(rest);
  });
});
