import { write, writeSync } from "node:fs";

/**
 * Writes text to an open descriptor (stdout) without ever blocking the event loop, growing without bound or
 * throwing: a reader that stalls or goes away costs only log lines. pino's own destination retries a failed
 * synchronous flush forever, which on a full disk would hang the process at its last line.
 */
export type DescriptorOutput = ReturnType<typeof createDescriptorOutput>;

const MAX_WAITING_BYTES = 8 * 1_048_576;
const RETRY_MS = 20;
const STALLED_MS = 1000;

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
