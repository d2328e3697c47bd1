import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * A closed database keeps its files open until its statements are collected, unless it ended with a thread of its own.
 * To be called where no store is referenced any more, so that none is taken for one that was not closed.
 */
export async function collectGarbage(): Promise<void> {
  // What is found in one round is freed in the next turn, and may be what held something else.
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise(setImmediate);
  }
}
