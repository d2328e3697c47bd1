import { createHash } from "node:crypto";
import { invalidField, PosthornError } from "../../model/errors.ts";
import {
  VALIDATION_FORMATS,
  VALIDATION_LIMITS,
  type Validation,
  type ValidationFormat,
} from "../../model/validation.ts";
import type { Page, PageOf } from "../../store/port/reads.ts";
import type { KeptVersion, RecordSeries, RecordVersion } from "../../store/port/records.ts";
import type { Store } from "../../store/store.ts";
import {
  newerFormat,
  checkIfMatch,
  checkIfNoneMatch,
  type Conditions,
  type Entry,
  type Resource,
} from "../resource.ts";
import type { Draft } from "../draft.ts";
import type { Registry } from "../registry.ts";

export interface PutValidation {
  entry: Entry<LiveValidation>;
  /** The endpoint's latest version; a different one than the document's when that was already in force. */
  latestVersion: number;
}

export type ValidationFile = Pick<Validation, "endpoint" | "format">;

export interface ValidationInput extends ValidationFile {
  readonly document: Uint8Array;
  /** The id of a key, or `folder`. */
  readonly by: string;
}

export interface LiveValidation extends Validation {
  /** The version that this one restored. */
  readonly restoredFrom: number | undefined;
  readonly createdBy: string;
  readonly createdAt: number;
}

export type EndedValidation = ValidationFile & { readonly version: number };

type Origin = Pick<LiveValidation, "restoredFrom" | "createdBy" | "createdAt">;

export interface ValidationVersion
  extends EndedValidation, Origin, Pick<RecordVersion, "isDeleted" | "size" | "state"> {
  /** Undefined for a deletion, and in lists. */
  readonly document: Uint8Array | undefined;
  readonly hash: string | undefined;
}

export interface StoredValidationsOptions {
  registry: Registry;
  store: Pick<Store, "records">;
  /** Returns why a document cannot be used. Rejects with `unreadable_body` when it cannot even be parsed. */
  examine: (document: Pick<Validation, "format" | "document" | "hash">) => Promise<string | undefined>;
  onChange: (validations: readonly LiveValidation[]) => void;
}

/** All validations are held in memory. */
const MAX_VALIDATIONS = 1000;
const PAGE = 100;

/** The validations of webhooks by endpoint: the current ones in memory, every version in the store. */
export async function openStoredValidations(options: StoredValidationsOptions) {
  const { registry, store, examine, onChange } = options;
  let live: readonly LiveValidation[] = [];
  const validations = await registry.open<LiveValidation>({ ...VALIDATIONS, onChange: (_, list) => announce(list()) });
  if (live.length === 0) announce([]);

  function announce(all: readonly Entry<LiveValidation>[]): void {
    live = all.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ thing }) => thing);
    onChange(live);
  }

  async function findLatest(endpoint: string): Promise<number | undefined> {
    const { rows } = await store.records.listVersions(seriesOf(endpoint), { limit: 1, cursor: undefined });
    return rows[0]?.number;
  }

  async function versions(endpoint: string, page: Page): Promise<PageOf<ValidationVersion>> {
    const { rows, nextCursor } = await store.records.listVersions(seriesOf(endpoint), page);
    return { rows: rows.map(toVersion), nextCursor };
  }

  async function findVersion(endpoint: string, version: number): Promise<ValidationVersion | undefined> {
    const found = await store.records.findVersion(seriesOf(endpoint), version);
    return found && toVersion(found);
  }

  async function rejectWrong({ endpoint, format, document }: ValidationInput, hash: string): Promise<void> {
    const isTooLarge = document.length > VALIDATION_LIMITS.maxBytes;
    const fault = isTooLarge
      ? `is larger than ${VALIDATION_LIMITS.maxBytes / 1024} KB`
      : await examine({ document, format, hash });
    if (fault !== undefined) throw invalid(endpoint, fault);
  }

  async function put(draft: Draft, input: ValidationInput, latest: number, restoredFrom: number | undefined) {
    const { endpoint, format, document, by: createdBy } = input;
    const hash = hashOf(document);
    const known = draft.find(validations, idOf(input));
    if (known?.thing.hash === hash) return { pending: { entry: known }, latestVersion: latest };
    await rejectWrong(input, hash);
    if (known === undefined) rejectLookalike(endpoint, draft.list(validations));
    if (known === undefined && draft.list(validations).length >= MAX_VALIDATIONS) {
      throw new PosthornError("conflict", `There are ${MAX_VALIDATIONS} validations, the maximum. Delete one first.`);
    }
    const version = latest + 1;
    const made = { endpoint, format, version, document, hash, restoredFrom, createdBy };
    // The record has the time of creation.
    return { pending: draft.put(validations, { ...made, createdAt: 0 }), latestVersion: version };
  }

  async function getLatest(endpoint: string, ifMatch: string | undefined): Promise<number> {
    const version = await findLatest(endpoint);
    checkIfMatch(ifMatch, version === undefined ? undefined : { version });
    return version ?? 0;
  }

  return {
    find: (file: ValidationFile) => validations.find(idOf(file)),
    /** The current validations, by endpoint and format. */
    list: () => live,
    /**
     * The number of the latest version of an endpoint, in any format; undefined before the first. When it resolves,
     * memory is at least as new.
     */
    async latestVersion(endpoint: string): Promise<number | undefined> {
      const version = await findLatest(endpoint);
      await registry.follow();
      return version;
    },
    findVersion,
    /** Without documents, latest first. */
    async versions(endpoint: string, page: Page): Promise<PageOf<ValidationVersion>> {
      const found = await versions(endpoint, page);
      if (found.rows.length === 0 && (await findLatest(endpoint)) === undefined) throw notFound(endpoint);
      return found;
    },
    /** `latest` is the last version of the file, deletions included; `isKnown`: whether any version had this document. */
    async lookUp(
      { endpoint, format }: ValidationFile,
      hash: string,
    ): Promise<{ latest: ValidationVersion | undefined; isKnown: boolean }> {
      let latest: ValidationVersion | undefined;
      let page: Page | undefined = { limit: PAGE, cursor: undefined };
      while (page !== undefined) {
        const { rows, nextCursor }: PageOf<ValidationVersion> = await versions(endpoint, page);
        const own = rows.filter((row) => row.format === format);
        latest ??= own[0];
        if (own.some((row) => row.hash === hash)) return { latest, isKnown: true };
        page = nextCursor === undefined ? undefined : { limit: PAGE, cursor: nextCursor };
      }
      return { latest, isKnown: false };
    },
    /** In force when it resolves; the old one stays when this one is invalid. The same document creates no version. */
    async put(input: ValidationInput, { ifMatch, ifNoneMatch }: Conditions = {}): Promise<PutValidation> {
      const { pending, latestVersion } = await registry.change(validations, async (draft) => {
        const latest = await getLatest(input.endpoint, ifMatch);
        // Its other format, and one that was deleted, are not in the way.
        const known = draft.find(validations, idOf(input));
        checkIfNoneMatch(ifNoneMatch, known && { version: latest });
        return put(draft, input, latest, undefined);
      });
      return { entry: pending.entry, latestVersion };
    },
    /** Both formats unless one is named. Resolves to the versions of these deletions. */
    remove: (
      endpoint: string,
      format: ValidationFormat | undefined,
      by: string,
      ifMatch?: string,
    ): Promise<readonly EndedValidation[]> =>
      registry.change(validations, async (draft) => {
        const files = VALIDATION_FORMATS.filter((one) => format === undefined || format === one)
          .map((one) => ({ endpoint, format: one }))
          .filter((file) => draft.find(validations, idOf(file)) !== undefined);
        if (files.length === 0) throw notFound(endpoint, format);
        const latest = await getLatest(endpoint, ifMatch);
        const ended = files.map((file, index) => ({ ...file, version: latest + 1 + index }));
        for (const one of ended) draft.remove(validations, idOf(one), undefined, toKept(one, by));
        return ended;
      }),
    /** Restores an earlier document as a new version. */
    async rollBack(endpoint: string, version: number, by: string, ifMatch?: string): Promise<PutValidation> {
      const { pending, latestVersion } = await registry.change(validations, async (draft) => {
        if ((await findLatest(endpoint)) === undefined) throw notFound(endpoint);
        const latest = await getLatest(endpoint, ifMatch);
        const earlier = await findVersion(endpoint, version);
        if (earlier === undefined) throw invalidField("version", `version: ${endpoint} has no version ${version}.`);
        const { format, document } = earlier;
        if (document === undefined) {
          throw invalidField("version", `version: version ${version} of ${endpoint} is a deletion; use DELETE.`);
        }
        return put(draft, { endpoint, format, document, by }, latest, version);
      });
      return { entry: pending.entry, latestVersion };
    },
  };
}

const VALIDATIONS: Resource<LiveValidation> = {
  kind: "validation",
  noun: "validation",
  format: 1,
  read({ id, data, blob = new Uint8Array(), updatedAt }) {
    const { version, hash = "", restoredFrom, createdBy } = JSON.parse(data) as Kept;
    return { ...toFile(id), version, document: blob, hash, restoredFrom, createdBy, createdAt: updatedAt };
  },
  write({ version, document, hash, restoredFrom, createdBy }) {
    return { data: JSON.stringify({ version, hash, restoredFrom, createdBy } satisfies Kept), blob: document };
  },
  keyOf: (file) => ({ id: idOf(file) }),
  keptAs: ({ endpoint, version }) => ({ series: endpoint, number: version }),
};

/** Both formats of an endpoint share one sequence of versions. */
export function seriesOf(endpoint: string): RecordSeries {
  return { kind: VALIDATIONS.kind, tenantId: "", series: endpoint };
}

interface Kept {
  version: number;
  /** Undefined for a deletion. */
  hash?: string | undefined;
  restoredFrom?: number | undefined;
  createdBy: string;
}

function toKept({ endpoint, version }: EndedValidation, createdBy: string): KeptVersion {
  return { series: endpoint, number: version, data: JSON.stringify({ version, createdBy } satisfies Kept) };
}

function toVersion({ id, format, data, blob, size, isDeleted, state, createdAt }: RecordVersion): ValidationVersion {
  if (format > VALIDATIONS.format) throw newerFormat(VALIDATIONS, id, format);
  const { version, hash, restoredFrom, createdBy } = JSON.parse(data) as Kept;
  const of = { ...toFile(id), version, isDeleted, size, state };
  return { ...of, document: blob, hash, restoredFrom, createdBy, createdAt };
}

/** Also the name of its file. */
export function idOf({ endpoint, format }: ValidationFile): string {
  return `${endpoint}.${format}`;
}

function toFile(id: string): ValidationFile {
  const dot = id.lastIndexOf(".");
  return { endpoint: id.slice(0, dot), format: id.slice(dot + 1) as ValidationFormat };
}

export function hashOf(document: Uint8Array): string {
  return createHash("sha256").update(document).digest("hex");
}

/** Both would be one file where the file system ignores case, and each would replace the other. */
function rejectLookalike(endpoint: string, all: readonly Entry<LiveValidation>[]): void {
  const isLookalike = (other: string) => other !== endpoint && other.toLowerCase() === endpoint.toLowerCase();
  const other = all.find(({ thing }) => isLookalike(thing.endpoint))?.thing.endpoint;
  if (other !== undefined) {
    throw invalid(endpoint, `differs from that of ${other} only in upper and lower case, so their files could be one`);
  }
}

function invalid(endpoint: string, fault: string): PosthornError {
  return new PosthornError(
    "invalid_validation",
    `The validation of ${endpoint} ${fault}. The previous one stays in force.`,
    { details: { endpoint, reason: fault } },
  );
}

export function notFound(endpoint: string, format?: ValidationFormat): PosthornError {
  const what = format === undefined ? "validation" : `validation in the format ${format}`;
  return new PosthornError("not_found", `There is no ${what} for ${endpoint}.`);
}
