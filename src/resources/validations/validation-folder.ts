import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { startRounds, type Clock, type Rounds } from "../../model/clock.ts";
import { isSourceName } from "../../model/source.ts";
import { VALIDATION_FORMATS, VALIDATION_LIMITS } from "../../model/validation.ts";
import type { Logger } from "../../telemetry/logger.ts";
import { idOf, type ValidationFile } from "./validation-records.ts";
import { openValidations, type ValidationsOptions } from "./validations.ts";

/** A file whose content is not in force, and why. */
export interface BrokenFile {
  name: string;
  endpoint: string;
  reason: string;
}

interface MirroredValidationsOptions extends Omit<ValidationsOptions, "mirror"> {
  clock: Clock;
  folder: string;
  /** Called when the result of `listBroken` has changed. */
  onBrokenChange: () => void;
  logger: Pick<Logger, "warn" | "info">;
}

/** A file is imported when it has not changed between two polls, so nobody is still writing it. */
const EVERY_MS = 600;

interface Known {
  file: ValidationFile;
  signature: string | undefined;
  /** Its state at the last poll, until it is imported. */
  pending: string | undefined;
  isMissed: boolean;
}

/**
 * The validations together with their folder, which are kept in sync: files edited by hand are imported, changes by API
 * are written out. Polls the folder, because many mounts lose the notifications of the file system.
 */
export async function openMirroredValidations(options: MirroredValidationsOptions) {
  const { clock, folder: path, logger, onBrokenChange } = options;
  const folder = createFolder(path);
  const known = new Map<string, Known>();
  const broken = new Map<string, BrokenFile>();
  const strangers = new Set<string>();
  let identity: string | undefined;
  let hasTrouble = false;
  let rounds: Rounds | undefined;
  let isStopped = false;

  async function look(): Promise<void> {
    const seen = await folder.look();
    // A missing folder, perhaps not mounted yet, does not mean that everything shall be deleted.
    if (seen === undefined) {
      identity = undefined;
      return;
    }
    const isFirst = seen.identity !== identity;
    if (isFirst) known.clear();
    for (const [name, { file, signature }] of seen.files) await meet(name, file, signature, isFirst);
    for (const [name, one] of known) if (!seen.files.has(name)) await miss(name, one);
    if (isFirst) await writeMissing(new Set(seen.files.keys()));
    for (const name of seen.strangers) warnOfStranger(name);
    identity = seen.identity;
  }

  async function meet(
    name: string,
    file: ValidationFile,
    signature: string | undefined,
    isFirst: boolean,
  ): Promise<void> {
    const one = known.get(name) ?? { file, signature: undefined, pending: undefined, isMissed: false };
    known.set(name, one);
    one.isMissed = false;
    if (signature === undefined || one.signature === signature) return;
    if (!isFirst && one.pending !== signature) {
      one.pending = signature;
      return;
    }
    await take(name, file, isFirst ? "first" : "later");
    one.signature = signature;
    one.pending = undefined;
  }

  async function take(name: string, file: ValidationFile, when: "first" | "later"): Promise<void> {
    const reason = await validations.takeFile(file, () => folder.read(file), when).catch(readFault);
    if (reason === undefined) return mend(name);
    if (broken.get(name)?.reason === reason) return;
    const { endpoint } = file;
    logger.warn({ file: name, endpoint, reason }, "a validation file cannot be used, the previous one stays in force");
    broken.set(name, { name, endpoint, reason });
    onBrokenChange();
  }

  async function miss(name: string, one: Known): Promise<void> {
    // Editors remove a file for a moment when they save it.
    if (!one.isMissed) {
      one.isMissed = true;
      return;
    }
    await validations.loseFile(one.file, async () => (await folder.read(one.file)) === undefined);
    known.delete(name);
    mend(name);
  }

  async function writeMissing(names: ReadonlySet<string>): Promise<void> {
    for (const one of validations.list()) if (!names.has(idOf(one))) await validations.restoreFile(one);
  }

  function mend(name: string): void {
    const was = broken.get(name);
    if (was === undefined) return;
    logger.info({ file: name, endpoint: was.endpoint }, "a validation file can be used again");
    broken.delete(name);
    onBrokenChange();
  }

  function warnOfStranger(name: string): void {
    if (strangers.has(name) || strangers.size > 100) return;
    strangers.add(name);
    logger.warn({ file: name }, "a file in the folder of validations does not have the name of an endpoint");
  }

  async function run(): Promise<void> {
    await look();
    hasTrouble = false;
  }

  /** Reported once, not at every poll. An error because the store was closed is not a fault. */
  function onFault(error: unknown): void {
    if (!hasTrouble && !isStopped) logger.warn({ error, folder: path }, "the folder of validations cannot be read");
    hasTrouble = true;
  }

  const validations = await openValidations({
    ...options,
    async mirror({ endpoint, format, document }) {
      try {
        if (document === undefined) await folder.remove({ endpoint, format });
        else await folder.write({ endpoint, format }, document);
        return true;
      } catch (error) {
        logger.warn({ error, folder: path }, "a validation is in force, but cannot be written to its folder");
        return false;
      }
    },
  });

  return {
    ...validations,
    /** Files in the folder that differ from the validation in force. */
    listBroken: (): readonly BrokenFile[] => [...broken.values()],
    /** Resolves after the first poll. */
    async start(): Promise<void> {
      await run().catch(onFault);
      if (!isStopped) rounds = startRounds({ clock, everyMs: EVERY_MS, run, onFault });
    },
    async stop(): Promise<void> {
      isStopped = true;
      await rounds?.stop();
    },
  };
}

/** An error about one file is that file's problem; all other errors are not. */
function readFault(error: unknown): string {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof syscall !== "string") throw error;
  return `cannot be read (${code})`;
}

/** The last dot begins the ending: a name may contain others. */
const NAME = /^(.*)\.([a-z]+)$/;

/** The folder where validations can be edited by hand: `orders.json`, `orders.xsd`. */
function createFolder(path: string) {
  const pathOf = (file: ValidationFile) => join(path, idOf(file));

  return {
    /** Undefined when there is no folder. Throws when it cannot be read. */
    async look() {
      const folder = await findStats(path);
      if (folder === undefined) return undefined;
      /** By name, each with a value that changes with every write. Undefined: it exists, but could not be examined. */
      const files = new Map<string, { file: ValidationFile; signature: string | undefined }>();
      /** Names that are not an endpoint. */
      const strangers: string[] = [];
      for (const name of await readdir(path)) {
        const file = toFile(name);
        if (file === "stranger") strangers.push(name);
        if (typeof file === "string") continue;
        files.set(name, { file, signature: await signatureOf(join(path, name)) });
      }
      // Another one when the folder is replaced, by a mount for instance.
      return { identity: `${folder.dev}:${folder.ino}`, files, strangers };
    },
    /** Undefined when there is no such file. */
    async read(file: ValidationFile): Promise<Uint8Array | undefined> {
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
    /** On disk when it resolves; readers see the whole file or none. Creates the folder. */
    async write(file: ValidationFile, document: Uint8Array): Promise<void> {
      const target = pathOf(file);
      const made = await mkdir(path, { recursive: true });
      if (made !== undefined) await sync(dirname(made));
      const temporary = join(path, `.${idOf(file)}.${process.pid}.tmp`);
      try {
        await writeFile(temporary, document, { flush: true });
        await rename(temporary, target);
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => undefined);
        throw error;
      }
      await sync(path);
    },
    async remove(file: ValidationFile): Promise<void> {
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
