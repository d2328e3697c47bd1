/** Copying or hashing this much takes two or three milliseconds. */
const STEP_BYTES = 1024 * 1024;

export function isForTurns(body: Uint8Array): boolean {
  return body.length > 2 * STEP_BYTES;
}

/** Passes on a large body in parts, so that the event loop can do other work in between. */
export async function readInTurns(body: Buffer, read: (part: Buffer, at: number) => void): Promise<void> {
  for (let at = 0; at < body.length; at += STEP_BYTES) {
    if (at > 0) await new Promise(setImmediate);
    read(body.subarray(at, at + STEP_BYTES), at);
  }
}
