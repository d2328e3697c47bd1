import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack, type Pack } from "tar-stream";
import { CommandFailure } from "../failure.ts";
import { MANIFEST, MAX_NAME_LENGTH, type Manifest, type Part } from "./manifest.ts";

/** A part of an archive: bytes in memory, or a file. */
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
  /** Must not exist yet; only its owner may read it. */
  file: string;
  manifest: Manifest;
  parts: readonly PartSource[];
  wallMs: number;
  onProgress: (bytes: number) => void;
  signal: AbortSignal;
}

/** A gzipped tar that `tar xzf` can read: the manifest, then the parts in its order. */
export async function writeArchive(archive: ArchiveToWrite): Promise<void> {
  const tar = pack();
  const output = createWriteStream(archive.file, { flags: "wx", mode: 0o600, flush: true });
  const written = pipeline(tar, createGzip({ level: 6 }), output, { signal: archive.signal });
  // A failure of the stream also fails the entry that is being written.
  addParts(tar, archive).catch((error: Error) => tar.destroy(error));
  try {
    await written;
  } finally {
    // A file that is still being opened would be there after whoever called has removed it.
    if (!output.closed) await once(output, "close");
  }
}

async function addParts(tar: Pack, { manifest, parts, wallMs, onProgress }: ArchiveToWrite): Promise<void> {
  const header = { mode: 0o600, mtime: new Date(wallMs) };
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  tar.entry({ ...header, name: MANIFEST }, text);
  let written = 0;
  for (const { name, content } of parts) {
    const size = manifest.parts.find((part) => part.name === name)?.bytes ?? 0;
    if (name.length > MAX_NAME_LENGTH) {
      throw new CommandFailure(`The path ${name} is too long for a backup. Shorten it.`);
    }
    const chunks = readWhole({ name, content }, size, (length) => onProgress((written += length)));
    await pipeline(chunks, tar.entry({ ...header, name, size }));
  }
  tar.finalize();
}

async function* readWhole({ name, content }: PartSource, bytes: number, onBytes: (length: number) => void) {
  let sent = 0;
  const chunks: Iterable<Buffer> | AsyncIterable<Buffer> = Buffer.isBuffer(content)
    ? [content]
    : createReadStream(content.file, { highWaterMark: 256 * 1024 });
  for await (const chunk of chunks) {
    sent += chunk.length;
    onBytes(chunk.length);
    yield chunk;
  }
  if (sent !== bytes) throw new CommandFailure(`${name} changed while it was written. Try again.`);
}
