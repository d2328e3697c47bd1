import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/**
 * A closed database keeps its files open until its statements are collected, unless it ends with a thread of its own.
 * Call it where no store is referenced any more, so that none is taken for one that was not closed.
 */
export const collectGarbage = runInNewContext("gc") as () => void;
