import { crc32, deflateSync, inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { shrinkPng } from "../../../scripts/screenshots/small-png.ts";

type Pixel = readonly [red: number, green: number, blue: number];

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");

function toChunk(type: string, data: Uint8Array): Buffer {
  const content = Buffer.concat([Buffer.from(type), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, check]);
}

/** With alpha as Chromium writes it, each row by another of the five filters. */
function writePng(rows: readonly (readonly Pixel[])[], depth = 8): Buffer {
  const width = rows[0]?.length ?? 0;
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(rows.length, 4);
  head.set([depth, 6, 0, 0, 0], 8);
  const bytes = rows.map((row) => row.flatMap((pixel) => [...pixel, 255]));
  const lines = bytes.map((row, y) => {
    const filter = y % 5;
    const above = (x: number) => (x < 0 ? 0 : (bytes[y - 1]?.[x] ?? 0));
    const left = (x: number) => (x < 4 ? 0 : (row[x - 4] ?? 0));
    return [
      filter,
      ...row.map((value, x) => (value - guess(filter, left(x), above(x), x < 4 ? 0 : above(x - 4))) & 255),
    ];
  });
  const data = deflateSync(Buffer.from(lines.flat()));
  return Buffer.concat([SIGNATURE, toChunk("IHDR", head), toChunk("IDAT", data), toChunk("IEND", Buffer.alloc(0))]);
}

/** The standard's own words: what the neighbours let expect. */
function guess(filter: number, a: number, b: number, c: number): number {
  const paeth = () => {
    const p = a + b - c;
    const nearest = Math.min(Math.abs(p - a), Math.abs(p - b), Math.abs(p - c));
    return [a, b, c].find((value) => Math.abs(p - value) === nearest) ?? 0;
  };
  return [0, a, b, Math.floor((a + b) / 2), paeth()][filter] ?? 0;
}

function readPalettePng(png: Buffer): Pixel[][] {
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    chunks.set(png.toString("latin1", at + 4, at + 8), data);
    expect(png.readUInt32BE(at + 8 + data.length)).toBe(crc32(png.subarray(at + 4, at + 8 + data.length)));
  }
  const [head, palette] = [chunks.get("IHDR") as Buffer, chunks.get("PLTE") as Buffer];
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const lines = inflateSync(chunks.get("IDAT") as Buffer);
  return Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (__, x) => {
      const at = (lines[y * (width + 1) + 1 + x] ?? 0) * 3;
      return [palette[at] ?? 0, palette[at + 1] ?? 0, palette[at + 2] ?? 0] as const;
    }),
  );
}

describe("a picture that is made small", () => {
  it("has the same pixels while it has up to 64 colours", () => {
    const rows = Array.from({ length: 12 }, (_, y) =>
      Array.from({ length: 20 }, (__, x): Pixel => [(x % 8) * 3, (y % 8) * 2, 240]),
    );
    expect(readPalettePng(shrinkPng(writePng(rows)))).toEqual(rows);
  });

  it("has colours that nobody can tell from the others when it has more", () => {
    const rows = Array.from({ length: 40 }, (_, y) =>
      Array.from({ length: 40 }, (__, x): Pixel => [200 + x, 100 + y, 50]),
    );
    const differences = readPalettePng(shrinkPng(writePng(rows))).flatMap((row, y) =>
      row.flatMap((pixel, x) => pixel.map((value, channel) => Math.abs(value - (rows[y]?.[x]?.[channel] ?? 0)))),
    );
    expect(Math.max(...differences)).toBeGreaterThan(0);
    expect(Math.max(...differences)).toBeLessThan(16);
  });

  it("is rejected when it is of another kind", () => {
    expect(() => shrinkPng(writePng([[[1, 2, 3]]], 16))).toThrow("depth 16");
  });
});
