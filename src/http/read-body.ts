import type { IncomingMessage } from "node:http";
import { PosthornError } from "../domain/errors.ts";
import { createLargeBody, SMALL_BODY_BYTES, type LargeBody } from "./large-bodies.ts";

/**
 * Collects a body up to a size. Longer ones are refused as soon as it is known, never cut: by their declared length
 * before anything is read, else by counting. When the connection ends before the body, nobody waits for an answer.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  done: (body: Buffer) => void,
  fail: (error: PosthornError) => void,
): void {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) return fail(tooLarge(maxBytes, declared));

  let chunks: Buffer[] | undefined;
  let first: Buffer | undefined;
  let size = 0;
  let isOver = false;
  let large: LargeBody | undefined;
  let whole: Buffer | undefined;

  /** Of a large one each part is put in its place as it comes: to join 25 MB at the end would take the loop too long. */
  function takeLarge(chunk: Buffer): void {
    if (large === undefined) request.once("close", (large = createLargeBody()).release);
    const refused = large.hold(size);
    if (refused !== undefined) {
      isOver = true;
      chunks = whole = undefined;
      return fail(refused);
    }
    if (whole === undefined && declared >= size) {
      whole = Buffer.allocUnsafeSlow(declared);
      Buffer.concat(chunks ?? (first === undefined ? [] : [first])).copy(whole);
      chunks = first = undefined;
    }
    if (whole === undefined) (chunks ??= first === undefined ? [] : [first]).push(chunk);
    else chunk.copy(whole, size - chunk.length);
  }

  request.on("data", (chunk: Buffer) => {
    if (isOver) return;
    size += chunk.length;
    if (size > maxBytes) {
      isOver = true;
      fail(tooLarge(maxBytes, size));
    } else if (size > SMALL_BODY_BYTES) {
      takeLarge(chunk);
    } else if (first === undefined) {
      first = chunk;
    } else {
      chunks ??= [first];
      chunks.push(chunk);
    }
  });
  request.on("end", () => {
    if (isOver) return;
    isOver = true;
    if (whole !== undefined) return done(whole);
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
