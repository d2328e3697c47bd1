import type { IncomingMessage } from "node:http";
import { PosthornError } from "../domain/errors.ts";
import type { Work } from "../telemetry/overload.ts";

/** Most bodies have far less: whoever was let in may send so much, however full the memory is by then. */
const SMALL_BODY_BYTES = 2 * 1024 * 1024;

/** What all bodies together may hold. Some kinds take 25 MB, from senders who are not known before all of it is there. */
export interface BodyMemory {
  readonly work: Pick<Work, "unansweredBytes">;
  readonly maxUnansweredBytes: number;
}

/**
 * Collects a body up to a size. Longer ones are refused as soon as it is known, never cut: by their declared length
 * before anything is read, else by counting. When the connection ends before the body, nobody waits for an answer.
 * What is handed to `done` is counted in `work` until its receiver takes it away.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  { work, maxUnansweredBytes }: BodyMemory,
  done: (body: Buffer) => void,
  fail: (error: PosthornError) => void,
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

  /** Of a large one each part is put in its place as it comes: to join 25 MB at the end would take the loop too long. */
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
      // Only what comes in pieces can stay in memory without an end.
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
    `The body is larger than the ${maxBytes} bytes that are taken here (${size} or more). Send less, or raise max_bytes.`,
    { details: { max_bytes: maxBytes } },
  );
}
