import { describe, expect, it } from "vitest";
import { limitWasmMemory } from "../../../../src/sandbox/checks/limit-wasm-memory.ts";

interface Memory {
  grow(pages: number): number;
}
const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: new (size: { initial: number }) => Memory } })
  .WebAssembly;
const MEGABYTE_PAGES = 16;

describe("the memory of a parser", () => {
  it("grows up to its limit and no further, and who asks for less is served again", () => {
    const watched = limitWasmMemory(100 * 1024 * 1024);
    const memory = new Memory({ initial: 1 });
    memory.grow(50 * MEGABYTE_PAGES);
    expect([watched.isLarge(), watched.isExhausted()]).toEqual([false, false]);
    expect(() => memory.grow(60 * MEGABYTE_PAGES)).toThrow(/may not grow/);
    expect([watched.isLarge(), watched.isExhausted()]).toEqual([true, true]);
    memory.grow(30 * MEGABYTE_PAGES);
    expect([watched.isLarge(), watched.isExhausted()]).toEqual([true, false]);
  });
});
