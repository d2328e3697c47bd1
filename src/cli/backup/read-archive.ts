import { createHash } from "node:crypto";
import { closeSync, createReadStream, fsyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { createGunzip } from "node:zlib";
import { CommandFailure } from "../failure.ts";
import { createByteReader, type ByteReader } from "./byte-reader.ts";
import { MANIFEST, MAX_MANIFEST_BYTES, parseManifest, type Manifest, type Part } from "./manifest.ts";
import { countPadding, decodeTarHeader, TAR_BLOCK_BYTES, type TarHeader } from "./tar-header.ts";

export interface ArchiveToRead {
  file: string;
  /** Where the parts go; it is there and empty. */
  folder: string;
  /** Before the first part is written. */
  onManifest: (manifest: Manifest) => void;
  onProgress: (bytes: number) => void;
  signal: AbortSignal;
}

/** Unpacks an archive and believes nothing that it cannot check. Every file is on disk when it resolves. */
export async function readArchive(archive: ArchiveToRead): Promise<Manifest> {
  const { file, folder, onManifest, onProgress, signal } = archive;
  const input = createReadStream(file, { signal });
  const unpacked = createGunzip();
  input.on("error", (error) => unpacked.destroy(error));
  input.pipe(unpacked);
  try {
    const bytes = createByteReader(unpacked as AsyncIterable<Buffer>);
    const manifest = await readManifest(bytes);
    onManifest(manifest);
    let done = 0;
    for (const part of manifest.parts) {
      await readPart(bytes, part, folder, (length) => onProgress((done += length)));
    }
    if ((await readHeader(bytes)) !== "end") throw new CommandFailure("The backup holds more than its manifest names.");
    // To the end, where the packed stream has its own checksum.
    if (!(await bytes.drain())) throw new CommandFailure("Something follows the end of the backup.");
    return manifest;
  } catch (error) {
    throw explain(file, error);
  } finally {
    input.destroy();
    unpacked.destroy();
  }
}

async function readManifest(bytes: ByteReader): Promise<Manifest> {
  const header = await readHeader(bytes);
  if (header === "end" || header.name !== MANIFEST) {
    throw new CommandFailure(`This is no backup: it does not begin with ${MANIFEST}.`);
  }
  if (header.bytes > MAX_MANIFEST_BYTES) throw new CommandFailure(`The backup's ${MANIFEST} is too large.`);
  const text = (await takeAll(bytes, header.bytes)).toString("utf8");
  await takeAll(bytes, countPadding(header.bytes));
  return parseManifest(text);
}

async function readPart(bytes: ByteReader, part: Part, folder: string, onBytes: (length: number) => void) {
  const header = await readHeader(bytes);
  if (header === "end") throw new CommandFailure(`The backup ends before its part ${part.name}.`);
  if (header.name !== part.name) {
    throw new CommandFailure(
      `The backup holds ${JSON.stringify(header.name)} where its manifest names ${JSON.stringify(part.name)}.`,
    );
  }
  if (header.bytes !== part.bytes) {
    throw new CommandFailure(`${part.name} has ${header.bytes} bytes, and ${part.bytes} by the manifest.`);
  }
  const path = join(folder, part.name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const handle = openSync(path, "wx", 0o600);
  const hash = createHash("sha256");
  try {
    const isWhole = await bytes.pass(part.bytes, (chunk) => {
      hash.update(chunk);
      writeAll(handle, chunk);
      onBytes(chunk.length);
    });
    if (!isWhole) throw new CutOff();
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  await takeAll(bytes, countPadding(part.bytes));
  if (hash.digest("hex") !== part.sha256) {
    throw new CommandFailure(`${part.name} does not have the SHA-256 that the manifest names: it was changed.`);
  }
}

async function readHeader(bytes: ByteReader): Promise<TarHeader | "end"> {
  const header = decodeTarHeader(await takeAll(bytes, TAR_BLOCK_BYTES));
  if (header !== "end" && "problem" in header) throw new CommandFailure(`This is no whole backup: ${header.problem}.`);
  return header;
}

async function takeAll(bytes: ByteReader, count: number): Promise<Buffer> {
  const taken = await bytes.take(count);
  if (taken === undefined) throw new CutOff();
  return taken;
}

function writeAll(handle: number, chunk: Buffer): void {
  for (let at = 0; at < chunk.length;) at += writeSync(handle, chunk, at);
}

class CutOff extends Error {}

function explain(file: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof CutOff || code === "Z_BUF_ERROR") {
    return new CommandFailure(`${file} is cut off: its end is missing. Nothing was restored.`);
  }
  if (code === "ENOENT" || code === "EACCES" || code === "EISDIR") {
    const { path = file } = error as NodeJS.ErrnoException;
    return new CommandFailure(`${path} cannot be read (${code}).`);
  }
  if (code === "Z_DATA_ERROR") return new CommandFailure(`${file} is damaged, or no backup. Nothing was restored.`);
  if (code === "ENOSPC") return new CommandFailure("The disk is full. Nothing was restored.");
  return error;
}
