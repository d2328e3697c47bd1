import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Pages have few colours and many shades between them at the edges of letters, of which nobody misses most. */
const MAX_COLOURS = 64;
/** Grounds and lines, which are as they are however alike. */
const EXACT_COLOURS = 16;

interface Pixels {
  width: number;
  height: number;
  /** Three bytes each, row by row. */
  rgb: Uint8Array;
}

/** The same picture with at most 64 colours: the file is a quarter as large. */
export function shrinkPng(png: Uint8Array): Buffer {
  const pixels = readPng(Buffer.from(png));
  const { palette, indexes } = reduceColours(pixels);
  const { width, height } = pixels;
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) lines.set(indexes.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // 8 bits, palette.
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    toChunk("IHDR", head),
    toChunk("PLTE", Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))),
    toChunk("IDAT", deflateSync(lines, { level: 9, memLevel: 9 })),
    toChunk("IEND", Buffer.alloc(0)),
  ]);
}

function toChunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, check]);
}

/** As Chromium writes them: 8 bits a channel, with or without alpha, not interlaced. */
function readPng(png: Buffer): Pixels {
  const parts: Buffer[] = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") {
      [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
      const [depth, colourType, , , interlaced] = data.subarray(8);
      channels = colourType === 6 ? 4 : 3;
      if (depth !== 8 || (colourType !== 6 && colourType !== 2) || interlaced !== 0) {
        throw new Error(`A PNG of depth ${depth} and colour type ${colourType} cannot be read; 8 with 2 or 6 can.`);
      }
    }
    if (type === "IDAT") parts.push(data);
    at += length + 12;
  }
  return { width, height, rgb: unfilter(inflateSync(Buffer.concat(parts)), width, height, channels) };
}

/** Each row is stored as differences from its neighbours (PNG 3rd edition, section 9). */
function unfilter(data: Buffer, width: number, height: number, channels: number): Uint8Array {
  const rowBytes = width * channels;
  const rgb = new Uint8Array(width * height * 3);
  let above = new Uint8Array(rowBytes);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (rowBytes + 1)];
    const row = Uint8Array.from(data.subarray(y * (rowBytes + 1) + 1, (y + 1) * (rowBytes + 1)));
    for (let x = 0; x < rowBytes; x += 1) {
      const left = x < channels ? 0 : (row[x - channels] as number);
      const up = above[x] as number;
      const upLeft = x < channels ? 0 : (above[x - channels] as number);
      row[x] = ((row[x] as number) + predict(filter, left, up, upLeft)) & 255;
    }
    for (let from = 0, to = y * width * 3; from < rowBytes; from += channels, to += 3) {
      rgb[to] = row[from] as number;
      rgb[to + 1] = row[from + 1] as number;
      rgb[to + 2] = row[from + 2] as number;
    }
    above = row;
  }
  return rgb;
}

function predict(filter: number | undefined, left: number, up: number, upLeft: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [toLeft, toUp, toBoth] = [Math.abs(up - upLeft), Math.abs(left - upLeft), Math.abs(left + up - 2 * upLeft)];
  if (toLeft <= toUp && toLeft <= toBoth) return left;
  return toUp <= toBoth ? up : upLeft;
}

/** The most frequent colours as they are, every other one as the nearest of these. */
function reduceColours({ rgb }: Pixels): { palette: number[]; indexes: Uint8Array } {
  const colours = new Uint32Array(rgb.length / 3);
  for (let at = 0; at < colours.length; at += 1) {
    const from = at * 3;
    colours[at] = ((rgb[from] as number) << 16) | ((rgb[from + 1] as number) << 8) | (rgb[from + 2] as number);
  }
  const palette = choosePalette(countColours(colours));
  const indexOf = new Map(palette.map((colour, index) => [colour, index]));
  const indexes = new Uint8Array(colours.length);
  let [former, index] = [-1, 0];
  for (const [at, colour] of colours.entries()) {
    if (colour !== former) {
      index = indexOf.get(colour) ?? findNearest(palette, colour);
      indexOf.set(colour, index);
      former = colour;
    }
    indexes[at] = index;
  }
  return { palette, indexes };
}

/** By runs: a page is mostly ground. */
function countColours(colours: Uint32Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (let begin = 0, end = 0; begin < colours.length; begin = end) {
    const colour = colours[begin] as number;
    while (end < colours.length && colours[end] === colour) end += 1;
    counts.set(colour, (counts.get(colour) ?? 0) + end - begin);
  }
  return counts;
}

/** The most frequent ones, and of the others those that are unlike all before them. */
function choosePalette(counts: ReadonlyMap<number, number>): number[] {
  const byCount = [...counts].toSorted(([, a], [, b]) => b - a).map(([colour]) => colour);
  let palette = byCount;
  for (let apart = 4; palette.length > MAX_COLOURS; apart += 2) {
    palette = byCount.slice(0, EXACT_COLOURS);
    for (const colour of byCount.slice(EXACT_COLOURS)) {
      if (palette.every((other) => distanceBetween(colour, other) > apart * apart)) palette.push(colour);
      if (palette.length > MAX_COLOURS) break;
    }
  }
  return palette;
}

function findNearest(palette: readonly number[], colour: number): number {
  let [best, least] = [0, Infinity];
  for (const [index, other] of palette.entries()) {
    const distance = distanceBetween(colour, other);
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

/** Squared. */
function distanceBetween(one: number, other: number): number {
  const red = (one >> 16) - (other >> 16);
  const green = ((one >> 8) & 255) - ((other >> 8) & 255);
  const blue = (one & 255) - (other & 255);
  return red * red + green * green + blue * blue;
}
