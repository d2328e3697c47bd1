import { createHash } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { VALIDATION_FORMATS, VALIDATION_LIMITS, type Validation, type ValidationFormat } from "../domain/validation.ts";
import type { NewValidationRow, ValidationRow, ValidationVersionRow } from "../store/port/validations.ts";
import type { Page, PageOf, Store } from "../store/store.ts";
import { createTurns } from "../registry/in-turn.ts";

/** What webhooks must be like, by endpoint: in memory for whoever asks, in the store for good, in a folder to be edited. */
export interface Validations {
  /** What is in force, by endpoint and format. */
  list(): readonly LiveValidation[];
  /** The one in force; JSON before XSD, unless a format is asked for. */
  get(endpoint: string, format: ValidationFormat | undefined): LiveValidation;
  /** Not a version that is a deletion. */
  getVersion(endpoint: string, version: number): Promise<LiveValidation>;
  versions(endpoint: string, page: Page): Promise<PageOf<ValidationVersionRow>>;
  /** The number of the latest version of an endpoint, of whatever format; undefined before the first. */
  latestVersion(endpoint: string): number | undefined;
  /** In force when it resolves; the one before stays where this cannot be used. The same again makes no version. */
  put(input: ValidationInput, check?: VersionCheck): Promise<LiveValidation>;
  /** Both formats unless one is named. */
  remove(endpoint: string, format: ValidationFormat | undefined, by: string, check?: VersionCheck): Promise<void>;
  /** An earlier document comes back as a new version. */
  rollBack(endpoint: string, version: number, by: string, check?: VersionCheck): Promise<LiveValidation>;
  /**
   * A file is new or was edited; `read` finds nothing where it is gone again. Resolves to undefined when it is in force
   * now, else to the reason why it is not. At the first look a file may be older than what the store has.
   */
  takeFile(file: ValidationFile, read: () => Promise<Uint8Array | undefined>, look: "first" | "later"): Promise<Taken>;
  /** A file was deleted, if it is still not there. */
  loseFile(file: ValidationFile, isGone: () => Promise<boolean>): Promise<void>;
  /** A file that should be there is written. */
  restoreFile(file: ValidationFile): Promise<void>;
}

export interface ValidationFile {
  readonly endpoint: string;
  readonly format: ValidationFormat;
}

export interface ValidationInput extends ValidationFile {
  readonly document: Uint8Array;
  /** The id of a key. */
  readonly by: string;
}

export type LiveValidation = ValidationRow & Validation;

/** Throws when this is not what the change was meant for; nothing can come between. */
type VersionCheck = (latestVersion: number | undefined) => void;
type Taken = string | undefined;

export interface ValidationsOptions {
  store: Pick<
    Store,
    | "loadValidations"
    | "addValidations"
    | "findValidation"
    | "listValidationVersions"
    | "hasValidationDocument"
    | "noteValidationMirrored"
  >;
  clock: Pick<Clock, "wall">;
  /** Why a document cannot be used. Rejects with `unreadable_body` when it cannot even be read. */
  examine: (document: Pick<Validation, "format" | "document" | "hash">) => Promise<string | undefined>;
  /** Writes the file of a version, or removes it; false when that could not be done. */
  mirror: (version: Pick<ValidationRow, "endpoint" | "format" | "document">) => Promise<boolean>;
  onChange: (validations: readonly Validation[]) => void;
}

/** Who is said to have made a version that came by a file. */
const FOLDER = "folder";
/** All of them are held in memory. */
const MAX_VALIDATIONS = 1000;

export async function openValidations(options: ValidationsOptions): Promise<Validations> {
  const { store, clock, examine, mirror, onChange } = options;
  /** The latest of each file, deletions included. */
  const latest = new Map<string, ValidationRow>();
  for (const row of await store.loadValidations()) latest.set(keyOf(row), row);
  let live = sort();
  onChange(live);
  const inTurn = createTurns();

  function sort(): readonly LiveValidation[] {
    return [...latest.values()].filter(isLive).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  function find(file: ValidationFile): LiveValidation | undefined {
    const row = latest.get(keyOf(file));
    return row !== undefined && isLive(row) ? row : undefined;
  }

  function latestVersion(endpoint: string): number | undefined {
    const versions = VALIDATION_FORMATS.map((format) => latest.get(keyOf({ endpoint, format }))?.version ?? 0);
    const version = Math.max(...versions);
    return version === 0 ? undefined : version;
  }

  async function add(rows: readonly NewValidationRow[]): Promise<ValidationRow[]> {
    const versions = await store.addValidations(rows);
    const added = rows.map((row, i) => toRow(row, versions[i] as number));
    for (const row of added) latest.set(keyOf(row), row);
    live = sort();
    onChange(live);
    return added;
  }

  async function noteMirrored(row: ValidationRow): Promise<void> {
    await store.noteValidationMirrored(row.endpoint, [row.version]);
    row.isMirrored = true;
  }

  async function writeOut(row: ValidationRow): Promise<void> {
    if (await mirror(row)) await noteMirrored(row);
  }

  /** Undefined when it can be used. */
  async function findFault({ document, format }: { document: Uint8Array; format: ValidationFormat }, hash: string) {
    if (document.length > VALIDATION_LIMITS.maxBytes) return `is larger than ${VALIDATION_LIMITS.maxBytes / 1024} KB`;
    return examine({ document, format, hash });
  }

  function refuseTooMany(file: ValidationFile): void {
    if (find(file) !== undefined || live.length < MAX_VALIDATIONS) return;
    throw new PosthornError("conflict", `There are ${MAX_VALIDATIONS} validations, the most. Delete one first.`);
  }

  async function save(input: ValidationInput, restoredFrom: number | undefined): Promise<LiveValidation> {
    const hash = hashOf(input.document);
    const known = find(input);
    if (known?.hash === hash) {
      if (!known.isMirrored) await writeOut(known);
      return known;
    }
    const fault = await findFault(input, hash);
    if (fault !== undefined) throw invalid(input, fault);
    refuseTooMany(input);
    const [row] = await add([toNew(input, { hash, restoredFrom, by: input.by })]);
    await writeOut(row as ValidationRow);
    return row as LiveValidation;
  }

  async function end(files: readonly ValidationFile[], by: string): Promise<ValidationRow[]> {
    return add(
      files.map((file) => toNew({ ...file, document: undefined }, { hash: undefined, restoredFrom: undefined, by })),
    );
  }

  function toNew(
    { endpoint, format, document }: ValidationFile & { document: Uint8Array | undefined },
    { hash, restoredFrom, by }: { hash: string | undefined; restoredFrom: number | undefined; by: string },
  ): NewValidationRow {
    return { endpoint, format, document, hash, restoredFrom, createdAt: clock.wall(), createdBy: by };
  }

  function refuseUnknown(endpoint: string): void {
    if (latestVersion(endpoint) === undefined) throw notFound(endpoint);
  }

  return {
    list: () => live,
    get(endpoint, format) {
      const formats = format === undefined ? VALIDATION_FORMATS : [format];
      const found = formats.map((one) => find({ endpoint, format: one })).find((row) => row !== undefined);
      if (found === undefined) throw notFound(endpoint, format);
      return found;
    },
    async getVersion(endpoint, version) {
      const row = await store.findValidation(endpoint, version);
      if (row !== undefined && isLive(row)) return row;
      const what = row === undefined ? "There is no" : "Nothing is left in";
      throw new PosthornError("not_found", `${what} version ${version} of the validation of ${endpoint}.`);
    },
    async versions(endpoint, page) {
      refuseUnknown(endpoint);
      return store.listValidationVersions(endpoint, page);
    },
    latestVersion,
    put: (input, check) =>
      inTurn(async () => {
        check?.(latestVersion(input.endpoint));
        return save(input, undefined);
      }),
    remove: (endpoint, format, by, check) =>
      inTurn(async () => {
        const files = VALIDATION_FORMATS.filter((one) => format === undefined || format === one)
          .map((one) => ({ endpoint, format: one }))
          .filter((file) => find(file) !== undefined);
        if (files.length === 0) throw notFound(endpoint, format);
        check?.(latestVersion(endpoint));
        for (const row of await end(files, by)) await writeOut(row);
      }),
    rollBack: (endpoint, version, by, check) =>
      inTurn(async () => {
        refuseUnknown(endpoint);
        check?.(latestVersion(endpoint));
        const row = await store.findValidation(endpoint, version);
        if (row === undefined) throw invalidVersion(`${endpoint} has no version ${version}`);
        if (!isLive(row)) throw invalidVersion(`version ${version} of ${endpoint} is a deletion; use DELETE`);
        return save({ endpoint, format: row.format, document: row.document, by }, version);
      }),
    takeFile: (file, read, look) =>
      inTurn(async () => {
        const document = await read();
        if (document === undefined) return undefined;
        const hash = hashOf(document);
        const known = latest.get(keyOf(file));
        if (known?.hash === hash) {
          if (!known.isMirrored) await noteMirrored(known);
          return undefined;
        }
        const { endpoint, format } = file;
        if (
          look === "first" &&
          known?.isMirrored === false &&
          (await store.hasValidationDocument(endpoint, format, hash))
        ) {
          await writeOut(known);
          return undefined;
        }
        const fault = await findFault({ document, format }, hash).catch(readRefusal);
        if (fault !== undefined) return fault;
        refuseTooMany(file);
        const [row] = await add([toNew({ endpoint, format, document }, { hash, restoredFrom: undefined, by: FOLDER })]);
        await noteMirrored(row as ValidationRow);
        return undefined;
      }),
    loseFile: (file, isGone) =>
      inTurn(async () => {
        if (find(file) === undefined || !(await isGone())) return;
        for (const row of await end([file], FOLDER)) await noteMirrored(row);
      }),
    restoreFile: (file) =>
      inTurn(async () => {
        const row = find(file);
        if (row !== undefined) await writeOut(row);
      }),
  };
}

function keyOf({ endpoint, format }: ValidationFile): string {
  return `${endpoint}.${format}`;
}

function isLive(row: ValidationRow): row is LiveValidation {
  return !row.isDeleted;
}

function toRow(row: NewValidationRow, version: number): ValidationRow {
  const isDeleted = row.document === undefined;
  return { ...row, version, isDeleted, size: row.document?.length ?? 0, isMirrored: false };
}

function hashOf(document: Uint8Array): string {
  return createHash("sha256").update(document).digest("hex");
}

/** What is not well-formed is one more way of being broken, for a file. */
function readRefusal(error: unknown): string {
  if (error instanceof PosthornError && error.code === "unreadable_body") return `cannot be read: ${error.message}`;
  throw error;
}

function invalid({ endpoint }: ValidationFile, fault: string): PosthornError {
  return new PosthornError(
    "invalid_validation",
    `The validation of ${endpoint} ${fault}. The one before stays in force.`,
    {
      details: { endpoint, reason: fault },
    },
  );
}

function invalidVersion(message: string): PosthornError {
  return new PosthornError("invalid_field", `version: ${message}.`, { field: "version" });
}

function notFound(endpoint: string, format?: ValidationFormat): PosthornError {
  const what = format === undefined ? "validation" : `validation in the format ${format}`;
  return new PosthornError("not_found", `There is no ${what} of ${endpoint}.`);
}
