import type { ServerResponse } from "node:http";

/** The output of one client. */
export interface StreamOutput {
  write(frames: string | Buffer): void;
  /** Bytes that were written but not read yet. */
  readonly waitingBytes: number;
  /** All bytes that were read so far. */
  readonly takenBytes: number;
  /** Resolves when few bytes wait, or when the client is gone. */
  drained(): Promise<void>;
  /** Writes the remaining frames and closes the connection after `graceMs` at the latest. */
  end(last: string, graceMs: number): void;
  onClose(run: () => void): void;
}

/** With fewer waiting bytes than this, a client that catches up gets the next page. */
const LOW_WATER_BYTES = 65_536;

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  // Keeps proxies from caching, compressing or buffering the stream.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
  // The connection ends with the stream, so that a stop does not wait for keep-alive.
  connection: "close",
} as const;

export function openStreamOutput(response: ServerResponse): StreamOutput {
  let written = 0;
  response.writeHead(200, STREAM_HEADERS);
  response.socket?.setNoDelay(true);
  // A client that disconnects during a write is not an error.
  response.on("error", () => undefined);

  return {
    write(frames) {
      if (response.destroyed || response.writableEnded) return;
      written += Buffer.byteLength(frames);
      response.write(frames);
    },
    get waitingBytes() {
      return response.writableLength;
    },
    get takenBytes() {
      return written - response.writableLength;
    },
    drained: () =>
      new Promise((resolve) => {
        if (response.destroyed || response.writableLength <= LOW_WATER_BYTES) return resolve();
        const go = () => {
          response.off("drain", go).off("close", go);
          resolve();
        };
        response.on("drain", go).on("close", go);
      }),
    end(last, graceMs) {
      if (response.destroyed || response.writableEnded) return;
      response.end(last);
      const cut = setTimeout(() => response.destroy(), graceMs).unref();
      response.once("close", () => clearTimeout(cut));
    },
    onClose(run) {
      if (response.destroyed) run();
      else response.once("close", run);
    },
  };
}
