import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync, write } from "node:fs";
import { dirname } from "node:path";

/** A log file rotated by size. A failing disk costs log lines, but never stops the gateway. */
export type LogFile = ReturnType<typeof openLogFile>;

const MAX_WAITING_CHARACTERS = 65_536;

export function openLogFile(options: {
  path: string;
  maxBytes: number;
  /** Rotated files to keep: `path.1` is the youngest, `path.<keep>` the oldest. */
  keep: number;
  /** Called once when writing begins to fail. */
  onTrouble(error: NodeJS.ErrnoException): void;
  /** Formats the line about lost lines, written when writing works again. */
  formatLoss(lines: number): string;
}) {
  const { path, maxBytes, keep } = options;
  let fd: number | undefined;
  let sizeBytes = 0;
  let rotateAtBytes = maxBytes;
  let waiting: string[] = [];
  let waitingCharacters = 0;
  let timer: NodeJS.Immediate | undefined;
  let lostLines = 0;
  let isLineTorn = false;
  let isClosed = false;

  function open(): number {
    mkdirSync(dirname(path), { recursive: true });
    const opened = openSync(path, "a", 0o640);
    const stats = fstatSync(opened);
    sizeBytes = stats.size;
    // A device or a pipe with this name must not be renamed.
    rotateAtBytes = stats.isFile() ? maxBytes : Infinity;
    return opened;
  }

  function rotate(): void {
    if (fd !== undefined) closeSync(fd);
    fd = undefined;
    let failure: unknown;
    try {
      if (keep === 0) rmSync(path, { force: true });
      for (let number = keep - 1; number >= 0; number--) {
        renameIfThere(number === 0 ? path : `${path}.${number}`, `${path}.${number + 1}`);
      }
    } catch (error) {
      failure = error;
    }
    fd = open();
    // When the folder forbids renaming, do not try again at every line.
    if (failure !== undefined) rotateAtBytes = sizeBytes + maxBytes;
  }

  function append(text: string): void {
    const bytes = Buffer.from(text);
    fd ??= open();
    if (sizeBytes > 0 && sizeBytes + bytes.length > rotateAtBytes) rotate();
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(fd, bytes, written);
    } finally {
      sizeBytes += written;
      if (written > 0) isLineTorn = bytes[written - 1] !== 0x0a;
    }
  }

  function flush(): void {
    if (timer !== undefined) clearImmediate(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const lines = waiting;
    waiting = [];
    waitingCharacters = 0;
    try {
      const loss = lostLines > 0 ? options.formatLoss(lostLines) : "";
      append((isLineTorn ? "\n" : "") + loss + lines.join(""));
      lostLines = 0;
    } catch (error) {
      const isNew = lostLines === 0;
      lostLines += lines.length;
      if (isNew) options.onTrouble(error as NodeJS.ErrnoException);
    }
  }

  return {
    /** Accepts a line with its newline; it reaches the file at the end of this turn of the event loop. */
    write(line: string): void {
      if (isClosed) return;
      waiting.push(line);
      waitingCharacters += line.length;
      if (waitingCharacters >= MAX_WAITING_CHARACTERS) flush();
      else timer ??= setImmediate(flush);
    },
    flush,
    close(): void {
      flush();
      isClosed = true;
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

const MAX_WAITING_BYTES = 8 * 1_048_576;
const RETRY_MS = 20;
const STALLED_MS = 1000;

/**
 * Writes text to an open descriptor (stdout) without ever blocking the event loop, growing without bound or
 * throwing: a reader that stalls or goes away costs only log lines. pino's own destination retries a failed
 * synchronous flush forever, which on a full disk would hang the process at its last line.
 */
export function createDescriptorOutput(fd: number) {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let isWriting = false;
  let writingSince = 0;
  let isGone = false;

  function takeWaiting(): Buffer {
    const bytes = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    return bytes;
  }

  function start(bytes: Buffer): void {
    isWriting = true;
    writingSince = performance.now();
    write(fd, bytes, 0, bytes.length, null, (error, written) => {
      if (error?.code === "EAGAIN") {
        setTimeout(start, RETRY_MS, bytes).unref();
        return;
      }
      if (error?.code === "EPIPE" || error?.code === "EBADF") isGone = true;
      const rest = error === null ? bytes.subarray(written) : Buffer.alloc(0);
      if (rest.length > 0) start(rest);
      else if (waiting.length > 0 && !isGone) start(takeWaiting());
      else isWriting = false;
    });
  }

  return {
    write(text: string): void {
      const bytes = Buffer.from(text);
      if (isGone || waitingBytes + bytes.length > MAX_WAITING_BYTES) return;
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (!isWriting) start(takeWaiting());
    },
    /** Writes everything that waits before it returns, unless the reader has stalled. */
    flushSync(): void {
      const isStalled = isWriting && performance.now() - writingSince > STALLED_MS;
      if (isGone || isStalled || waiting.length === 0) return;
      writeAllSync(fd, takeWaiting());
    },
  };
}

function writeAllSync(fd: number, bytes: Buffer): void {
  const giveUpAt = performance.now() + STALLED_MS;
  let written = 0;
  while (written < bytes.length && performance.now() < giveUpAt) {
    try {
      written += writeSync(fd, bytes, written);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
