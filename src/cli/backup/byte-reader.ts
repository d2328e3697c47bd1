/** Reads a stream piece by piece, by count. */
export interface ByteReader {
  /** Exactly so many; undefined when the stream ends before. */
  take(bytes: number): Promise<Buffer | undefined>;
  /** As they come, so many in all. False when the stream ends before. */
  pass(bytes: number, onChunk: (chunk: Buffer) => void): Promise<boolean>;
  /** Reads to the end, and says whether all of it was zeros. */
  drain(): Promise<boolean>;
}

export function createByteReader(stream: AsyncIterable<Buffer>): ByteReader {
  const chunks = stream[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);

  async function fill(): Promise<boolean> {
    const next = await chunks.next();
    if (next.done === true) return false;
    rest = next.value;
    return true;
  }

  async function pass(bytes: number, onChunk: (chunk: Buffer) => void): Promise<boolean> {
    let missing = bytes;
    while (missing > 0) {
      if (rest.length === 0 && !(await fill())) return false;
      const chunk = rest.subarray(0, missing);
      rest = rest.subarray(chunk.length);
      missing -= chunk.length;
      if (chunk.length > 0) onChunk(chunk);
    }
    return true;
  }

  return {
    pass,
    async take(bytes) {
      const taken: Buffer[] = [];
      const isThere = await pass(bytes, (chunk) => taken.push(chunk));
      return isThere ? Buffer.concat(taken) : undefined;
    },
    async drain() {
      let isZero = true;
      do isZero &&= rest.every((byte) => byte === 0);
      while (await fill());
      return isZero;
    },
  };
}
