import { withSpan, type Trace } from "./trace-context.ts";

const traceBytes = Buffer.alloc(24);

/**
 * The trace context of an attempt: a span in the trace that the event came with, or in a new trace of the event's own.
 */
export function attemptTrace(
  event: { id: string; trace?: Trace | undefined },
  deliveryId: string,
  attempt: number,
): Trace {
  const [c, d] = scatter(deliveryId, attempt);
  writeWord(c, 16);
  writeWord(d, 20);
  if (event.trace !== undefined) return withSpan(event.trace, traceBytes.toString("hex", 16));
  const [a, b] = scatter(event.id, 0);
  writeWord(a, 0);
  writeWord(b, 4);
  writeWord(a ^ Math.imul(b, 5), 8);
  writeWord(b ^ Math.imul(a, 7), 12);
  // All bytes in one call: JavaScript takes longer to format one number than this takes for all of them.
  const digits = traceBytes.toString("hex");
  return `00-${digits.slice(0, 32)}-${digits.slice(32)}-01`;
}

/** Writes 1 instead of 0: an id of only zeros is invalid. */
function writeWord(word: number, at: number): void {
  traceBytes.writeUInt32BE(word >>> 0 || 1, at);
}

/**
 * Two 32-bit hashes of the text and the seed. They name spans and protect nothing, so a faster function than a digest
 * is enough.
 */
function scatter(text: string, seed: number): [number, number] {
  let a = seed ^ 0xdeadbeef;
  let b = seed ^ 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return [a, b];
}
