import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { CommandFailure } from "../failure.ts";
import { MANIFEST, type Manifest, type Part } from "./manifest.ts";
import { countPadding, encodeTarHeader, TAR_BLOCK_BYTES } from "./tar-header.ts";

/** What becomes a part of an archive: bytes at hand, or a file. */
export interface PartSource {
  name: string;
  content: Buffer | { file: string };
}

export async function describePart({ name, content }: PartSource): Promise<Part> {
  const hash = createHash("sha256");
  if (Buffer.isBuffer(content)) return { name, bytes: content.length, sha256: hash.update(content).digest("hex") };
  await pipeline(createReadStream(content.file), hash);
  return { name, bytes: (await stat(content.file)).size, sha256: hash.digest("hex") };
}

export interface ArchiveToWrite {
  /** Must not exist; only its owner may read it. */
  file: string;
  manifest: Manifest;
  parts: readonly PartSource[];
  wallMs: number;
  onProgress: (bytes: number) => void;
  signal: AbortSignal;
}

/** A gzipped tar that `tar xzf` can read: the manifest, then the parts in its order. */
export async function writeArchive(archive: ArchiveToWrite): Promise<void> {
  const output = createWriteStream(archive.file, { flags: "wx", mode: 0o600, flush: true });
  await pipeline(Readable.from(tarBlocks(archive)), createGzip({ level: 6 }), output, { signal: archive.signal });
}

async function* tarBlocks({ manifest, parts, wallMs, onProgress }: ArchiveToWrite): AsyncGenerator<Buffer> {
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  yield* tarFile(MANIFEST, text.length, wallMs, [text]);
  let written = 0;
  for (const { name, content } of parts) {
    const bytes = manifest.parts.find((part) => part.name === name)?.bytes ?? 0;
    const chunks: Iterable<Buffer> | AsyncIterable<Buffer> = Buffer.isBuffer(content)
      ? [content]
      : createReadStream(content.file, { highWaterMark: 256 * 1024 });
    for await (const chunk of tarFile(name, bytes, wallMs, chunks)) {
      written += chunk.length;
      onProgress(written);
      yield chunk;
    }
  }
  yield Buffer.alloc(2 * TAR_BLOCK_BYTES);
}

async function* tarFile(
  name: string,
  bytes: number,
  wallMs: number,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const header = encodeTarHeader({ name, bytes, mode: 0o600, modifiedAtS: Math.floor(wallMs / 1000) });
  if (header === undefined) throw new CommandFailure(`The path ${name} is too long for a backup. Shorten it.`);
  yield header;
  let sent = 0;
  for await (const chunk of chunks) {
    sent += chunk.length;
    yield chunk;
  }
  if (sent !== bytes) throw new CommandFailure(`${name} changed while it was written. Try again.`);
  yield Buffer.alloc(countPadding(bytes));
}
