import type { Clock } from "../../domain/clock.ts";
import { startRounds, type Rounds } from "../../domain/rounds.ts";
import type { ValidationFile } from "../../registry/validations.ts";
import type { ValidationFolder } from "./validation-folder.ts";
import type { Validations } from "./validations.ts";

/**
 * Keeps the folder and the store the same. What is edited by hand comes in, what is changed by API is written out. Looks
 * again and again: notices of file systems are lost on many mounts.
 */
export interface ValidationSync {
  /** Resolves after the first look. */
  start(): Promise<void>;
  /** Writes the file of a version, or removes it; false when that could not be done. */
  mirror(version: ValidationFile & { document: Uint8Array | undefined }): Promise<boolean>;
  stop(): Promise<void>;
}

export interface ValidationSyncOptions {
  folder: ValidationFolder;
  validations: Pick<Validations, "list" | "takeFile" | "loseFile" | "restoreFile">;
  clock: Clock;
  /** A file cannot be used, by this name and for this reason: what was in force before still is. */
  onBroken: (file: ValidationFile, name: string, reason: string) => void;
  /** It is right again, or gone. */
  onMended: (file: ValidationFile, name: string) => void;
  /** The folder could not be read or written. */
  onTrouble: (error: unknown, what: string) => void;
  onStranger: (name: string) => void;
  everyMs?: number | undefined;
}

/** A file is taken when it has not changed between two looks: nobody is writing it any more. */
const EVERY_MS = 600;

interface Known {
  file: ValidationFile;
  signature: string | undefined;
  /** What it was at the last look, while that is not taken yet. */
  pending: string | undefined;
  isMissed: boolean;
}

export function createValidationSync(options: ValidationSyncOptions): ValidationSync {
  const { folder, validations, clock, onBroken, onMended, onTrouble, onStranger, everyMs = EVERY_MS } = options;
  const known = new Map<string, Known>();
  const broken = new Map<string, { file: ValidationFile; reason: string }>();
  const strangers = new Set<string>();
  let identity: string | undefined;
  let hasTrouble = false;
  let rounds: Rounds | undefined;
  let isStopped = false;

  async function look(): Promise<void> {
    const seen = await folder.look();
    // A folder that is gone, or not mounted yet, is no wish to delete anything.
    if (seen === undefined) {
      identity = undefined;
      return;
    }
    const isFirst = seen.identity !== identity;
    if (isFirst) known.clear();
    for (const [name, { file, signature }] of seen.files) await meet(name, file, signature, isFirst);
    for (const [name, one] of known) if (!seen.files.has(name)) await miss(name, one);
    if (isFirst) await writeMissing(new Set(seen.files.keys()));
    for (const name of seen.strangers) tellStranger(name);
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
    broken.set(name, { file, reason });
    onBroken(file, name, reason);
  }

  async function miss(name: string, one: Known): Promise<void> {
    // Editors take a file away for a moment when they save it.
    if (!one.isMissed) {
      one.isMissed = true;
      return;
    }
    await validations.loseFile(one.file, async () => (await folder.read(one.file)) === undefined);
    known.delete(name);
    mend(name);
  }

  async function writeMissing(names: ReadonlySet<string>): Promise<void> {
    for (const one of validations.list()) if (!names.has(folder.nameOf(one))) await validations.restoreFile(one);
  }

  function mend(name: string): void {
    const was = broken.get(name);
    broken.delete(name);
    if (was !== undefined) onMended(was.file, name);
  }

  function tellStranger(name: string): void {
    if (strangers.has(name) || strangers.size > 100) return;
    strangers.add(name);
    onStranger(name);
  }

  async function run(): Promise<void> {
    await look();
    hasTrouble = false;
  }

  /** Once, and not at every look; a store that is closed under it is no fault. */
  function onFault(error: unknown): void {
    if (!hasTrouble && !isStopped) onTrouble(error, "the folder of validations cannot be read");
    hasTrouble = true;
  }

  return {
    async start() {
      await run().catch(onFault);
      if (!isStopped) rounds = startRounds({ clock, everyMs, run, onFault });
    },
    async mirror({ endpoint, format, document }) {
      try {
        if (document === undefined) await folder.remove({ endpoint, format });
        else await folder.write({ endpoint, format }, document);
        return true;
      } catch (error) {
        onTrouble(error, "a validation is in force, but cannot be written to its folder");
        return false;
      }
    },
    async stop() {
      isStopped = true;
      await rounds?.stop();
    },
  };
}

/** What the file system says of one file is that file's fault; all else is not. */
function readFault(error: unknown): string {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof syscall !== "string") throw error;
  return `cannot be read (${code})`;
}
