import { PosthornError } from "../model/errors.ts";
import type { RecordKey, StoredRecord } from "../store/port/records.ts";
import type { Change, Entry, Resource, LiveRecord } from "./resource.ts";

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

export type DeletedThing = Pick<RecordKey, "tenantId" | "id"> & { seq: number };

export interface OpenCollection<Thing> extends Collection<Thing> {
  /** Adds, replaces or deletes a record; undefined when this version is already known. */
  take(record: StoredRecord): Change<Thing> | undefined;
  /** Throws when only a newer release can read it. */
  refuseNewer(id: string, tenantId: string): void;
  toEntry(record: LiveRecord): Entry<Thing>;
}

export function createCollection<Thing>(resource: Resource<Thing>): OpenCollection<Thing> {
  const entries = new Map<string, Entry<Thing>>();
  const bySeq = new Map<number, Entry<Thing>>();
  /** Records of a newer release: kept unchanged; changing them is rejected. */
  const newer = new Map<string, StoredRecord>();
  const deleted = new Map<string, DeletedThing>();
  let listed: readonly Entry<Thing>[] | undefined;

  function refuseNewer(id: string, tenantId: string): void {
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
      refuseNewer(id, tenantId);
      const entry = find(id, tenantId);
      if (entry === undefined) throw new PosthornError("not_found", `There is no ${resource.noun} ${id}.`);
      return entry;
    },
    findBySeq: (seq) => bySeq.get(seq),
    hasNewer: (id, tenantId = "") => newer.has(keyText(id, tenantId)),
    list: () => (listed ??= [...bySeq.values()].sort((a, b) => a.seq - b.seq)),
    wasDeleted: (id, tenantId = "") => deleted.has(keyText(id, tenantId)),
    listDeleted: () => [...deleted.values()],
    refuseNewer,
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
