/** The XML parser declares a limit of two gigabytes of memory. In this thread it gets less. */
export interface WasmMemory {
  /** So much memory is used that a restart is worth it. */
  isLarge(): boolean;
  /** The parser asked for more memory than allowed. */
  isExhausted(): boolean;
}

const PAGE_BYTES = 65_536;
const LARGE_BYTES = 64 * 1024 * 1024;
/** The tree of the largest accepted body takes less than half of it. */
const MAX_BYTES = 384 * 1024 * 1024;

interface MemoryPrototype {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: { prototype: MemoryPrototype } } }).WebAssembly;

/** For the whole thread, because no limit can be set before a memory is created. */
export function limitWasmMemory(maxBytes = MAX_BYTES): WasmMemory {
  const grow = Memory.prototype.grow;
  let bytes = 0;
  let isExhausted = false;
  Memory.prototype.grow = function (this: MemoryPrototype, pages: number) {
    const wanted = this.buffer.byteLength + pages * PAGE_BYTES;
    // The caller may ask again for less.
    isExhausted = wanted > maxBytes;
    if (isExhausted) throw new RangeError("The memory may not grow any more.");
    bytes = Math.max(bytes, wanted);
    return grow.call(this, pages);
  };
  return { isLarge: () => bytes > LARGE_BYTES || isExhausted, isExhausted: () => isExhausted };
}
