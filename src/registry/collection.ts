import { PosthornError } from "../domain/errors.ts";
import type { RecordKey, StoredRecord } from "../store/port/records.ts";
import type { Change, Entry, Resource, LiveRecord } from "./resource.ts";

/** All things of one kind, in memory, as of the version that the registry has followed the store to. */
export interface Collection<Thing> {
  readonly resource: Resource<Thing>;
  find(id: string, tenantId?: string): Entry<Thing> | undefined;
  /** Refuses one that is not there, or that only a newer release can read. */
  get(id: string, tenantId?: string): Entry<Thing>;
  findBySeq(seq: number): Entry<Thing> | undefined;
  /** Whether there is one that only a newer release can read. */
  hasNewer(id: string, tenantId?: string): boolean;
  /** By age; the same list as long as nothing changes. */
  list(): readonly Entry<Thing>[];
  /** Where the kind remembers them. */
  listDeleted(): readonly DeletedThing[];
}

export type DeletedThing = Pick<RecordKey, "tenantId" | "id"> & { seq: number };

export interface OpenCollection<Thing> extends Collection<Thing> {
  /** Puts a record in its place, or takes it away; undefined when it is known already. */
  take(record: StoredRecord): Change<Thing> | undefined;
  /** Throws for one that only a newer release can read. */
  refuseNewer(id: string, tenantId: string): void;
  toEntry(record: LiveRecord): Entry<Thing>;
}

export function createCollection<Thing>(resource: Resource<Thing>): OpenCollection<Thing> {
  const entries = new Map<string, Entry<Thing>>();
  const bySeq = new Map<number, Entry<Thing>>();
  /** Kept as they are, and refused when somebody wants to change them. */
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
    listDeleted: () => [...deleted.values()],
    refuseNewer,
    toEntry,
    take(record) {
      const key = keyText(record.id, record.tenantId);
      const before = entries.get(key);
      // A kind that was opened later than others has seen some of what they follow.
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
    `The ${resource.noun} ${id} was written by a newer release (format ${format}, this one knows ${resource.format}). ` +
      "It stays as it is; change it with that release.",
  );
}

export function isLive(record: StoredRecord): record is LiveRecord {
  return record.data !== undefined;
}

function keyText(id: string, tenantId: string): string {
  return `${tenantId}\u0000${id}`;
}
