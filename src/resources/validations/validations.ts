import { PosthornError } from "../../model/errors.ts";
import { VALIDATION_FORMATS, type ValidationFormat } from "../../model/validation.ts";
import type { Conditions, Entry } from "../resource.ts";
import { createTurns } from "../../model/clock.ts";
import {
  hashOf,
  notFound,
  openStoredValidations,
  seriesOf,
  type EndedValidation,
  type LiveValidation,
  type PutValidation,
  type StoredValidationsOptions,
  type ValidationFile,
  type ValidationInput,
  type ValidationVersion,
} from "./validation-records.ts";

export type Validations = Awaited<ReturnType<typeof openValidations>>;

interface PutVersion extends Pick<PutValidation, "latestVersion"> {
  /** The version of the document. */
  version: number;
}

export interface ValidationsOptions extends StoredValidationsOptions {
  /** Writes or deletes the file of a version; false when that failed. */
  mirror: (version: ValidationFile & { document: Uint8Array | undefined }) => Promise<boolean>;
}

/** The author of versions that came from a file. */
const FOLDER = "folder";

/** The validations of webhooks by endpoint, together with a folder in which they can be edited. */
export async function openValidations(options: ValidationsOptions) {
  const { store, mirror } = options;
  const stored = await openStoredValidations(options);
  /** States recorded since the entries were read, by the number of the record. */
  const recorded = new Map<number, string>();
  // One after the other, so that files are written in the order of the versions.
  const inTurn = createTurns();

  const isMirrored = ({ seq, state, thing }: Entry<LiveValidation>) =>
    isRecorded(recorded.get(seq) ?? state, thing.version);

  async function recordMirrored({ seq, thing }: Entry<LiveValidation>): Promise<void> {
    const state = stateOf(thing.version);
    await store.records.recordStates([{ seq, state }]);
    recorded.set(seq, state);
  }

  function recordRemoved({ endpoint, version }: EndedValidation): Promise<void> {
    return store.records.recordStates([{ series: seriesOf(endpoint), number: version, state: stateOf(version) }]);
  }

  async function writeOut(entry: Entry<LiveValidation>): Promise<void> {
    if (await mirror(entry.thing)) await recordMirrored(entry);
  }

  async function removeFile(ended: EndedValidation): Promise<void> {
    if (await mirror({ ...ended, document: undefined })) await recordRemoved(ended);
  }

  async function writeNew({ entry, latestVersion }: PutValidation): Promise<PutVersion> {
    if (!isMirrored(entry)) await writeOut(entry);
    return { version: entry.thing.version, latestVersion };
  }

  /** The stored version could not be written to the folder, so the file is an older one. */
  async function replaceOld(file: ValidationFile, hash: string): Promise<boolean> {
    const entry = stored.find(file);
    if (entry !== undefined && isMirrored(entry)) return false;
    const { latest, isKnown } = await stored.lookUp(file, hash);
    if (!isKnown || latest === undefined) return false;
    if (entry !== undefined) {
      await writeOut(entry);
      return true;
    }
    if (isRecorded(latest.state, latest.version)) return false;
    await removeFile(latest);
    return true;
  }

  return {
    list: stored.list,
    versions: stored.versions,
    latestVersion: stored.latestVersion,
    /** The validation in force; JSON before XSD, unless a format is given. */
    get(endpoint: string, format: ValidationFormat | undefined): LiveValidation {
      const formats = format === undefined ? VALIDATION_FORMATS : [format];
      const found = formats.map((one) => stored.find({ endpoint, format: one })).find((one) => one !== undefined);
      if (found === undefined) throw notFound(endpoint, format);
      return found.thing;
    },
    /** Never a version that is a deletion. */
    async getVersion(
      endpoint: string,
      version: number,
    ): Promise<ValidationVersion & { document: Uint8Array; hash: string }> {
      const found = await stored.findVersion(endpoint, version);
      if (found?.document !== undefined && found.hash !== undefined) {
        return { ...found, document: found.document, hash: found.hash };
      }
      const what = found === undefined ? "There is no" : "There is no document in";
      throw new PosthornError("not_found", `${what} version ${version} of the validation of ${endpoint}.`);
    },
    put: (input: ValidationInput, conditions?: Conditions) =>
      inTurn(async () => writeNew(await stored.put(input, conditions))),
    remove: (endpoint: string, format: ValidationFormat | undefined, by: string, ifMatch?: string) =>
      inTurn(async () => {
        for (const ended of await stored.remove(endpoint, format, by, ifMatch)) await removeFile(ended);
      }),
    rollBack: (endpoint: string, version: number, by: string, ifMatch?: string) =>
      inTurn(async () => writeNew(await stored.rollBack(endpoint, version, by, ifMatch))),
    /**
     * Imports a new or edited file; `read` finds nothing when it was deleted again. Resolves to undefined when it is in
     * force now, otherwise to the reason why not. At the first poll a file may be older than the version in the store.
     */
    takeFile: (
      file: ValidationFile,
      read: () => Promise<Uint8Array | undefined>,
      look: "first" | "later",
    ): Promise<string | undefined> =>
      inTurn(async () => {
        const document = await read();
        if (document === undefined) return undefined;
        const hash = hashOf(document);
        const known = stored.find(file);
        if (known?.thing.hash === hash) {
          if (!isMirrored(known)) await recordMirrored(known);
          return undefined;
        }
        if (look === "first" && (await replaceOld(file, hash))) return undefined;
        try {
          await recordMirrored((await stored.put({ ...file, document, by: FOLDER })).entry);
          return undefined;
        } catch (error) {
          return readReason(error);
        }
      }),
    /** Handles a deleted file, if it is still missing. */
    loseFile: (file: ValidationFile, isGone: () => Promise<boolean>) =>
      inTurn(async () => {
        if (stored.find(file) === undefined || !(await isGone())) return;
        for (const ended of await stored.remove(file.endpoint, file.format, FOLDER)) await recordRemoved(ended);
      }),
    /** Writes a file that is missing. */
    restoreFile: (file: ValidationFile) =>
      inTurn(async () => {
        const entry = stored.find(file);
        if (entry !== undefined) await writeOut(entry);
      }),
  };
}

/** Says that the folder has this version. */
function stateOf(version: number): string {
  return JSON.stringify({ mirrored: version });
}

function isRecorded(state: string | undefined, version: number): boolean {
  return state !== undefined && (JSON.parse(state) as { mirrored?: number }).mirrored === version;
}

/** For a file, malformed content is just another problem. */
function readReason(error: unknown): string {
  if (!(error instanceof PosthornError)) throw error;
  if (error.code === "unreadable_body") return `cannot be read: ${describePlace(error)}`;
  if (error.code === "invalid_validation") return String(error.details?.["reason"]);
  throw error;
}

/** The message of the error is for somebody who sent a body, and not for the editor of a file. */
function describePlace({ details, message }: PosthornError): string {
  const { reason, line, column } = details ?? {};
  return reason === undefined ? message : `${String(reason)} at line ${String(line)}, column ${String(column)}`;
}
