import type { Random } from "../../src/model/clock.ts";

/** Repeatable random numbers for simulations and tests: sfc32, seeded with any number. Never for secrets. */
export function createSeededRandom(seed: number): Random {
  let a = seed | 0;
  let b = Math.floor(seed / 2 ** 32) | 0;
  let c = 0x9e3779b9 | 0;
  let counter = 1;

  function nextWord(): number {
    const word = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + word) | 0;
    return word >>> 0;
  }

  // Similar seeds start with similar numbers; this many steps separate them.
  for (let step = 0; step < 15; step++) nextWord();

  return {
    next: () => ((nextWord() >>> 5) * 2 ** 26 + (nextWord() >>> 6)) / 2 ** 53,
    bytes(length) {
      const out = new Uint8Array(length);
      for (let at = 0; at < length; at += 4) {
        const word = nextWord();
        out[at] = word;
        out[at + 1] = word >>> 8;
        out[at + 2] = word >>> 16;
        out[at + 3] = word >>> 24;
      }
      return out;
    },
  };
}
