import { readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { Clock, Timer } from "../../src/model/clock.ts";
import { PosthornError } from "../../src/model/errors.ts";
import { Type, type Static } from "typebox";
import { Value } from "typebox/value";

/** Today ids have up to 16 digits; a number beyond the precision of a float must be in quotes. */
const SheetId = Type.Union([
  Type.String({ pattern: "^[1-9][0-9]{0,31}$" }),
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
]);

/** `workspace_manifest.json`. */
export const WorkspaceManifest = Type.Object(
  {
    workspace: Type.Optional(
      Type.Object({ id: Type.Optional(SheetId), name: Type.Optional(Type.String({ maxLength: 255 })) }),
    ),
    sheets: Type.Array(Type.Object({ id: SheetId, name: Type.String({ minLength: 1, maxLength: 255 }) }), {
      maxItems: 10_000,
    }),
  },
  { description: "Sheets whose events are accepted: `sheets`, each with `id` and `name`" },
);
export type WorkspaceManifest = Static<typeof WorkspaceManifest>;

/** As in the configuration of a source: the path of a file, or its content. */
export type Manifest = string | Readonly<Record<string, unknown>>;

/** Names of sheets by their ids. */
export type SheetNames = ReadonlyMap<string, string>;

/** Throws `invalid_field` for `manifest` with the reason. */
export function readManifest(manifest: unknown): SheetNames {
  if (!Value.Check(WorkspaceManifest, manifest)) {
    const [first] = Value.Errors(WorkspaceManifest, manifest);
    const where = first === undefined || first.instancePath === "" ? "it" : first.instancePath;
    throw invalidManifest(`${where} ${first?.message ?? "is not valid"}. ${SHAPE}`);
  }
  const sheets = new Map<string, string>();
  for (const { id, name } of manifest.sheets) {
    const digits = String(id);
    if (sheets.has(digits)) throw invalidManifest(`the sheet ${digits} is listed twice.`);
    sheets.set(digits, name);
  }
  return sheets;
}

const SHAPE = 'Write {"sheets": [{"id": "4509506114742148", "name": "Purchase orders"}]}; ids beyond 2^53 in quotes';

function invalidManifest(reason: string): PosthornError {
  return new PosthornError("invalid_field", `The manifest is not valid: ${reason}`, { field: "manifest" });
}

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
