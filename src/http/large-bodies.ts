import { PosthornError } from "../domain/errors.ts";

/** What every connection may hold without asking: most bodies have far less. */
export const SMALL_BODY_BYTES = 2 * 1024 * 1024;
const MAX_BYTES = 256 * 1024 * 1024;
let heldBytes = 0;

/**
 * Some kinds take 25 MB, from senders who are not known before all of it is there: without a bound for all together, a
 * few hundred of them would take the memory of the whole gateway. One for the process, as is its memory.
 */
export interface LargeBody {
  /** What it has now. Gives back the reason when there is no room for that. */
  hold(byteLength: number): PosthornError | undefined;
  release(): void;
}

export function createLargeBody(maxBytes = MAX_BYTES): LargeBody {
  let own = 0;
  return {
    hold(byteLength) {
      if (heldBytes - own + byteLength > maxBytes) {
        return new PosthornError("overloaded", "Too many large bodies are being received.", { retryAfterS: 5 });
      }
      heldBytes += byteLength - own;
      own = byteLength;
      return undefined;
    },
    release() {
      heldBytes -= own;
      own = 0;
    },
  };
}
