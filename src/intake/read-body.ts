import type { IncomingMessage } from "node:http";
import type { Done } from "../model/accepted.ts";
import { PosthornError } from "../model/errors.ts";
import type { Work } from "../accept/overload.ts";

/** Bodies up to this size are always accepted, however full the memory is. Most are far smaller. */
const SMALL_BODY_BYTES = 2 * 1024 * 1024;

/** The limit for all bodies together. Some kinds accept 25 MB before they can verify the sender. */
export interface BodyMemory {
  readonly work: Pick<Work, "unansweredBytes">;
  readonly maxUnansweredBytes: number;
}

/**
 * Collects a body up to a size. A longer one is rejected as early as possible, never cut off: by its declared length
 * before anything is read, otherwise by counting. If the connection ends before the body does, nothing is called.
 * The body that `done` gets is counted in `work` until its receiver subtracts it.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  { work, maxUnansweredBytes }: BodyMemory,
  done: Done<Buffer>,
  fail: Done<PosthornError>,
): void {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) return fail(tooLarge(maxBytes, declared));

  let chunks: Buffer[] | undefined;
  let first: Buffer | undefined;
  let whole: Buffer | undefined;
  let size = 0;
  let counted = 0;
  let isOver = false;
  const giveUp = () => {
    isOver = true;
    work.unansweredBytes -= counted;
    counted = 0;
    first = chunks = whole = undefined;
  };

  /** Copies each part of a large body as it comes: joining 25 MB at the end would block the event loop for too long. */
  function takeLarge(chunk: Buffer): void {
    if (whole === undefined && declared >= size) {
      whole = Buffer.allocUnsafeSlow(declared);
      Buffer.concat(chunks ?? []).copy(whole);
      chunks = [];
    }
    if (whole === undefined) chunks?.push(chunk);
    else chunk.copy(whole, size - chunk.length);
  }

  request.on("data", (chunk: Buffer) => {
    if (isOver) return;
    size += chunk.length;
    if (size > maxBytes) {
      giveUp();
      fail(tooLarge(maxBytes, size));
    } else if (first === undefined) {
      first = chunk;
    } else {
      // Only a body that comes in pieces can stay in memory indefinitely.
      if (chunks === undefined) {
        chunks = [first];
        request.once("close", () => isOver || giveUp());
      }
      work.unansweredBytes += size - counted;
      counted = size;
      if (size <= SMALL_BODY_BYTES) {
        chunks.push(chunk);
      } else if (work.unansweredBytes <= maxUnansweredBytes) {
        takeLarge(chunk);
      } else {
        giveUp();
        fail(new PosthornError("overloaded", "Too many large bodies are being received.", { retryAfterS: 5 }));
      }
    }
  });
  request.on("end", () => {
    if (isOver) return;
    isOver = true;
    work.unansweredBytes += size - counted;
    done(whole ?? (chunks === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, size)));
  });
}

function tooLarge(maxBytes: number, size: number): PosthornError {
  return new PosthornError(
    "too_large",
    `The body is larger than the limit of ${maxBytes} bytes (${size} or more). Send less, or raise max_bytes.`,
    { details: { max_bytes: maxBytes } },
  );
}
