import { readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { Clock, Timer } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import { readManifest, type Manifest, type SheetNames } from "./webhook.ts";

/** The sheets of manifests. Changes of manifest files are noticed within two seconds. */
export interface Manifests {
  /** Throws `unavailable`, so that the sender retries, if no valid version of the file was ever read. */
  find(manifest: Manifest): SheetNames;
  close(): void;
}

export interface ManifestsOptions {
  clock: Clock;
  /** Called when a file becomes invalid, or valid again. */
  onBroken: (path: string, reason: string) => void;
  onLoaded: (path: string, sheets: number) => void;
  everyMs?: number;
}

interface Followed {
  version: string;
  /** The last valid manifests. */
  sheets: SheetNames | undefined;
  problem: string | undefined;
}

const EVERY_MS = 2000;
const MAX_BYTES = 4 * 1024 * 1024;

export function openManifests({ clock, onBroken, onLoaded, everyMs = EVERY_MS }: ManifestsOptions): Manifests {
  const files = new Map<string, Followed>();
  const inline = new WeakMap<object, SheetNames>();
  let timer: Timer | undefined;
  let isClosed = false;

  function take(path: string, file: Followed, version: string, read: () => string): void {
    file.version = version;
    try {
      file.sheets = parse(read());
      file.problem = undefined;
      onLoaded(path, file.sheets.size);
    } catch (error) {
      complain(path, file, error);
    }
  }

  function complain(path: string, file: Followed, error: unknown): void {
    const reason = error instanceof PosthornError ? error.message : describe(error);
    // Reported once, not every two seconds.
    if (reason === file.problem) return;
    file.problem = reason;
    onBroken(path, reason);
  }

  async function look(path: string, file: Followed): Promise<void> {
    try {
      const { mtimeMs, size, ino } = await stat(path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (version === file.version) return;
      const text = size > MAX_BYTES ? undefined : await readFile(path, "utf8");
      take(path, file, version, () => text ?? tooLarge());
    } catch (error) {
      file.version = "";
      complain(path, file, error);
    }
  }

  function watch(): void {
    if (isClosed) return;
    timer = clock.setTimer(clock.now() + everyMs, () => {
      void Promise.all([...files].map(([path, file]) => look(path, file))).then(watch);
    });
  }

  return {
    find(manifest) {
      if (typeof manifest !== "string") {
        const known = inline.get(manifest) ?? readManifest(manifest);
        inline.set(manifest, known);
        return known;
      }
      let file = files.get(manifest);
      if (file === undefined) {
        file = { version: "", sheets: undefined, problem: undefined };
        files.set(manifest, file);
        // The first time, the manifest is needed at once; after that it is read in the background.
        take(manifest, file, "", () => readFileSync(manifest, "utf8"));
        if (timer === undefined) watch();
      }
      if (file.sheets === undefined) {
        throw new PosthornError("unavailable", "The manifest of this source cannot be read.", { retryAfterS: 60 });
      }
      return file.sheets;
    },
    close() {
      isClosed = true;
      timer?.cancel();
    },
  };
}

function parse(text: string): SheetNames {
  let manifest: unknown;
  try {
    manifest = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new PosthornError("invalid_field", `The manifest is not JSON: ${(error as Error).message}.`);
  }
  return readManifest(manifest);
}

function tooLarge(): never {
  throw new PosthornError("invalid_field", `The manifest has more than ${MAX_BYTES} bytes.`);
}

function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `The manifest cannot be read (${code}).`;
}
