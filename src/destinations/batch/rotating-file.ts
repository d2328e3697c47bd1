import { constants } from "node:fs";
import { type FileHandle, mkdir, open, realpath, rename, stat } from "node:fs/promises";
import { basename, dirname, extname, join, isAbsolute, relative } from "node:path";
import { createTurns, type Clock, type Timer } from "../../model/clock.ts";

interface RotationRules {
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

export type RotatingFile = ReturnType<typeof createRotatingFile>;

/**
 * A file to which whole lines are appended. A new file is begun when it is large or old. `root`: the folder that the
 * file must be in, after all links are followed.
 */
export function createRotatingFile(path: string, root: string, clock: Clock) {
  let file: OpenFile | undefined;
  let timer: Timer | undefined;
  const inTurn = createTurns();

  async function openFile(): Promise<OpenFile> {
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (!isInside(await realpath(folder), await realpath(root))) {
      throw new Error(`${folder} leads outside the folder for batches`);
    }
    const handle = await open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
    try {
      const { size, birthtimeMs } = await handle.stat();
      const whole = await findEndOfLastLine(handle, size);
      // A crash in the middle of a write left an incomplete line, which was never reported as written.
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
      // The next append tries again, and its caller gets the error.
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
      // How much of it is on disk is not known, and a second fsync would not tell: the next lines go to another file.
      await rotate(file);
      throw error;
    }
    file.size += lines.length;
    if (timer === undefined) rotateLater(file, rotateMs);
  }

  /** Removes the written part of a failed batch; otherwise its rows would be there twice after the retry. */
  async function undo({ handle, size }: OpenFile): Promise<void> {
    try {
      await handle.truncate(size);
    } catch {
      file = undefined;
      await handle.close();
    }
  }

  return {
    /**
     * Resolves when the lines and the file's name are on disk, so that a power cut cannot lose them. Calls are carried
     * out one at a time, in order. When it rejects, none of the lines counts as written.
     */
    append: (lines: Uint8Array, rules: RotationRules): Promise<void> => inTurn(() => write(lines, rules)),
    /** Resolves after all appends that were begun. */
    close: (): Promise<void> =>
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

/** A file name is on disk only when its folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `orders.20261117T140509123Z.ndjson`. The name must be free: renaming would replace an existing file. */
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

/** Whether a path is inside a folder, judged by the names only: links are not followed. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
}
