import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Clock } from "../../../domain/clock.ts";

export interface RereadFileOptions<Value> {
  path: string;
  /** What lies beyond is not read. */
  maxBytes: number;
  clock: Pick<Clock, "now">;
  /** Of an empty text where there is no such file. */
  parse: (text: string) => Value;
}

const LOOK_EVERY_MS = 1000;

/**
 * What a small file of the system says: read when first asked for, and again when it has changed. In the turn of the
 * call: it takes microseconds, and a file on the pool of libuv would wait behind all others there.
 */
export function createRereadFile<Value>({ path, maxBytes, clock, parse }: RereadFileOptions<Value>): () => Value {
  let version: string | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let value: Value;

  function look(): void {
    let file: number | undefined;
    try {
      file = openSync(path, "r");
      const { mtimeMs, size, ino } = fstatSync(file);
      const found = `${mtimeMs} ${size} ${ino}`;
      if (found === version) return;
      const bytes = Buffer.alloc(Math.min(size, maxBytes));
      value = parse(bytes.toString("utf8", 0, readSync(file, bytes)));
      version = found;
    } catch {
      // Systems without it are not broken: then it says nothing.
      if (version !== "") value = parse("");
      version = "";
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  return () => {
    const now = clock.now();
    if (now - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = now;
      look();
    }
    return value;
  };
}
