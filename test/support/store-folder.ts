import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach } from "vitest";
import { collectGarbage } from "./collect-garbage.ts";
import { MEMORY_FOLDER } from "./memory-folder.ts";

/** A folder for each test that asks for one, gone after it with all that was opened there. */
export function useFolder(parent = MEMORY_FOLDER): {
  readonly path: string;
  onEnd(close: () => void | Promise<void>): void;
} {
  let path: string | undefined;
  let closers: (() => void | Promise<void>)[] = [];

  afterEach(async () => {
    for (const close of closers.toReversed()) await close();
    closers = [];
    if (path !== undefined) rmSync(path, { recursive: true });
    path = undefined;
  });
  afterAll(collectGarbage);

  return {
    get path() {
      return (path ??= mkdtempSync(join(parent, "posthorn-")));
    },
    onEnd(close) {
      closers.push(close);
    },
  };
}
