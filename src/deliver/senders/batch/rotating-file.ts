import { constants } from "node:fs";
import { type FileHandle, mkdir, open, realpath, rename, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import type { Clock, Timer } from "../../../domain/clock.ts";
import { isInside } from "./inside.ts";

/** A file that grows by whole lines, and gives way to a new one when it is large or old. */
export interface RotatingFile {
  /**
   * Resolves when the lines, and the file's name, are on disk: a loss of power cannot take them back. One at a time, in
   * the order of the calls. When it rejects, none of them counts as written.
   */
  append(lines: Uint8Array, rules: RotationRules): Promise<void>;
  /** After what was appended. */
  close(): Promise<void>;
}

export interface RotationRules {
  rotateBytes: number;
  rotateMs: number;
}

interface OpenFile {
  handle: FileHandle;
  size: number;
  /** Wall time. */
  madeAt: number;
}

const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = constants;
const LINE_FEED = 0x0a;
const READ_BYTES = 65_536;

/** `root`: the folder that it must lie in, whatever links lead there. */
export function createRotatingFile(path: string, root: string, clock: Clock): RotatingFile {
  let file: OpenFile | undefined;
  let timer: Timer | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = last.then(act);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function openFile(): Promise<OpenFile> {
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (!isInside(await realpath(folder), await realpath(root))) {
      throw new Error(`${folder} leads out of the folder for batches`);
    }
    const handle = await open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
    try {
      const { size, birthtimeMs } = await handle.stat();
      const whole = await findEndOfLastLine(handle, size);
      // A crash in the middle of a write left a part of a line, which nobody was told of.
      if (whole < size) await handle.truncate(whole);
      await handle.sync();
      await syncFolder(folder);
      const wall = clock.wall();
      const isOld = size > 0 && birthtimeMs > 0;
      return { handle, size: whole, madeAt: isOld ? Math.min(wall, birthtimeMs) : wall };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async function rotate({ handle }: OpenFile): Promise<void> {
    file = undefined;
    timer?.cancel();
    timer = undefined;
    await handle.close();
    await rename(path, await findFreeName(path, clock.wall()));
    await syncFolder(dirname(path));
  }

  function rotateLater({ madeAt, handle }: OpenFile, rotateMs: number): void {
    timer?.cancel();
    const waitMs = Math.max(0, madeAt + rotateMs - clock.wall());
    timer = clock.setTimer(clock.now() + waitMs, () => {
      const turn = inTurn(async () => {
        if (file?.handle === handle && file.size > 0) await rotate(file);
      });
      // The next append tries again, and is told of it.
      turn.catch(() => undefined);
    });
  }

  async function write(lines: Uint8Array, { rotateBytes, rotateMs }: RotationRules): Promise<void> {
    file ??= await openFile();
    const isLarge = file.size > 0 && file.size + lines.length > rotateBytes;
    if (isLarge || (file.size > 0 && clock.wall() - file.madeAt >= rotateMs)) {
      await rotate(file);
      file = await openFile();
    }
    const { handle } = file;
    if (file.size === 0) file.madeAt = clock.wall();
    try {
      await handle.appendFile(lines);
    } catch (error) {
      await undo(file);
      throw error;
    }
    try {
      await handle.sync();
    } catch (error) {
      // What of it is on disk is not known, and will not be told a second time: the next lines go to another file.
      await rotate(file);
      throw error;
    }
    file.size += lines.length;
    if (timer === undefined) rotateLater(file, rotateMs);
  }

  /** What was written of a batch that failed would be there twice. */
  async function undo({ handle, size }: OpenFile): Promise<void> {
    try {
      await handle.truncate(size);
    } catch {
      file = undefined;
      await handle.close();
    }
  }

  return {
    append: (lines, rules) => inTurn(() => write(lines, rules)),
    close: () =>
      inTurn(async () => {
        timer?.cancel();
        timer = undefined;
        const { handle } = file ?? {};
        file = undefined;
        await handle?.close();
      }),
  };
}

async function findEndOfLastLine(handle: FileHandle, size: number): Promise<number> {
  const chunk = Buffer.alloc(READ_BYTES);
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - READ_BYTES);
    const { bytesRead } = await handle.read(chunk, 0, end - start, start);
    const at = chunk.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return 0;
}

/** A name is on disk when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `orders.20261117T140509123Z.ndjson`; renaming would replace one of that name. */
async function findFreeName(path: string, wall: number): Promise<string> {
  const extension = extname(path);
  const time = new Date(wall).toISOString().replaceAll(/[-:.]/g, "");
  const name = `${basename(path, extension)}.${time}`;
  for (let count = 0; ; count++) {
    const candidate = join(dirname(path), `${name}${count === 0 ? "" : `-${count}`}${extension}`);
    const isTaken = await stat(candidate).then(
      () => true,
      () => false,
    );
    if (!isTaken) return candidate;
  }
}
