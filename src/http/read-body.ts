import type { IncomingMessage } from "node:http";
import { PosthornError } from "../domain/errors.ts";
import type { Work } from "../telemetry/overload.ts";

/**
 * Collects a body up to a size. Longer ones are refused as soon as it is known, never cut: by their declared length
 * before anything is read, else by counting. When the connection ends before the body, nobody waits for an answer.
 * What is handed to `done` is counted in `work` until its receiver takes it away.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  work: Pick<Work, "unansweredBytes">,
  done: (body: Buffer) => void,
  fail: (error: PosthornError) => void,
): void {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) return fail(tooLarge(maxBytes, declared));

  let chunks: Buffer[] | undefined;
  let first: Buffer | undefined;
  let size = 0;
  let counted = 0;
  let isOver = false;
  const giveUp = () => {
    isOver = true;
    work.unansweredBytes -= counted;
    counted = 0;
  };
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
      chunks.push(chunk);
      work.unansweredBytes += size - counted;
      counted = size;
    }
  });
  request.on("end", () => {
    if (isOver) return;
    isOver = true;
    work.unansweredBytes += size - counted;
    done(chunks === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, size));
  });
}

function tooLarge(maxBytes: number, size: number): PosthornError {
  return new PosthornError(
    "too_large",
    `The body is larger than the ${maxBytes} bytes that are taken here (${size} or more). Send less, or raise max_bytes.`,
    { details: { max_bytes: maxBytes } },
  );
}
