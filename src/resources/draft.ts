import type { Accepted, Done } from "../model/accepted.ts";
import type { AuditNote } from "../store/port/audit.ts";
import type { NewDelivery, NewEvent } from "../store/port/event-log.ts";
import type { NewReplay, ReplayRow } from "../store/port/jobs.ts";
import type {
  KeptVersion,
  RecordChange,
  RecordExpectation,
  RecordGuard,
  RecordKey,
  RecordKind,
  WriteRequest,
  WriteResult,
} from "../store/port/records.ts";
import { GATEWAY, type Authors, type AuditAction } from "./authors.ts";
import type { Collection, OpenCollection, Entry, LiveRecord, Resource } from "./resource.ts";
import { createHash } from "node:crypto";
import { canonicalJson } from "../model/audit.ts";

/**
 * One change while it is being checked. The draft records what the checks read: if any of that has changed when the
 * change is written, nothing is written and the checks run again. So a rule over several things is a simple `if`.
 * What was put is found and listed as put.
 */
export interface Draft {
  /** Its record must not change until the write. */
  find<Thing>(of: Collection<Thing>, id: string, tenantId?: string): Entry<Thing> | undefined;
  /** As `find`; throws when it does not exist. */
  get<Thing>(of: Collection<Thing>, id: string, tenantId?: string): Entry<Thing>;
  /** Adds a record of the store that is not in memory; from here on it counts as found. */
  take<Thing>(of: Collection<Thing>, record: LiveRecord): Entry<Thing>;
  /** No record of the kind (or of the tenant's) may change until the write. */
  list<Thing>(of: Collection<Thing>, tenantId?: string): readonly Entry<Thing>[];
  /** Creates the thing, or replaces the one with the same key. */
  put<Thing>(of: Collection<Thing>, thing: Thing): Pending<Thing>;
  /** `kept` for kinds whose versions are all kept, deletions included. */
  remove<Thing>(of: Collection<Thing>, id: string, tenantId?: string, kept?: KeptVersion): void;
  /** Writes an event of the gateway itself with the change; then calls `done`. */
  accept(event: NewEvent, deliveries: readonly NewDelivery[], done: Done<Accepted>): void;
  /** Adds the reason to the audit log, which records puts and removals by itself. */
  explain(details: Readonly<Record<string, unknown>>): void;
  /** Called after the change is written; not called for a draft that was dropped. */
  whenWritten(run: () => void): void;
  /** Starts a job in the same transaction; at most one for each change. */
  startReplay(replay: NewReplay, done: Done<ReplayRow>): void;
}

/** A thing that was put; `entry` is set once it is written. */
export interface Pending<Thing> {
  readonly id: string;
  /** Whether this creates it. */
  readonly isNew: boolean;
  /** Available after the write. */
  readonly entry: Entry<Thing>;
}

export interface OpenDraft extends Draft {
  readonly request: Omit<WriteRequest, "at">;
  /** Whether anything was put or removed. */
  readonly hasChanges: boolean;
  written(result: WriteResult & { kind: "written" }, at: number): void;
}

export function createDraft(options: {
  /** Memory is at this version of the store, or a later one. */
  version: () => number;
  open: <Thing>(of: Collection<Thing>) => OpenCollection<Thing>;
  /** The author of the change. */
  authors: Pick<Authors, "note">;
}): OpenDraft {
  const reads = new Map<string, RecordExpectation>();
  const taken = new Map<string, Entry<unknown>>();
  /** What was put, by kind and key. */
  const puts = new Map<RecordKind, Map<string, Entry<unknown>>>();
  const listed = new Map<RecordKind, readonly Entry<unknown>[]>();
  const guards = new Map<string, RecordGuard>();
  const changes = new Map<string, RecordChange>();
  const notes = new Map<string, AuditNote>();
  const reasons: Readonly<Record<string, unknown>>[] = [];
  const onWritten: ((seqs: ReadonlyMap<string, number>, version: number, at: number) => void)[] = [];
  const events: { event: NewEvent; deliveries: readonly NewDelivery[]; done: Done<Accepted> }[] = [];
  let job: { replay: NewReplay; done: Done<ReplayRow> } | undefined;

  function read<Thing>(of: Collection<Thing>, id: string, tenantId = "") {
    const collection = options.open(of);
    collection.rejectNewer(id, tenantId);
    const key = { kind: of.resource.kind, tenantId, id };
    const text = keyText(key.kind, key);
    const entry = (taken.get(text) as Entry<Thing> | undefined) ?? collection.find(id, tenantId);
    // The first read counts: the checks began with it.
    if (!reads.has(text)) reads.set(text, { ...key, expected: entry?.version ?? "absent" });
    return { collection, entry, text, expectation: reads.get(text) as RecordExpectation };
  }

  function record(
    { changesByItself }: Pick<Resource<never>, "changesByItself">,
    text: string,
    action: AuditAction | undefined,
  ) {
    const note = action && options.authors.note(action);
    if (note === undefined || (changesByItself === true && note.actor === GATEWAY.actor)) notes.delete(text);
    else notes.set(text, note);
  }

  function find<Thing>(of: Collection<Thing>, id: string, tenantId?: string): Entry<Thing> | undefined {
    const { entry, text } = read(of, id, tenantId);
    return (puts.get(of.resource.kind)?.get(text) as Entry<Thing> | undefined) ?? entry;
  }

  function listAll<Thing>(of: Collection<Thing>): readonly Entry<Thing>[] {
    const { kind } = of.resource;
    const changed = puts.get(kind);
    if (changed === undefined) return of.list();
    let all = listed.get(kind);
    if (all === undefined) {
      const known = of.list().map((entry): [string, Entry<unknown>] => [keyText(kind, entry), entry]);
      listed.set(kind, (all = [...new Map([...known, ...changed]).values()]));
    }
    return all as readonly Entry<Thing>[];
  }

  function show<Thing>(of: Collection<Thing>, text: string, entry: Entry<Thing>): void {
    const { kind } = of.resource;
    const ofKind = puts.get(kind) ?? new Map<string, Entry<unknown>>();
    puts.set(kind, ofKind.set(text, entry));
    listed.delete(kind);
  }

  return {
    find,
    get: (of, id, tenantId) => find(of, id, tenantId) ?? of.get(id, tenantId),
    take(of, record) {
      const { tenantId, id, version } = record;
      const key = { kind: of.resource.kind, tenantId, id };
      const entry = options.open(of).toEntry(record);
      const text = keyText(key.kind, key);
      taken.set(text, entry);
      reads.set(text, { ...key, expected: version });
      return entry;
    },
    list(of, tenantId) {
      const { kind } = of.resource;
      const text = JSON.stringify([kind, tenantId]);
      if (!guards.has(text)) guards.set(text, { kind, tenantId, since: options.version() });
      const all = listAll(of);
      return tenantId === undefined ? all : all.filter((entry) => entry.tenantId === tenantId);
    },
    put(of, thing) {
      const { tenantId = "", id } = of.resource.keyOf(thing);
      const { collection, entry: known, text, expectation } = read(of, id, tenantId);
      const { data, blob } = of.resource.write(thing);
      const { format } = of.resource;
      const place = of.resource.keptAs?.(thing);
      changes.set(text, { ...expectation, act: "put", format, data, blob, kept: place && { ...place, data } });
      record(of.resource, text, describeChange(of.resource, known?.thing, thing));
      show(of, text, { ...(known ?? UNWRITTEN), tenantId, id, thing });
      const pending: { entry: Entry<typeof thing> | undefined } = { entry: undefined };
      onWritten.push((seqs, version, at) => {
        const seq = seqs.get(text) as number;
        const times = { createdAt: known?.createdAt ?? at, updatedAt: at, deletedAt: undefined };
        const { expected: _, ...key } = expectation;
        pending.entry = collection.toEntry({ ...key, ...times, seq, version, format, data, blob, state: known?.state });
      });
      return {
        id,
        isNew: known === undefined,
        get entry() {
          if (pending.entry === undefined) throw new Error(`the ${of.resource.noun} ${id} is not written yet`);
          return pending.entry;
        },
      };
    },
    remove(of, id, tenantId, kept) {
      const { entry, text, expectation } = read(of, id, tenantId);
      if (entry === undefined) of.get(id, tenantId);
      changes.set(text, { ...expectation, act: "delete", format: of.resource.format, kept });
      record(of.resource, text, describeChange(of.resource, entry?.thing, undefined));
    },
    accept(event, deliveries, done) {
      events.push({ event, deliveries, done });
    },
    explain: (details) => void reasons.push(details),
    whenWritten: (run) => void onWritten.push(run),
    startReplay(replay, done) {
      job = { replay, done };
    },

    get hasChanges() {
      return changes.size + events.length > 0 || job !== undefined;
    },
    get request() {
      return {
        changes: [...changes.values()],
        checks: [...reads].filter(([text]) => !changes.has(text)).map(([, expectation]) => expectation),
        guards: [...guards.values()],
        events: events.map(({ event, deliveries }) => ({ event, deliveries })),
        replay: job?.replay,
        audit: [...notes.values()].map((note) => withReasons(note, reasons)),
      };
    },
    written({ version, seqs, events: accepted, replay }, at) {
      const seqOf = new Map([...changes.keys()].map((text, i) => [text, seqs[i] as number]));
      for (const run of onWritten) run(seqOf, version, at);
      events.forEach(({ done }, i) => done(accepted[i] as Accepted));
      if (replay !== undefined) job?.done(replay);
    },
  };
}

/** Of an entry that the store has not numbered yet. */
export const UNWRITTEN = { seq: 0, version: 0, state: undefined, createdAt: 0, updatedAt: 0 };

function keyText(kind: RecordKind, { tenantId, id }: Pick<RecordKey, "tenantId" | "id">): string {
  return JSON.stringify({ kind, tenantId, id });
}

function withReasons(note: AuditNote, reasons: readonly Readonly<Record<string, unknown>>[]): AuditNote {
  return reasons.length === 0 ? note : { ...note, details: Object.assign({}, note.details, ...reasons) };
}

type Shown = Readonly<Record<string, unknown>>;

/** Larger values, such as schemas, are shown by their hash. */
const MAX_SHOWN_LENGTH = 4096;

/** The audit log's details of a creation. */
export function describeNew<Thing>(resource: Resource<Thing>, thing: Thing): AuditAction {
  return { ...subjectOf(resource, thing), act: `${resource.kind}.create`, after: show(resource, thing) };
}

/** The audit log's details of a change; undefined when no visible field differs. */
function describeChange<Thing>(
  resource: Resource<Thing>,
  before: Thing | undefined,
  after: Thing | undefined,
): AuditAction | undefined {
  if (before === undefined) return after === undefined ? undefined : describeNew(resource, after);
  const of = subjectOf(resource, before);
  const from = show(resource, before);
  if (after === undefined) return { ...of, act: `${resource.kind}.delete`, before: from };
  const to = show(resource, after);
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  const changed = names.filter((name) => canonicalJson(from[name] ?? null) !== canonicalJson(to[name] ?? null));
  const isSecretChanged = hide(resource, before) !== hide(resource, after);
  if (changed.length === 0 && !isSecretChanged) return undefined;
  return {
    ...of,
    act: `${resource.kind}.${resource.verbOf?.(before, after) ?? "update"}`,
    before: pick(from, changed),
    after: pick(to, changed),
    ...(isSecretChanged && { details: { secrets: "changed" } }),
  };
}

function subjectOf<Thing>(resource: Resource<Thing>, thing: Thing) {
  const { tenantId, id } = resource.keyOf(thing);
  return { kind: resource.kind, id, tenantId: resource.tenantOf?.(thing) ?? tenantId };
}

function show<Thing>(resource: Resource<Thing>, thing: Thing): Shown {
  const shown = resource.show?.(thing) ?? (JSON.parse(resource.write(thing).data) as Shown);
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, shorten(value)]));
}

function shorten(value: unknown): unknown {
  const text = canonicalJson(value ?? null);
  if (text.length <= MAX_SHOWN_LENGTH) return value ?? null;
  return { sha256: createHash("sha256").update(text).digest("hex"), length: text.length };
}

function hide<Thing>(resource: Resource<Thing>, thing: Thing): string {
  return canonicalJson(resource.secretsOf?.(thing) ?? null);
}

function pick(from: Shown, names: readonly string[]): Shown {
  return Object.fromEntries(names.map((name) => [name, from[name] ?? null]));
}
