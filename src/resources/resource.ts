import type { RecordKind, StoredRecord, RecordKey } from "../store/port/records.ts";
import { invalidField, PosthornError } from "../model/errors.ts";
import type { FieldProblem } from "../model/subscription-rules.ts";

/** What the registry must know about a kind of thing that users configure. The code that changes it has its rules. */
export interface Resource<Thing> {
  readonly kind: RecordKind;
  /** For messages: `event type`. */
  readonly noun: string;
  /** The format of what `write` returns; raised by one when older releases can no longer read it. */
  readonly format: number;
  /** Reads older formats too. Times and keys come from the record; everything else is in `data` and `blob`. */
  read(record: LiveRecord): Thing;
  write(thing: Thing): { data: string; blob?: Uint8Array | undefined };
  /** The thing as the audit log shows it. By default the `data` of `write`, which then must not contain secrets. */
  show?(thing: Thing): Readonly<Record<string, unknown>>;
  /** Its secrets: the audit log says that they changed, never what they are. */
  secretsOf?(thing: Thing): unknown;
  /** A verb for the audit log that says more than `update`. */
  verbOf?(before: Thing, after: Thing): string | undefined;
  /** The gateway itself changes it often: the audit log records only changes by others. */
  readonly changesByItself?: boolean;
  /** Its tenant, when its key does not contain it. */
  tenantOf?(thing: Thing): string | undefined;
  /** Whether deleted things are remembered as deleted, even after a restart. */
  readonly remembersDeleted?: boolean;
  /** `tenantId` is left out when the kind belongs to the whole gateway. */
  keyOf(thing: Thing): { tenantId?: string | undefined; id: string };
  /** For kinds whose versions are all kept: the series, and the number in it. */
  keptAs?(thing: Thing): { series: string; number: number };
  /**
   * Called after memory shows a change, by anybody, and once with everything at the start. A change resolves when
   * this has ended, so it must not wait for another change of the kind. `list` returns all things in memory.
   */
  onChange?(changes: readonly Change<Thing>[], list: () => readonly Entry<Thing>[]): void | Promise<void>;
}

export type LiveRecord = StoredRecord & { data: string };

export interface Entry<Thing> {
  readonly seq: number;
  readonly tenantId: string;
  readonly id: string;
  /** The version of its record, from which the ETag is made. */
  readonly version: number;
  /** JSON, as it was when the entry was read. */
  readonly state: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly thing: Thing;
}

export interface Change<Thing> {
  readonly before: Entry<Thing> | undefined;
  /** Undefined when it was deleted. */
  readonly after: Entry<Thing> | undefined;
}

/** All things of one kind, in memory, at the version up to which the registry has read the store. */
export interface Collection<Thing> {
  readonly resource: Resource<Thing>;
  find(id: string, tenantId?: string): Entry<Thing> | undefined;
  /** Throws when it does not exist, or when only a newer release can read it. */
  get(id: string, tenantId?: string): Entry<Thing>;
  findBySeq(seq: number): Entry<Thing> | undefined;
  /** Whether it exists, but only a newer release can read it. */
  hasNewer(id: string, tenantId?: string): boolean;
  /** Sorted by age; the same array until something changes. */
  list(): readonly Entry<Thing>[];
  /** Whether it was deleted and not made again; false unless the kind remembers deleted things. */
  wasDeleted(id: string, tenantId?: string): boolean;
  /** Empty unless the kind remembers deleted things. */
  listDeleted(): readonly DeletedThing[];
}

type DeletedThing = Pick<RecordKey, "tenantId" | "id"> & { seq: number };

export interface OpenCollection<Thing> extends Collection<Thing> {
  /** Adds, replaces or deletes a record; undefined when this version is already known. */
  take(record: StoredRecord): Change<Thing> | undefined;
  /** Throws when only a newer release can read it. */
  rejectNewer(id: string, tenantId: string): void;
  toEntry(record: LiveRecord): Entry<Thing>;
}

export function createCollection<Thing>(resource: Resource<Thing>): OpenCollection<Thing> {
  const entries = new Map<string, Entry<Thing>>();
  const bySeq = new Map<number, Entry<Thing>>();
  /** Records of a newer release: kept unchanged; changing them is rejected. */
  const newer = new Map<string, StoredRecord>();
  const deleted = new Map<string, DeletedThing>();
  let listed: readonly Entry<Thing>[] | undefined;

  function rejectNewer(id: string, tenantId: string): void {
    const record = newer.get(keyText(id, tenantId));
    if (record !== undefined) throw newerFormat(resource, id, record.format);
  }

  const toEntry = (record: LiveRecord): Entry<Thing> => entryOf(resource, record);

  function find(id: string, tenantId = ""): Entry<Thing> | undefined {
    return entries.get(keyText(id, tenantId));
  }

  return {
    resource,
    find,
    get(id, tenantId = "") {
      rejectNewer(id, tenantId);
      const entry = find(id, tenantId);
      if (entry === undefined) throw new PosthornError("not_found", `There is no ${resource.noun} ${id}.`);
      return entry;
    },
    findBySeq: (seq) => bySeq.get(seq),
    hasNewer: (id, tenantId = "") => newer.has(keyText(id, tenantId)),
    list: () => (listed ??= [...bySeq.values()].sort((a, b) => a.seq - b.seq)),
    wasDeleted: (id, tenantId = "") => deleted.has(keyText(id, tenantId)),
    listDeleted: () => [...deleted.values()],
    rejectNewer,
    toEntry,
    take(record) {
      const key = keyText(record.id, record.tenantId);
      const before = entries.get(key);
      // A kind that was opened later than others has already seen some of these records.
      if (record.version <= (before?.version ?? newer.get(key)?.version ?? 0)) return undefined;
      const isNewer = isLive(record) && record.format > resource.format;
      const after = isLive(record) && !isNewer ? toEntry(record) : undefined;
      if (isNewer) newer.set(key, record);
      else newer.delete(key);
      const { seq, id, tenantId } = record;
      if (resource.remembersDeleted === true && !isLive(record)) deleted.set(key, { seq, id, tenantId });
      else deleted.delete(key);
      if (after === undefined) {
        entries.delete(key);
        bySeq.delete(record.seq);
      } else {
        entries.set(key, after);
        bySeq.set(record.seq, after);
      }
      if (before === undefined && after === undefined) return undefined;
      listed = undefined;
      return { before, after };
    },
  };
}

export function entryOf<Thing>(resource: Resource<Thing>, record: LiveRecord): Entry<Thing> {
  const { seq, tenantId, id, version, state, createdAt, updatedAt } = record;
  return { seq, tenantId, id, version, state, createdAt, updatedAt, thing: resource.read(record) };
}

export function newerFormat(resource: { noun: string; format: number }, id: string, format: number): PosthornError {
  return new PosthornError(
    "newer_format",
    `The ${resource.noun} ${id} was written by a newer release (format ${format}, this release reads format ${resource.format}). ` +
      "It stays unchanged; change it with that release.",
  );
}

export function isLive(record: StoredRecord): record is LiveRecord {
  return record.data !== undefined;
}

function keyText(id: string, tenantId: string): string {
  return `${tenantId}\u0000${id}`;
}

/** Throws `invalid_field` with the first problem. `end` ends the sentence. */
export function rejectProblems([problem]: readonly FieldProblem[], end = ""): void {
  if (problem === undefined) return;
  const { field, message } = problem;
  throw invalidField(field, `${field}: ${message}${end}`);
}

/** The version that a client has seen (RFC 9110 §13), so that two clients do not undo each other's changes. */
export function etagOf({ version }: { version: number }): string {
  return `"${version}"`;
}

/** The caller's tenant and version: things of other tenants are not found, and a change needs the named version. */
export interface RequestScope {
  tenantId?: string | undefined;
  ifMatch?: string | undefined;
}

/** What must hold for a change to be made; without any, it is made. */
export interface Conditions {
  ifMatch?: string | undefined;
  ifNoneMatch?: string | undefined;
}

/** Rejects a change that was meant for another version. Without `If-Match`, any version is meant. */
export function checkIfMatch(ifMatch: string | undefined, entry: { version: number } | undefined): void {
  if (ifMatch === undefined) return;
  const etag = entry === undefined ? undefined : etagOf(entry);
  if (etag !== undefined && ifMatch.split(",").some((one) => ["*", etag].includes(one.trim()))) return;
  const now = etag === undefined ? "it does not exist" : `it is ${etag} now`;
  throw new PosthornError(
    "precondition_failed",
    `If-Match says ${ifMatch}, but ${now}. Read it again, then change it.`,
    { details: { etag: etag ?? null } },
  );
}

/** `*` rejects what exists already, so that two clients who create the same do not overwrite each other. */
export function checkIfNoneMatch(ifNoneMatch: string | undefined, entry: { version: number } | undefined): void {
  if (ifNoneMatch === undefined || entry === undefined) return;
  const etag = etagOf(entry);
  if (!ifNoneMatch.split(",").some((one) => ["*", etag].includes(one.trim()))) return;
  throw new PosthornError(
    "precondition_failed",
    `If-None-Match says ${ifNoneMatch}, but it exists: it is ${etag} now. Read it, then change it with If-Match.`,
    { details: { etag } },
  );
}
