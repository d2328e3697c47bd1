import { type Clock, startRounds, type Rounds } from "../../model/clock.ts";
import type { ValidationFile } from "./validation-records.ts";
import type { ValidationFolder } from "./validation-folder.ts";
import type { Validations } from "./validations.ts";

/**
 * Keeps the folder and the store in sync. Files edited by hand are imported, changes by API are written out. Polls
 * the folder, because many mounts lose the notifications of the file system.
 */
export interface ValidationSync {
  /** Resolves after the first poll. */
  start(): Promise<void>;
  /** Writes or deletes the file of a version; false when that failed. */
  mirror(version: ValidationFile & { document: Uint8Array | undefined }): Promise<boolean>;
  stop(): Promise<void>;
}

export interface ValidationSyncOptions {
  folder: ValidationFolder;
  validations: Pick<Validations, "list" | "takeFile" | "loseFile" | "restoreFile">;
  clock: Clock;
  /** Called when a file cannot be used, with the reason: the previous validation stays in force. */
  onBroken: (file: ValidationFile, name: string, reason: string) => void;
  /** Called when the file is valid again, or deleted. */
  onMended: (file: ValidationFile, name: string) => void;
  /** Called when the folder could not be read or written. */
  onTrouble: (error: unknown, what: string) => void;
  onStranger: (name: string) => void;
  everyMs?: number | undefined;
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

  /** Reported once, not at every poll. An error because the store was closed is not a fault. */
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

/** An error about one file is that file's problem; all other errors are not. */
function readFault(error: unknown): string {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof syscall !== "string") throw error;
  return `cannot be read (${code})`;
}
