import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isSourceName } from "../../model/source.ts";
import { VALIDATION_FORMATS, VALIDATION_LIMITS } from "../../model/validation.ts";
import type { ValidationFile } from "./validation-records.ts";

/** The folder where validations can be edited by hand: `orders.json`, `orders.xsd`. */
export interface ValidationFolder {
  /** Undefined when there is no folder. Throws when it cannot be read. */
  look(): Promise<FolderLook | undefined>;
  /** Undefined when there is no such file. */
  read(file: ValidationFile): Promise<Uint8Array | undefined>;
  /** On disk when it resolves; readers see the whole file or none. Creates the folder. */
  write(file: ValidationFile, document: Uint8Array): Promise<void>;
  remove(file: ValidationFile): Promise<void>;
  nameOf(file: ValidationFile): string;
}

export interface FolderLook {
  /** Changes when the folder is replaced, by a mount for instance. */
  identity: string;
  /** By name, each with a value that changes with every write. Undefined: it exists, but could not be examined. */
  files: ReadonlyMap<string, { file: ValidationFile; signature: string | undefined }>;
  /** Names that are not an endpoint. */
  strangers: readonly string[];
}

/** The last dot begins the ending: a name may contain others. */
const NAME = /^(.*)\.([a-z]+)$/;

export function createValidationFolder(path: string): ValidationFolder {
  const nameOf = ({ endpoint, format }: ValidationFile) => `${endpoint}.${format}`;
  const pathOf = (file: ValidationFile) => join(path, nameOf(file));

  return {
    nameOf,
    async look() {
      const folder = await findStats(path);
      if (folder === undefined) return undefined;
      const files = new Map<string, { file: ValidationFile; signature: string | undefined }>();
      const strangers: string[] = [];
      for (const name of await readdir(path)) {
        const file = toFile(name);
        if (file === "stranger") strangers.push(name);
        if (typeof file === "string") continue;
        files.set(name, { file, signature: await signatureOf(join(path, name)) });
      }
      return { identity: `${folder.dev}:${folder.ino}`, files, strangers };
    },
    async read(file) {
      try {
        const { size } = await stat(pathOf(file));
        // Reads just enough to find that it is too large.
        if (size > VALIDATION_LIMITS.maxBytes) return new Uint8Array(VALIDATION_LIMITS.maxBytes + 1);
        return new Uint8Array(await readFile(pathOf(file)));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    async write(file, document) {
      const target = pathOf(file);
      const made = await mkdir(path, { recursive: true });
      if (made !== undefined) await sync(dirname(made));
      const temporary = join(path, `.${nameOf(file)}.${process.pid}.tmp`);
      try {
        const handle = await open(temporary, "w");
        try {
          await handle.writeFile(document);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(temporary, target);
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => undefined);
        throw error;
      }
      await sync(path);
    },
    async remove(file) {
      if ((await findStats(pathOf(file))) === undefined) return;
      await rm(pathOf(file), { force: true });
      await sync(path);
    },
  };
}

/** Hidden files are ignored: editors and mounts create many. */
function toFile(name: string): ValidationFile | "stranger" | "hidden" {
  if (name.startsWith(".")) return "hidden";
  const [, endpoint = "", ending] = NAME.exec(name) ?? [];
  const format = VALIDATION_FORMATS.find((one) => one === ending);
  if (format === undefined) return "hidden";
  return isSourceName(endpoint) ? { endpoint, format } : "stranger";
}

async function signatureOf(path: string): Promise<string | undefined> {
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    return `${mtimeMs}:${ctimeMs}:${size}:${ino}`;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function findStats(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
