import { createHash } from "node:crypto";
import { once } from "node:events";
import { closeSync, createReadStream, createWriteStream, fsyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { extract, type Header, pack, type Pack } from "tar-stream";
import { CommandFailure } from "../failure.ts";
import {
  MANIFEST,
  type Manifest,
  MAX_MANIFEST_BYTES,
  MAX_NAME_LENGTH,
  parseManifest,
  type Part,
  sizeOf,
} from "./manifest.ts";

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

interface ArchiveToWrite {
  /** Must not exist yet; only its owner may read it. */
  file: string;
  manifest: Manifest;
  parts: readonly PartSource[];
  wallMs: number;
  onProgress: (share: number) => void;
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
    // A file that is still being opened would be there after the caller has removed it.
    if (!output.closed) await once(output, "close");
  }
}

async function addParts(tar: Pack, { manifest, parts, wallMs, onProgress }: ArchiveToWrite): Promise<void> {
  const header = { mode: 0o600, mtime: new Date(wallMs) };
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  tar.entry({ ...header, name: MANIFEST }, text);
  const total = sizeOf(manifest);
  let written = 0;
  for (const { name, content } of parts) {
    const size = manifest.parts.find((part) => part.name === name)?.bytes ?? 0;
    if (name.length > MAX_NAME_LENGTH) {
      throw new CommandFailure(`The path ${name} is too long for a backup. Shorten it.`);
    }
    const chunks = readWhole({ name, content }, size, (length) => onProgress((written += length) / total));
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

interface ArchiveToRead {
  file: string;
  /** An existing empty folder for the parts. */
  folder: string;
  onManifest: (manifest: Manifest) => void;
  onProgress: (share: number) => void;
  signal: AbortSignal;
}

type Entry = AsyncIterable<Buffer> & { header: Header };

/** Unpacks an archive and checks every part. When it resolves, all files are synced to disk. */
export async function readArchive(archive: ArchiveToRead): Promise<Manifest> {
  const { file, folder, onManifest, onProgress, signal } = archive;
  const tar = extract();
  const entries = (tar as AsyncIterable<unknown> as AsyncIterable<Entry>)[Symbol.asyncIterator]();
  // A failure of the stream also fails the entries, which report it.
  const unpacked = pipeline(createReadStream(file, { signal }), createGunzip(), tar).catch(() => undefined);
  try {
    const manifest = await readManifest(await nextEntry(entries, NO_TAR));
    onManifest(manifest);
    const total = sizeOf(manifest);
    let done = 0;
    for (const part of manifest.parts) {
      const entry = await nextEntry(entries, "This is not a complete backup: a header is damaged.");
      await readPart(entry, part, folder, (length) => onProgress((done += length) / total));
    }
    // Read to the end: the checksum of the gzip stream is there.
    const more = await nextEntry(entries, "There is data after the end of the backup.");
    if (more !== undefined) throw new CommandFailure("The backup contains more files than its manifest lists.");
    return manifest;
  } catch (error) {
    throw explain(file, error);
  } finally {
    tar.destroy();
    await unpacked;
  }
}

const NO_TAR = "This is not a complete backup: it is not a tar archive.";
/** Messages of tar-stream, whose errors have no codes. */
const UNEXPECTED_END = "Unexpected end of data";

async function nextEntry(entries: AsyncIterator<Entry>, whenDamaged: string): Promise<Entry | undefined> {
  const next = await entries.next().catch((error: NodeJS.ErrnoException) => {
    const isOfTar = error.code === undefined && error.message !== UNEXPECTED_END;
    throw isOfTar ? new CommandFailure(whenDamaged) : error;
  });
  if (next.done === true) return undefined;
  const { name, type } = next.value.header;
  if (type === "file") return next.value;
  throw new CommandFailure(`This is not a complete backup: ${JSON.stringify(name)} is not a plain file.`);
}

async function readManifest(entry: Entry | undefined): Promise<Manifest> {
  if (entry === undefined) throw new Error(UNEXPECTED_END);
  if (entry.header.name !== MANIFEST) {
    throw new CommandFailure(`This is not a backup: it does not begin with ${MANIFEST}.`);
  }
  if (entry.header.size > MAX_MANIFEST_BYTES) throw new CommandFailure(`The backup's ${MANIFEST} is too large.`);
  return parseManifest(await text(entry));
}

async function readPart(entry: Entry | undefined, part: Part, folder: string, onBytes: (length: number) => void) {
  if (entry === undefined) throw new CommandFailure(`The backup ends before its part ${part.name}.`);
  const { name, size } = entry.header;
  if (name !== part.name) {
    throw new CommandFailure(
      `The backup contains ${JSON.stringify(name)} where its manifest lists ${JSON.stringify(part.name)}.`,
    );
  }
  if (size !== part.bytes) {
    throw new CommandFailure(`${part.name} has ${size} bytes, but the manifest says ${part.bytes}.`);
  }
  const path = join(folder, part.name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const handle = openSync(path, "wx", 0o600);
  const hash = createHash("sha256");
  try {
    for await (const chunk of entry) {
      hash.update(chunk);
      writeAll(handle, chunk);
      onBytes(chunk.length);
    }
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  if (hash.digest("hex") !== part.sha256) {
    throw new CommandFailure(`${part.name} does not have the SHA-256 that the manifest lists: it was changed.`);
  }
}

function writeAll(handle: number, chunk: Buffer): void {
  for (let at = 0; at < chunk.length;) at += writeSync(handle, chunk, at);
}

function explain(file: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (message === UNEXPECTED_END || code === "Z_BUF_ERROR") {
    return new CommandFailure(`${file} is cut off: its end is missing. Nothing was restored.`);
  }
  if (code === "ENOENT" || code === "EACCES" || code === "EISDIR") {
    const { path = file } = error as NodeJS.ErrnoException;
    return new CommandFailure(`${path} cannot be read (${code}).`);
  }
  if (code === "Z_DATA_ERROR") return new CommandFailure(`${file} is damaged, or not a backup. Nothing was restored.`);
  if (code === "ENOSPC") return new CommandFailure("The disk is full. Nothing was restored.");
  return error;
}
