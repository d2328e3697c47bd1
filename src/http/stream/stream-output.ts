import type { ServerResponse } from "node:http";

/** Where the frames of one client go. */
export interface StreamOutput {
  write(frames: string | Buffer): void;
  /** What was written and not taken yet. */
  readonly waitingBytes: number;
  /** All that was ever taken. */
  readonly takenBytes: number;
  /** Resolves when little of it waits, or nobody is there any more. */
  drained(): Promise<void>;
  /** Writes what is left and closes the connection; after `graceMs` at the latest. */
  end(last: string, graceMs: number): void;
  onClose(run: () => void): void;
}

/** Below it a client that reads at its own pace gets the next page. */
const LOW_WATER_BYTES = 65_536;

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  // No proxy keeps it, packs it or waits for more of it.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
  // It ends with the stream: no stop waits for a connection that might be used again.
  connection: "close",
} as const;

export function openStreamOutput(response: ServerResponse): StreamOutput {
  let written = 0;
  response.writeHead(200, STREAM_HEADERS);
  response.socket?.setNoDelay(true);
  // Whoever leaves while something is written to him is no fault.
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
