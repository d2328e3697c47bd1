import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countPadding, decodeTarHeader, encodeTarHeader } from "../../../../src/cli/backup/tar-header.ts";

const header = { name: "config/posthorn.yaml", bytes: 1234, mode: 0o600, modifiedAtS: 1_760_000_000 };

describe("a tar header", () => {
  it("comes back as it was written", () => {
    const name = fc
      .array(fc.stringMatching(/^[a-zA-Zäß0-9 _.-]{1,40}$/), { minLength: 1, maxLength: 4 })
      .map((segments) => segments.join("/"));
    const bytes = fc.oneof(fc.nat(), fc.maxSafeNat());
    fc.assert(
      fc.property(name, bytes, (name, bytes) => {
        const block = encodeTarHeader({ ...header, name, bytes });
        fc.pre(block !== undefined);
        expect(block).toHaveLength(512);
        expect(decodeTarHeader(block)).toEqual({ ...header, name, bytes });
      }),
    );
  });

  it("has room for a name of 100 bytes, or of 255 with a slash in the right place", () => {
    const encode = (name: string) => encodeTarHeader({ ...header, name });
    expect(encode("x".repeat(100))).toBeDefined();
    expect(encode("x".repeat(101))).toBeUndefined();
    expect(encode(`${"x".repeat(155)}/${"y".repeat(100)}`)).toBeDefined();
    expect(encode(`${"x".repeat(156)}/${"y".repeat(100)}`)).toBeUndefined();
  });

  it("is refused when any of its bytes has changed", () => {
    const block = encodeTarHeader(header);
    if (block === undefined) throw new Error("the name fits");
    fc.assert(
      fc.property(fc.nat(511), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const changed = Buffer.from(block);
        changed[at] = ((changed[at] ?? 0) + by) % 256;
        // The last two bytes of the checksum's field, and what pads it, say nothing.
        fc.pre(at < 148 || at >= 156);
        expect(decodeTarHeader(changed)).toHaveProperty("problem");
      }),
    );
  });

  it("refuses links and folders, which could lead anywhere", () => {
    for (const type of ["1", "2", "5", "x"]) {
      const block = encodeTarHeader(header);
      if (block === undefined) throw new Error("the name fits");
      const before = Number.parseInt(block.toString("latin1", 148, 154), 8);
      block.write(type, 156, "latin1");
      const after = before - "0".charCodeAt(0) + type.charCodeAt(0);
      block.write(after.toString(8).padStart(6, "0"), 148, "latin1");
      expect(decodeTarHeader(block)).toEqual({ problem: '"config/posthorn.yaml" is not a plain file' });
    }
  });

  it("ends an archive with zeros, and pads a file to whole blocks", () => {
    expect(decodeTarHeader(Buffer.alloc(512))).toBe("end");
    expect([0, 1, 511, 512, 513].map(countPadding)).toEqual([0, 511, 1, 0, 511]);
  });
});
